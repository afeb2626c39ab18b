"""Makes the pictures of the documentation from real runs: `make pictures`.

Terminal output becomes an SVG by rich; the report, Jaeger's pages and Perfetto's become PNGs by a headless Chromium.
For Jaeger's and Perfetto's, name folders with their built pages; their pictures stay as they are otherwise.
"""

from __future__ import annotations

import argparse
import fcntl
import io
import os
import re
import struct
import subprocess
import sys
import tempfile
import termios
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import page_pictures
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import SVG_EXPORT_THEME
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
PROGRAM = Path(sys.executable).with_name("scenetest-otel")
VARIABLE = "TORCH_DEVICE_BACKEND_AUTOLOAD"
COLUMNS = 118
BENCHMARK = ("--", "python", "matmul.py", "--rounds", "30")
_FONTS = re.compile(r"@font-face \{\{.*?\}\}\s*", re.DOTALL)
"""They are on somebody's server; the reader's own font does as well."""
_ELAPSED = re.compile(r"^.*\r", re.MULTILINE)


class Terminal:
    """Records commands and their output as a terminal shows them."""

    def __init__(self, environment: Mapping[str, str], folder: Path) -> None:
        self._environment, self._folder = environment, folder
        self._seen = Text()

    def type(self, *words: str, expect: int = 0, extra: Mapping[str, str] | None = None) -> None:
        """Run a command of the program and keep what it prints."""
        extra = extra or {}
        shown = " ".join([*(f"{key}={value}" for key, value in extra.items()), PROGRAM.name, *words])
        code, said = _at_a_terminal([str(PROGRAM), *words], self._folder, {**self._environment, **extra})
        printed = _ELAPSED.sub("", said.replace("\r\n", "\n"))
        if code != expect:
            sys.exit(f"{shown} ended with {code} and not {expect}:\n{printed}")
        self._seen.append(f"$ {shown}\n", style="bold")
        self._seen.append(Text.from_ansi(printed.rstrip("\n")))
        self._seen.append("\n\n")

    def draw(self, name: str) -> None:
        """Write a picture of everything since the last picture."""
        console = Console(record=True, width=COLUMNS, file=io.StringIO(), legacy_windows=False)
        self._seen.rstrip()
        console.print(self._seen)
        form = _FONTS.sub("", CONSOLE_SVG_FORMAT)
        picture = console.export_svg(title=name, theme=SVG_EXPORT_THEME, code_format=form, unique_id=name)
        (PICTURES / f"{name}.svg").write_text(picture, "utf-8")
        self._seen = Text()


def draw_report(page: Path, name: str, *, dark: bool = False, width: int = 1000, height: int = 900) -> None:
    """Write a picture of a page, as a browser shows it."""
    with page_pictures.opened(dark=dark, width=width, height=height) as shown:
        shown.goto(page.as_uri())
        shown.wait_for_load_state("networkidle")
        shown.screenshot(path=PICTURES / f"{name}.png")


def draw_jaeger(pages: Path, store: Path, environment: Mapping[str, str]) -> None:
    """Write pictures of what Jaeger finds by what autoload did."""
    with tempfile.TemporaryDirectory(prefix="jaeger-") as data, page_pictures.jaeger(pages, Path(data)) as at:
        to = {**environment, "OTEL_EXPORTER_OTLP_ENDPOINT": at["jaeger"]["http"]}
        for number in range(_RUNS_IN_JAEGER):
            for name, setting in (("on", {}), ("off", {VARIABLE: "0"})):
                run = [PROGRAM, "run", "--dir", str(store), "--name", f"{name}-{number}"]
                folder, variables = ROOT / "examples", {**to, **setting}
                subprocess.run([*run, *BENCHMARK], cwd=folder, env=variables, check=True, capture_output=True)
        page_pictures.draw_jaeger(at["ui"], {"torch.backend_autoload.effective": "disabled"}, PICTURES)


_RUNS_IN_JAEGER = 3


def _at_a_terminal(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> tuple[int, str]:
    """Run a command at a terminal as wide as the picture, and return its exit code and what it printed."""
    ours, its = os.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    said = bytearray()

    def read() -> None:
        with suppress(OSError):  # at the end, when nobody has the terminal any more
            while part := os.read(ours, 1 << 16):
                said.extend(part)

    reader = threading.Thread(target=read)
    reader.start()
    done = subprocess.run(command, cwd=folder, env=environment, stdin=its, stdout=its, stderr=its, check=False)
    os.close(its)
    reader.join()
    os.close(ours)
    return done.returncode, said.decode()


def main() -> None:
    """Make all pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jaeger-ui", type=Path, metavar="FOLDER", help="Jaeger's built pages")
    parser.add_argument("--perfetto-ui", type=Path, metavar="FOLDER", help="Perfetto's built pages")
    arguments = parser.parse_args()
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="pictures-") as scratch:
        store = Path(scratch)
        examples = ROOT / "examples"
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "SCENETEST_"))}
        kept.pop(VARIABLE, None)
        environment = {
            **kept,
            "PATH": f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(Path(sys.prefix) / "demo-device"),
            "SCENETEST_OTEL_DIR": str(store),
            "TERM": "xterm-256color",
        }
        terminal = Terminal(environment, examples)
        terminal.type("run", "--name", "on", *BENCHMARK)
        terminal.type("run", "--name", "off", *BENCHMARK, extra={VARIABLE: "0"})
        terminal.draw("runs")
        terminal.type("show", "on")
        terminal.draw("show")
        terminal.type("compare", "off", "--", "on", expect=4)
        terminal.draw("compare")
        terminal.type("ab", "--name", "more", "--arm", "base:PRODUCTS=10", "--arm", "measure:PRODUCTS=13", *BENCHMARK)
        terminal.draw("ab")
        page = store / "report.html"
        terminal.type("report", "more-base-*", "-o", str(page), "--", "more-measure-*")
        draw_report(page, "report-light")
        draw_report(page, "report-dark", dark=True)
        draw_report(page, "report-narrow", width=360, height=800)
        if arguments.perfetto_ui:
            trace = store / "on.json"
            terminal.type("export", "on", "--format", "perfetto", "-o", str(trace))
            page_pictures.draw_perfetto(arguments.perfetto_ui, trace, PICTURES / "perfetto.png")
        if arguments.jaeger_ui:
            draw_jaeger(arguments.jaeger_ui, store, environment)


if __name__ == "__main__":
    main()

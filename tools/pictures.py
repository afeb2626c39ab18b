"""Makes the pictures of the documentation from real runs: `make pictures`.

rich turns terminal output into an SVG. A headless Chromium turns the report into a PNG. Pages of other servers
(Jaeger, Perfetto) are not included.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from playwright.sync_api import sync_playwright
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
        done = subprocess.run(
            [PROGRAM, *words],
            cwd=self._folder,
            env={**self._environment, **extra},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        printed = _ELAPSED.sub("", done.stdout.decode())
        if done.returncode != expect:
            sys.exit(f"{shown} ended with {done.returncode} and not {expect}:\n{printed}")
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
    """Write a screenshot of a page in a browser."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        shown = browser.new_page(viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light")
        shown.goto(page.as_uri())
        shown.wait_for_load_state("networkidle")
        shown.screenshot(path=PICTURES / f"{name}.png")
        browser.close()


def main() -> None:
    """Make all pictures."""
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
            "FORCE_COLOR": "1",
            "COLUMNS": str(COLUMNS),
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


if __name__ == "__main__":
    main()

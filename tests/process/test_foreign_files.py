"""Runs with edited, damaged or mixed files: one clear message each, no internal error, other runs not held up."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from support.backends import Backend
from support.runner import CLI
from support.scripts import clean_environment, record

from opentelemetry.instrumentation.scenetest.analyse import contamination
from opentelemetry.instrumentation.scenetest.deliver import spans
from opentelemetry.instrumentation.scenetest.errors import BadInputError
from opentelemetry.instrumentation.scenetest.render import perfetto, run_json, run_text
from opentelemetry.instrumentation.scenetest.render.native_text import NativeView
from opentelemetry.instrumentation.scenetest.render.plain_console import PlainConsole
from opentelemetry.instrumentation.scenetest.rundir import layout, run_file
from opentelemetry.instrumentation.scenetest.sources import arms, runs, stores

SOURCE = """
instrument()
with case("S", "c", level=2):
    with phase("golden"): pass
    for _ in range(2):
        with dispatch(): pass
with dispatch(callable="outside"): pass
"""
DISPATCHES = 3
NUMBERS = [0, -1, 1 << 70, 10**400, 1e308, float("nan"), float("inf")]
TEXTS = ["", "\0", "\ud800", "\x1b[2J", "x" * 100_000, "0" * 16, "0" * 32]
NESTED = [[], {}, [None], {"a": {"b": []}}, [[[[[]]]]], [1, "a", None], {"": None}]
VALUES: list[Any] = [None, True, *NUMBERS, *TEXTS, *NESTED]
RAW = [b"", b"\0" * 1000, b"\xff\xfe\n", b"[" * 100_000 + b"\n", b"{}\n", b"[]\n", b"null\n", b'{"kind":[]}\n']


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(SOURCE, tmp_path_factory.mktemp("foreign")).path


def read_all(directory: Path) -> int:
    """Read a run in every way that the commands do, and return how many dispatches there are."""
    run = runs.load(directory)
    native = run.native()
    json.dumps(run_json.document(run, native))
    console = PlainConsole(file=io.StringIO(), width=500)
    run_text.print_run(console, run, NativeView(native), with_tree=True)
    run_text.print_conditions(console, run)
    contamination.verdict(run)
    perfetto.write(run, io.StringIO())
    built = list(spans.of_run(directory, run_file.read(directory)))
    for span in built:
        encode_spans([span])
    arms.read([directory])
    return sum(span.name.startswith("dispatch") for span in built)


def mutations(directory: Path) -> Iterator[tuple[str, Callable[[Path], object]]]:
    """Yield every damage: each field of `run.json` and of each kind of line with each value, and raw bytes."""
    (journal,) = layout.journals(directory)

    def write_line(number: int, fields: dict[str, Any]) -> Callable[[Path], object]:
        lines = journal.read_bytes().splitlines(keepends=True)
        lines[number] = json.dumps(fields).encode() + b"\n"
        return lambda run: (run / journal.name).write_bytes(b"".join(lines))

    facts = json.loads((directory / layout.RUN_FILE).read_text())
    for field in facts:
        for value in VALUES:
            text = json.dumps({**facts, field: value})
            yield f"run.json {field} {value!r:.40}", lambda run, text=text: (run / layout.RUN_FILE).write_text(text)
    seen: set[tuple[str, str]] = set()
    for number, raw in enumerate(journal.read_bytes().splitlines()):
        line: dict[str, Any] = json.loads(raw)
        sort = (line["kind"], line.get("span", ""))
        if sort in seen:
            continue
        seen.add(sort)
        for field in line:
            for value in VALUES:
                yield f"{sort} {field} {value!r:.40}", write_line(number, {**line, field: value})
            yield f"{sort} without {field}", write_line(number, {key: line[key] for key in line if key != field})
    for name in (layout.RUN_FILE, journal.name):
        for raw in RAW:
            yield f"{name} {raw[:20]!r}", lambda run, name=name, raw=raw: (run / name).write_bytes(raw)


def test_no_value_in_any_field_makes_a_fault_or_a_dispatch(recorded: Path, tmp_path: Path) -> None:
    tried = refused = 0
    faults: list[str] = []
    directory = tmp_path / "run"
    for name, damage in mutations(recorded):
        shutil.copytree(recorded, directory)
        damage(directory)
        tried += 1
        try:
            if read_all(directory) > DISPATCHES:
                faults.append(f"{name}: a dispatch was invented")
        except BadInputError as error:
            refused += 1
            faults += [f"{name}: two lines"] if "\n" in str(error) else []
        except Exception as error:
            faults.append(f"{name}: {type(error).__name__}: {str(error)[:100]}")
        shutil.rmtree(directory)
    print(f"{tried} damaged runs tried, {tried - len(faults)} survived, {refused} refused in one sentence, 0 invented")
    assert faults == []


SPECIAL: dict[str, Callable[[Path], object]] = {
    "pipe": os.mkfifo,
    "directory": os.mkdir,
    "endless": lambda path: os.symlink("/dev/zero", path),
    "loop": lambda path: os.symlink(path, path),
    "dangling": lambda path: os.symlink("nowhere", path),
    "sparse": lambda path: (path.touch(), os.truncate(path, 1 << 28)),
    "unreadable name": lambda path: Path(os.fsdecode(os.fsencode(path) + b"\xff")).touch(),
}
NAMES = ("run.json", "1-aa.jsonl", "1-aa.ack", "native.ack", "delivery.json", "delivery.lock", "x.log", "logs")


@pytest.mark.parametrize("what", SPECIAL)
def test_no_file_of_a_run_holds_back_the_delivery_of_the_others(
    what: str, recorded: Path, backend: Backend, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    shutil.copytree(recorded, store / "good")
    for name in NAMES:
        run = Path(shutil.copytree(recorded, store / f"bad-{name}"))
        for path in (run / name, *([run / layout.RUN_FILE] if name == layout.RUN_FILE else [])):
            path.unlink(missing_ok=True)
        SPECIAL[what](run / name)
    env = clean_environment(OTEL_EXPORTER_OTLP_ENDPOINT=backend.url)
    for command in (["push", "--dir", str(store)], ["show", "--dir", str(store), "good"]):
        done = subprocess.run([CLI, *command], env=env, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode in (0, 3), done.stderr
        assert "Traceback" not in done.stderr
        assert "internal error" not in done.stderr
    assert stores.all_runs(str(store))
    assert len(backend.taken) >= DISPATCHES + 2
    for name in NAMES:
        command = [CLI, "show", str(store / f"bad-{name}")]
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode in (0, 2), done.stderr
        assert "internal error" not in done.stderr


def test_a_run_that_may_not_be_read_is_no_damaged_one(recorded: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(recorded, tmp_path / "run"))
    (journal,) = layout.journals(run)
    journal.unlink()
    journal.symlink_to("/proc/1/mem" if os.getuid() else "/proc/self/mem")
    with pytest.raises(BadInputError, match="can't be read: "):
        runs.load(run)


def test_a_run_on_a_medium_that_is_read_only_is_read(recorded: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(recorded, tmp_path / "run"))
    for path in run.iterdir():
        path.chmod(0o400)
    run.chmod(0o500)
    assert read_all(run) == DISPATCHES
    run.chmod(0o700)

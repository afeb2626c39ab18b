"""The matrix of `data/autoload_cells.json`: start conditions of each cell, how to run it, and the expected result."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from support.scripts import only_run
from support.torch_backends import install_backends

TESTS = Path(__file__).parent.parent
SOURCES = TESTS.parent / "src"
VARIABLE = "TORCH_DEVICE_BACKEND_AUTOLOAD"
DURATION = "torch.backend_autoload.duration"
WORDS_OF_TORCH = "<words of this release of torch>"
"""Placeholder in the matrix for an exception of torch itself, which differs between releases."""

Trace = list[tuple[int, str]]
"""The lines that the backends wrote: monotonic nanoseconds and an event."""

MEASURED = """
from opentelemetry.instrumentation.scenetest import case, dispatch, instrument


def measure(name):
    with case("Matrix", name), dispatch():
        pass
"""


@dataclass(frozen=True)
class Cell:
    """One row of the matrix. Missing fields have the value of `defaults` in the file. A null condition doesn't apply.

    Attributes:
        setting: the variable as the process is launched with it.
        files: further modules, by name.
        program: the lines that the process runs, with the helpers of `autoload_driver.py`.
        happened: what the witnesses must have seen: torch's own switch (`switch`), the backends (`trace`), the
            exceptions that reached the program (`raised`), the variable at the end (`variable`).
        conditions: what the record must say at the end, by attribute.
        earlier: what it must say each time before, complete.
    """

    group: str
    name: str
    setting: str | None
    backends: list[str]
    environment: dict[str, str]
    files: dict[str, str]
    program: list[str]
    happened: dict[str, Any]
    conditions: dict[str, Any]
    earlier: list[dict[str, Any]]

    def __str__(self) -> str:
        return f"{self.group}: {self.name}"


@dataclass(frozen=True)
class RecordedCell:
    """One row of the processes of a recorded run.

    Attributes:
        command: what the interpreter is given.
        files: what it finds in its folder, by name; `measured.py` is there as well.
        happened: what the backends must have traced (`trace`).
        processes: by the name of the case that each process measures, the conditions of its dispatch.
    """

    group: str
    name: str
    setting: str | None
    backends: list[str]
    environment: dict[str, str]
    command: list[str]
    files: dict[str, str]
    happened: dict[str, Any]
    processes: dict[str, dict[str, Any]]

    def __str__(self) -> str:
        return f"{self.group}: {self.name}"


@dataclass
class Result:
    """The result of a cell: `observed`, `raised` and `switch` from the driver, `trace` from the backends."""

    observed: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    raised: list[str] = field(default_factory=list[str])
    switch: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    trace: Trace = field(default_factory=list[tuple[int, str]])


@dataclass
class Recorded:
    """The result of a recorded run: the conditions of the dispatch of each case, and the trace of the backends."""

    processes: dict[str, dict[str, Any]]
    trace: Trace


def torch_version(python: str) -> str:
    """Return the version of an interpreter's torch, from its version file. Nothing is imported."""
    (file,) = Path(python).parent.parent.glob("lib/python3.*/site-packages/torch/version.py")
    return runpy.run_path(str(file))["__version__"]


def load_cells() -> list[Cell]:
    """Read the rows that `autoload_driver.py` runs."""
    data = _data()
    defaults = data["defaults"]
    return [_cell(row, defaults) for row in data["cells"]]


def _cell(row: dict[str, Any], defaults: dict[str, Any]) -> Cell:
    values: dict[str, Any] = {**defaults, **row}
    for name in ("environment", "happened"):
        values[name] = {**defaults[name], **row.get(name, {})}
    if isinstance(values["setting"], dict):
        values["setting"] = values["setting"]["repeat"] * values["setting"]["times"]
    values["files"] = _texts(values["files"])
    values["conditions"] = _conditions(defaults["conditions"], row["conditions"])
    return Cell(**values)


def load_releases() -> list[tuple[str, Cell]]:
    """Read which rows to run on which releases of torch, and what differs there."""
    data = _data()
    named = {str(cell): cell for cell in load_cells()}
    rows: list[tuple[str, Cell]] = []
    for group in data["releases"]:
        for row in group["cells"]:
            cell = named[row] if isinstance(row, str) else _cell(row, data["defaults"])
            changed = replace(
                cell,
                happened={**cell.happened, **group["happened"]},
                conditions=_conditions(cell.conditions, group["conditions"]),
            )
            rows.extend((release, changed) for release in group["releases"])
    return rows


def load_recorded() -> list[RecordedCell]:
    """Read the rows that are recorded runs."""
    data = _data()
    defaults = data["recorded_defaults"]
    cells: list[RecordedCell] = []
    for row in data["recorded"]:
        values: dict[str, Any] = {"setting": None, "environment": {}, **row, "files": _texts(row["files"])}
        values["processes"] = {
            name: _conditions(defaults["conditions"], changes) for name, changes in row["processes"].items()
        }
        cells.append(RecordedCell(**values))
    return cells


def _data() -> dict[str, Any]:
    return json.loads((TESTS / "data/autoload_cells.json").read_text("utf-8"))


def _texts(files: dict[str, list[str]]) -> dict[str, str]:
    return {name: "".join(f"{line}\n" for line in lines) for name, lines in files.items()}


def _conditions(defaults: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Remove conditions that are null, because they don't apply."""
    return {name: value for name, value in {**defaults, **changes}.items() if value is not None}


def interpreter_environment(folder: Path) -> dict[str, str]:
    """Return the environment of a fresh interpreter that finds our sources and the backends of a folder."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SCENETEST_", "OTEL_"))}
    # Torch takes twice as long to import where its compiled files are not kept.
    for name in (VARIABLE, "PYTHONDONTWRITEBYTECODE"):
        environment.pop(name, None)
    environment["PYTHONPATH"] = os.pathsep.join([str(folder), str(folder / "backends"), str(SOURCES)])
    environment["BACKEND_TRACE"] = str(folder / "trace")
    return environment


def _environment(cell: Cell | RecordedCell, folder: Path) -> dict[str, str]:
    setting = {} if cell.setting is None else {VARIABLE: cell.setting}
    return {**interpreter_environment(folder), **setting, **cell.environment}


def run_cell(cell: Cell, folder: Path, python: str = sys.executable) -> Result:
    """Run a cell in a fresh interpreter.

    Args:
        folder: an empty one, for the backends and the files of the run.
        python: the interpreter; its torch is the one under test.
    """
    install_backends(cell.backends, folder / "backends")
    for name, text in cell.files.items():
        (folder / name).write_text(text, "utf-8")
    (folder / "cell.json").write_text(json.dumps({"name": cell.name, "program": cell.program}), "utf-8")
    command = [
        python,
        str(TESTS / "support" / "autoload_driver.py"),
        str(folder / "cell.json"),
        str(folder / "result.json"),
    ]
    done = subprocess.run(
        command, cwd=folder, env=_environment(cell, folder), capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return Result(**json.loads((folder / "result.json").read_text("utf-8")), trace=_trace(folder))


def run_recorded(cell: RecordedCell, folder: Path) -> Recorded:
    """Run a cell with its own store, and read back what each process recorded."""
    install_backends(cell.backends, folder / "backends")
    for name, text in {**cell.files, "measured.py": MEASURED}.items():
        (folder / name).write_text(text, "utf-8")
    environment = {**_environment(cell, folder), "SCENETEST_OTEL_DIR": str(folder / "store")}
    done = subprocess.run(
        [sys.executable, *cell.command], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    run = only_run(folder / "store")
    cases = [case for process in run.processes for case in process.cases]
    conditions = {case.span.name: dict(case.dispatches[0].conditions) for case in cases}
    return Recorded(conditions, _trace(folder))


def _trace(folder: Path) -> Trace:
    file = folder / "trace"
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    return [(int(moment), event) for moment, _, event in (line.partition(" ") for line in lines)]


def witnessed(result: Result, cell: Cell) -> dict[str, Any]:
    """Return what was seen in a cell, with a placeholder for exceptions of torch itself."""
    said = cell.happened["raised"]
    its_own = {place for place, words in enumerate(said) if words == WORDS_OF_TORCH} if isinstance(said, list) else ()
    return {
        "switch": [call["returned"] for call in result.switch],
        "trace": [event for _, event in result.trace],
        "raised": [WORDS_OF_TORCH if place in its_own else words for place, words in enumerate(result.raised)],
        "variable": result.observed[-1]["variable"],
    }


def happened(cell: Cell) -> dict[str, Any]:
    """Return what the matrix expects to be seen."""
    unchanged = cell.happened["variable"] == "<setting>"
    return {**cell.happened, "variable": cell.setting if unchanged else cell.happened["variable"]}


def spelled(value: str | None) -> str:
    """Return how the record must show a value of the variable."""
    if value is None:
        return "unset"
    cut = value[:64]
    return cut if cut.isprintable() and cut.isascii() and cut not in ("unset", "unknown") else json.dumps(cut)


def compare(conditions: dict[str, Any], expected: dict[str, Any], trace: Trace, python: str = sys.executable) -> None:
    """Return each attribute with its value and type."""
    exact = dict(expected)
    if exact.get("torch.version"):
        exact["torch.version"] = torch_version(python)
    if exact.get(DURATION):
        moments = [moment for moment, _ in trace]
        exact[DURATION] = conditions.get(DURATION)
        assert type(exact[DURATION]) is float
        assert exact[DURATION] >= (max(moments) - min(moments)) / 1e9 if moments else exact[DURATION] > 0
    assert conditions == exact
    assert {name: type(value) for name, value in conditions.items()} == {
        name: type(value) for name, value in exact.items()
    }

"""The matrix of `data/autoload_cells.json`: what each cell starts with, how it is run and what must come out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from backends import install_backends

TESTS = Path(__file__).parent
SOURCES = TESTS.parent / "src"
VARIABLE = "TORCH_DEVICE_BACKEND_AUTOLOAD"


@dataclass(frozen=True)
class Cell:
    """One row. What it leaves out has the value of `defaults` in the file; a condition that is null does not apply.

    Attributes:
        setting: the variable as the process is launched with it.
        program: the lines that the process runs, with the helpers of `autoload_driver.py`.
        happened: what the witnesses must have seen: torch's own switch (`switch`), the backends (`trace`), the
            exceptions that reached the program (`raised`), the variable at the end (`variable`).
        conditions: what the record must say, by attribute.
    """

    group: str
    name: str
    setting: str | None
    backends: list[str]
    environment: dict[str, str]
    program: list[str]
    happened: dict[str, Any]
    conditions: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.group}: {self.name}"


@dataclass
class Result:
    """What came out of a cell: `observed`, `raised` and `switch` from the driver, `trace` from the backends."""

    observed: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    raised: list[str] = field(default_factory=list[str])
    switch: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    trace: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])


def load_cells() -> list[Cell]:
    """Read the data file."""
    data: dict[str, Any] = json.loads((TESTS / "data/autoload_cells.json").read_text("utf-8"))
    return [_cell(row, data["defaults"]) for row in data["cells"]]


def _cell(row: dict[str, Any], defaults: dict[str, Any]) -> Cell:
    values: dict[str, Any] = {**defaults, **row}
    for name in ("environment", "happened", "conditions"):
        values[name] = {**defaults[name], **row.get(name, {})}
    if isinstance(values["setting"], dict):
        values["setting"] = values["setting"]["repeat"] * values["setting"]["times"]
    values["conditions"] = {name: value for name, value in values["conditions"].items() if value is not None}
    return Cell(**values)


def fresh_environment(cell: Cell, folder: Path) -> dict[str, str]:
    """Return the environment of a fresh interpreter that finds our sources and the backends of the cell."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SCENETEST_", "OTEL_"))}
    # Torch takes twice as long to import where its compiled files are not kept.
    for name in (VARIABLE, "PYTHONDONTWRITEBYTECODE"):
        environment.pop(name, None)
    environment["PYTHONPATH"] = os.pathsep.join([str(folder / "backends"), str(SOURCES)])
    environment["BACKEND_TRACE"] = str(folder / "trace")
    if cell.setting is not None:
        environment[VARIABLE] = cell.setting
    return {**environment, **cell.environment}


def run_cell(cell: Cell, folder: Path, python: str = sys.executable) -> Result:
    """Run a cell in a fresh interpreter.

    Args:
        folder: an empty one, for the backends and the files of the run.
        python: the interpreter; its torch is the one under test.
    """
    install_backends(cell.backends, folder / "backends")
    (folder / "cell.json").write_text(json.dumps({"name": cell.name, "program": cell.program}), "utf-8")
    command = [python, str(TESTS / "autoload_driver.py"), str(folder / "cell.json"), str(folder / "result.json")]
    done = subprocess.run(
        command, cwd=folder, env=fresh_environment(cell, folder), capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    trace = folder / "trace"
    lines = trace.read_text("utf-8").splitlines() if trace.exists() else []
    events = [(int(moment), event) for moment, _, event in (line.partition(" ") for line in lines)]
    return Result(**json.loads((folder / "result.json").read_text("utf-8")), trace=events)

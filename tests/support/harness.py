"""Runs scenes of the small harness in `tests/harness`, within a run of ours."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from opentelemetry.instrumentation.scenetest.analyse.runs import Case, Process, Run
from opentelemetry.instrumentation.scenetest.rundir import run_file
from opentelemetry.instrumentation.scenetest.sources import runs
from support.scripts import clean_environment

HARNESS = Path(__file__).parents[1] / "harness"
OF_WORKER = {
    "scenetest.level": 2,
    "scenetest.platform": "a2a3sim",
    "scenetest.runtime": "tensormap_and_ringbuffer",
    "scenetest.sdma": False,
    "scenetest.prewarm": False,
    "scenetest.devices": 1,
    "scenetest.device.id": "0",
    "scenetest.workers.chip": 0,
    "scenetest.workers.sub": 0,
    "scenetest.workers.next_level": 0,
}
"""The attributes that the Worker of a scene at level 2 has."""


def run_harness(store: Path, *command: str, expect: int = 0, **env: str) -> tuple[Run, str]:
    """Run Python with these arguments in the harness's checkout, and return the recorded run and the output."""
    directory = run_file.make_run(str(store), by="run", command=command)
    done = subprocess.run(
        [sys.executable, *command],
        cwd=HARNESS,
        env=clean_environment(PYTHONPATH=str(HARNESS), SCENETEST_OTEL_RUN=directory, **env),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == expect, done.stdout
    return runs.load(Path(directory)), done.stdout


def cases(run: Run) -> dict[str, tuple[Process, Case]]:
    """Return every case by `suite::name`, with its process."""
    return {f"{one.span.suite}::{one.span.name}": (process, one) for process in run.processes for one in process.cases}

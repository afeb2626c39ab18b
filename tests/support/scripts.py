"""Runs scripts in fresh interpreters and reads back what they recorded."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path

from opentelemetry.instrumentation.scenetest.analyse.runs import Process, Run
from opentelemetry.instrumentation.scenetest.sources import runs, stores

PREAMBLE = "from opentelemetry.instrumentation.scenetest import case, dispatch, instrument, phase, uninstrument\n"
PROGRAMS = Path(__file__).parent.parent / "programs"
_OURS = ("SCENETEST_", "OTEL_", "TORCH_DEVICE_", "TRACEPARENT", "PYTEST_")


def clean_environment(**extra: str) -> dict[str, str]:
    """The environment of this process without what changes a recording, and with what is given."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(_OURS)}
    return {**kept, **extra}


def run_script(
    source: str, *, env: Mapping[str, str] | None = None, options: tuple[str, ...] = (), timeout: float = 60
) -> subprocess.CompletedProcess[str]:
    """Run a script in a fresh interpreter, with the public API imported and its output captured."""
    script = PREAMBLE + textwrap.dedent(source)
    return subprocess.run(
        [sys.executable, *options, "-c", script],
        env=clean_environment(**(env or {})),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def program(name: str, *arguments: str) -> list[str]:
    """Return the command that runs one of `tests/programs` in a fresh interpreter."""
    return [sys.executable, str(PROGRAMS / name), *arguments]


def record(source: str, store: Path, *, expect: int = 0, env: Mapping[str, str] | None = None) -> Run:
    """Run a script that calls `instrument()` with a store, and return what it recorded."""
    done = run_script(source, env={"SCENETEST_OTEL_DIR": str(store), **(env or {})})
    assert done.returncode == expect, done.stderr
    return only_run(store)


def only_run(store: Path) -> Run:
    """Return the one run of a store."""
    (directory,) = stores.all_runs(str(store))
    return runs.load(directory)


def only_process(run: Run) -> Process:
    """Return the one process of a run."""
    (process,) = run.processes
    return process

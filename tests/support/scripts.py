"""Runs scripts in fresh interpreters, and reads back what they recorded."""

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
PROGRAMS = Path(__file__).parents[1] / "programs"
"""Programs that tests run, as files that the type checker reads."""

_NOT_KEPT = ("SCENETEST_", "OTEL_", "TORCH_DEVICE_", "TRACEPARENT", "PYTEST_", "COLUMNS")


def clean_environment(**extra: str) -> dict[str, str]:
    """Return this environment without variables that change a recording or its output, plus the given ones."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(_NOT_KEPT)}
    return {**kept, **extra}


def run_script(
    program: str | Path,
    *arguments: str,
    env: Mapping[str, str] | None = None,
    options: tuple[str, ...] = (),
    timeout: float = 60,
) -> subprocess.CompletedProcess[str]:
    """Run a program in a fresh interpreter, and capture its output.

    Args:
        program: a file, or a few lines of source, which may use the public API without importing it.
        arguments: arguments of the program.
        env: variables in addition to a clean environment.
        options: options of the interpreter.
        timeout: time limit in seconds.
    """
    code = [str(program)] if isinstance(program, Path) else ["-c", PREAMBLE + textwrap.dedent(program)]
    return subprocess.run(
        [sys.executable, *options, *code, *arguments],
        env=clean_environment(**(env or {})),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def program(name: str, *arguments: str) -> list[str]:
    """Return the command that runs one of `tests/programs` in a fresh interpreter."""
    return [sys.executable, str(PROGRAMS / name), *arguments]


def record(
    program: str | Path, store: Path, *arguments: str, expect: int = 0, env: Mapping[str, str] | None = None
) -> Run:
    """Run a program that calls `instrument()` with a store, and return what it recorded."""
    done = run_script(program, *arguments, env={"SCENETEST_OTEL_DIR": str(store), **(env or {})})
    assert done.returncode == expect, done.stderr
    return only_run(store)


def folders(store: Path) -> list[str]:
    """Return the names of the folders in a store: its runs."""
    return sorted(entry.name for entry in store.iterdir() if entry.is_dir()) if store.exists() else []


def only_run(store: Path) -> Run:
    """Return the only run of a store."""
    (directory,) = stores.all_runs(str(store))
    return runs.load(directory)


def only_process(run: Run) -> Process:
    """Return the only process of a run."""
    (process,) = run.processes
    return process

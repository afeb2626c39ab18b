"""Where runs are kept, and how a run is found by its path or its name."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from pathlib import Path

from opentelemetry.instrumentation.scenetest.errors import BadInputError
from opentelemetry.instrumentation.scenetest.rundir import layout, run_file

LOCAL_STORE = "scenetest-runs"
"""The store of `scenetest-otel run` in the working directory, where nothing else is asked for."""


def stores(given: str | None = None) -> list[Path]:
    """Return the stores to look in, nearest first.

    Args:
        given: the store that the user named with `--dir`; then it is the only one.
    """
    if given:
        return [Path(given)]
    candidates = os.environ.get(layout.STORE_VARIABLE), LOCAL_STORE, layout.state_store()
    return list(dict.fromkeys(Path(candidate) for candidate in candidates if candidate))


def is_run(directory: Path) -> bool:
    """Tell whether a directory holds a run: its `run.json` or a journal."""
    # What somebody else recorded in a store of many is none that can be read here, and no fault.
    return os.path.isfile(directory / layout.RUN_FILE) or any(layout.journals(directory))


def all_runs(given: str | None = None) -> list[Path]:
    """Return the directories of all stored runs, the oldest first."""
    found: list[Path] = []
    for store in stores(given):
        if os.access(store, os.R_OK | os.X_OK) and store.is_dir():
            found += [directory for directory in store.iterdir() if directory.is_dir() and is_run(directory)]
    return sorted(found, key=_started)


def find(run: str, given: str | None = None) -> Path:
    """Return the directory of one run.

    Args:
        run: the path of a run directory, the name of such a directory in a store, or the name of a run.
        given: the store named with `--dir`.

    Raises:
        BadInputError: there is no such run, or several have that name.
    """
    found = find_all(run, given)
    if len(found) > 1:
        names = ", ".join(directory.name for directory in found)
        raise BadInputError(f"{run!r} names {len(found)} runs: {names}; name one of them")
    return found[0]


def find_all(pattern: str, given: str | None = None) -> list[Path]:
    """Return the directories of the runs that a path, a name or a glob pattern of names means, the oldest first.

    Raises:
        BadInputError: there is none.
    """
    path = Path(pattern)
    if os.path.isdir(path) and is_run(path):
        return [path]
    if os.sep in pattern:
        raise BadInputError(f"{pattern!r} is not a run: no such directory with a {layout.RUN_FILE} or a journal in it")
    runs = all_runs(given)
    by_directory = [run for run in runs if fnmatchcase(run.name, pattern)]
    found = by_directory or [run for run in runs if fnmatchcase(str(run_file.read(run).get("name")), pattern)]
    if not found:
        places = ", ".join(str(store) for store in stores(given))
        latest = f"; the latest is {runs[-1].name!r}" if runs else ""
        raise BadInputError(f"no run {pattern!r} in {places}{latest}")
    return found


def newest(given: str | None = None) -> Path:
    """Return the directory of the run that was started last.

    Raises:
        BadInputError: no run is stored.
    """
    runs = all_runs(given)
    if not runs:
        places = ", ".join(str(store) for store in stores(given))
        raise BadInputError(f"no run is stored in {places}; record one with: scenetest-otel run -- CMD...")
    return runs[-1]


def _started(directory: Path) -> int:
    started = run_file.read(directory).get("started_unix_ns")
    return started if isinstance(started, int) else directory.stat().st_mtime_ns

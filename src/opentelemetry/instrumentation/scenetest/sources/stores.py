"""Finds stored runs by path or name."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from pathlib import Path

from opentelemetry.instrumentation.scenetest.errors import BadInputError
from opentelemetry.instrumentation.scenetest.rundir import layout, run_file


def stores(given: str | None = None) -> list[Path]:
    """Return the stores to look in, nearest first.

    Args:
        given: the store given with `--dir`. Then it is the only one.
    """
    if given:
        return [Path(given)]
    candidates = os.environ.get(layout.STORE_VARIABLE), layout.LOCAL_STORE, layout.state_store()
    return list(dict.fromkeys(Path(candidate) for candidate in candidates if candidate))


def is_run(directory: Path) -> bool:
    """Tell whether a directory holds a run: a `run.json` or a journal."""
    # In a shared store, a directory of another user may be unreadable. It then does not count.
    return os.path.isfile(directory / layout.RUN_FILE) or any(layout.journals(directory))


def all_runs(given: str | None = None) -> list[Path]:
    """Return the directories of all stored runs, the oldest first."""
    found: list[Path] = []
    for store in stores(given):
        if os.access(store, os.R_OK | os.X_OK) and store.is_dir():
            found += [directory for directory in store.iterdir() if directory.is_dir() and is_run(directory)]
    return sorted(found, key=lambda directory: (_started(directory), directory.name))


def find(run: str, given: str | None = None) -> Path:
    """Return the directory of one run.

    Args:
        run: the path of a run directory, or the name of a run. A name means the newest run of that name; `NAME@1` is
            the oldest one, `NAME@2` the one after it.
        given: the store given with `--dir`.

    Raises:
        BadInputError: there is no such run, or a pattern matches several.
    """
    found = find_all(run, given)
    if len(found) > 1:
        names = ", ".join(str(directory) for directory in found)
        raise BadInputError(f"{run!r} matches {len(found)} runs, and one is needed: {names}")
    return found[0]


def find_all(pattern: str, given: str | None = None) -> list[Path]:
    """Return the directories of the runs that match a path, a name or a glob pattern, the oldest first.

    A name means one run, as in `find`. A pattern means every run whose name it matches.

    Raises:
        BadInputError: no run matches.
    """
    path = Path(pattern)
    if os.path.isdir(path) and is_run(path):
        return [path]
    if os.sep in pattern:
        raise BadInputError(f"{pattern!r} is not a run: no such directory with a {layout.RUN_FILE} or a journal in it")
    runs = all_runs(given)
    if named := [run for run in runs if pattern in names_of(run)]:
        return named[-1:]
    name, at, number = pattern.rpartition("@")
    if at and number.isascii() and number.isdecimal():
        return [_of_name(name, int(number), runs, given)]
    found = [run for run in runs if any(fnmatchcase(name, pattern) for name in names_of(run))]
    if not found:
        raise BadInputError(_no_run(pattern, runs, given))
    return found


def names_of(directory: Path) -> set[str]:
    """Return the names of a run: the name of its directory, and the name in its `run.json`. Reruns share the latter."""
    return {directory.name, str(run_file.read(directory).get("name") or directory.name)}


def _of_name(name: str, number: int, runs: list[Path], given: str | None) -> Path:
    named = [run for run in runs if name in names_of(run)]
    if not named:
        raise BadInputError(_no_run(name, runs, given))
    if not 1 <= number <= len(named):
        raise BadInputError(f"no run '{name}@{number}': {name!r} has {len(named)}, {name}@1 to {name}@{len(named)}")
    return named[number - 1]


def _no_run(name: str, runs: list[Path], given: str | None) -> str:
    places = ", ".join(str(store) for store in stores(given))
    latest = f"; the latest is {runs[-1].name!r}" if runs else "; record one with: scenetest-otel run -- CMD..."
    return f"no run {name!r} in {places}{latest}"


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

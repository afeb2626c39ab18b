"""`run.json`: the run as a whole, locked by the process that made it for as long as the run goes on."""

from __future__ import annotations

import errno
import json
import os
import sys
from time import strftime
from typing import cast

from opentelemetry.instrumentation.scenetest import masking
from opentelemetry.instrumentation.scenetest.clock import unix_ns
from opentelemetry.instrumentation.scenetest.rundir import layout, liveness

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Any


def make_run(store: str, *, by: str, command: Sequence[str], name: str | None = None, **facts: object) -> str:
    """Make the directory of a new run in a store, with its `run.json`.

    Args:
        store: the directory that holds runs; made if it is missing.
        by: who makes the run: `run` or `instrument`.
        command: what is run.
        name: name of the run; without it the time and the script's name. A second run of one name gets a directory of
            its own, with a number.
        facts: what else `run.json` is to say.

    Returns:
        The absolute path of the run directory.

    Raises:
        OSError: it can't be made.
    """
    name = name or f"{strftime('%Y%m%d-%H%M%S')}-{_script(command)}"
    os.makedirs(store, layout.DIRECTORY_MODE, exist_ok=True)
    directory = os.path.join(os.path.abspath(store), name)
    number = 1
    while True:
        try:
            os.mkdir(directory, layout.DIRECTORY_MODE)
            break
        except FileExistsError:
            number += 1
            directory = os.path.join(os.path.abspath(store), f"{name}-{number}")
    try:
        write(directory, by=by, command=command, name=name, **facts)
    except BaseException:
        _remove(directory)
        raise
    return directory


def make_store(store: str) -> None:
    """Make a store, ignored by git: tools of the harness treat a checkout with untracked folders differently.

    Raises:
        OSError: it can't be made, or is no directory.
    """
    try:
        os.makedirs(store, layout.DIRECTORY_MODE)
    except FileExistsError:
        if not os.path.isdir(store):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), store) from None
    else:
        with open(os.path.join(store, ".gitignore"), "w", encoding="ascii") as file:
            file.write("*\n")


def write(directory: str, *, by: str, command: Sequence[str], name: str, **facts: object) -> None:
    """Write the `run.json` of a run that has none.

    Args:
        directory: the run directory.
        by: who makes the run: `run` or `instrument`.
        command: what is run.
        name: name of the run.
        facts: what else it is to say.

    Raises:
        OSError: it can't be written, or is there.
    """
    known = {
        "schema": layout.SCHEMA,
        "id": os.urandom(16).hex(),
        "name": name,
        "by": by,
        "command": masking.recorded(command),
    }
    text = json.dumps({**known, **liveness.identity(), "started_unix_ns": unix_ns(), "exit_code": None, **facts}) + "\n"
    with open(os.path.join(directory, layout.RUN_FILE), "x", opener=layout.private, encoding="ascii") as file:
        file.write(text)


def _remove(directory: str) -> None:
    """Remove a run of which not even the `run.json` could be written."""
    try:
        os.unlink(os.path.join(directory, layout.RUN_FILE))
        os.rmdir(directory)
    except OSError:  # the file is not there, or the directory can't be written any more
        return


def remove_if_empty(directory: str) -> bool:
    """Remove a run directory in which nothing was recorded, and tell whether that was so."""
    if os.listdir(directory) != [layout.RUN_FILE]:
        return False
    os.unlink(os.path.join(directory, layout.RUN_FILE))
    os.rmdir(directory)
    return True


def read(directory: Path) -> dict[str, Any]:
    """Return what `run.json` says; empty where it is missing or damaged."""
    try:
        facts: object = json.loads(layout.read_file(directory / layout.RUN_FILE))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(facts, dict):
        return {}
    from opentelemetry.instrumentation.scenetest.rundir.validate import masked, well_formed

    return masked(well_formed(cast("dict[str, Any]", facts)))


class HeldRunFile:
    """Holds the lock on the `run.json` of a run, by which others know that the run goes on.

    Args:
        directory: the run directory.

    Raises:
        OSError: the file can't be opened.
    """

    def __init__(self, directory: str) -> None:
        self._path = os.path.join(directory, layout.RUN_FILE)
        self._descriptor = os.open(self._path, os.O_RDWR)
        liveness.try_lock(self._descriptor)

    def update(self, **facts: object) -> None:
        """Add facts to the file. At every moment there is a whole file, and it is locked.

        Raises:
            OSError: it can't be written; the file is then what it was.
        """
        known = json.loads(os.pread(self._descriptor, os.fstat(self._descriptor).st_size, 0))
        data = (json.dumps({**known, **facts}) + "\n").encode("ascii")
        draft = f"{self._path}.new"
        descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_TRUNC, layout.FILE_MODE)
        try:
            if os.write(descriptor, data) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), draft)
            liveness.try_lock(descriptor)
            os.rename(draft, self._path)
        except OSError:
            os.close(descriptor)
            os.unlink(draft)
            raise
        os.close(self._descriptor)
        self._descriptor = descriptor

    def release(self) -> None:
        """Free the lock: the run has ended."""
        os.close(self._descriptor)


def script_of_process() -> str:
    """Return the name by which people know this process: that of its script or module."""
    script = sys.argv[0] if sys.argv else ""
    name = os.path.basename(script)
    # Of `python -m pytest`, which is a package, the script is pytest/__main__.py.
    return (os.path.basename(os.path.dirname(script)) if name == "__main__.py" else name) or "python"


def _script(command: Sequence[str]) -> str:
    """Return the name by which people know a command: that of its script or module."""
    for word in command:
        if word.endswith(".py"):
            return os.path.basename(word).removesuffix(".py")
    if "-m" in command[1:-1] and os.path.basename(command[0]).startswith("python"):
        return command[command.index("-m", 1) + 1]
    return os.path.basename(command[0]) if command and command[0] else "python"

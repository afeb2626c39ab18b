"""The journal: the append-only file in which a measured process records what it measured.

One file per process, JSON Lines, mode 0600 in a directory of mode 0700. Every line stands alone; a torn last line is
expected. The page cache keeps what was written when the process dies. All times are `CLOCK_MONOTONIC` nanoseconds; the
`process` line anchors them to the wall clock once.

Line kinds, by their `kind`:

- `process`: who writes, with the conditions known when the file was opened. The first line.
- `conditions`: the whole set of conditions, when it changed. It holds for the dispatches opened after it.
- `open`: a `span` (`case`, `phase`, `dispatch` or `process`) began: `id`, `trace`, `parent`, `at`, names, `attributes`.
- `close`: the span `id` ended: `start`, `end`, `outcome`, perhaps `error` and more `attributes`.
- `end`: the process ended cleanly.

A writer holds a POSIX lock on its file for as long as it lives: not inherited by fork, freed by exit, exec and SIGKILL.
Whoever finds the lock free knows that nothing more will be written.
"""

from __future__ import annotations

import errno
import fcntl
import os
from time import strftime, time_ns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

SCHEMA = 1
"""Version of the line format and of the table of conditions, in every `process` line."""

SUFFIX = ".jsonl"
INCOMPLETE_SUFFIX = ".incomplete.jsonl"
"""A journal to which a write failed: a span without its end may have ended."""

RUN_FILE = "run.json"
"""What is known about the run as a whole: id, name, command, exit code, start."""

LOGS = "logs"
"""The folder in a run directory with logs of its processes that nobody else would have kept."""

DELIVERY_LOCK = "delivery.lock"
"""Held by the one process that delivers the run, or waits for its end to do so."""

DELIVERY_STATE = "delivery.json"
"""What the process that made the run has to know about its delivery: the `problem`, empty for none."""

RUN_VARIABLE = "SCENETEST_OTEL_RUN"
"""The environment variable with the run directory: set by whoever makes the run, for all processes below."""

STORE_VARIABLE = "SCENETEST_OTEL_DIR"
"""The environment variable with the store, the directory that holds runs."""

DIRECTORY_MODE = 0o700
FILE_MODE = 0o600

_NO_LOCKS = frozenset({errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL})


_FIRST_DESCRIPTOR = 250
_CLOSED = -1
"""The journal was closed by the program: its number may be that of another file at any time."""


class Writer:
    """Appends lines to a new journal in a run directory and holds its lock.

    Attributes:
        path: the journal's file.
        locked: whether the file system gave a lock; network mounts may not.

    Raises:
        OSError: the directory or the file can't be made.
    """

    __slots__ = ("_descriptor", "_torn", "locked", "path")

    def __init__(self, directory: str) -> None:
        os.makedirs(directory, DIRECTORY_MODE, exist_ok=True)
        self.path = os.path.join(directory, f"{os.getpid()}-{os.urandom(4).hex()}{SUFFIX}")
        self._descriptor = open_apart(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL)
        self._torn = False
        self.locked = try_lock(self._descriptor)

    def write(self, line: bytes) -> None:
        """Append one line by one `write(2)`.

        Args:
            line: ASCII, with its newline.

        Raises:
            OSError: it could not be written whole. The file is then marked incomplete by its name, since that needs
                no space, and the next line starts on a line of its own.
        """
        if self._torn:
            line = b"\n" + line
        try:
            written = os.write(self._descriptor, line)
        except OSError as error:
            if error.errno == errno.EBADF:
                self._descriptor = _CLOSED
            self._mark_incomplete()
            raise
        if written != len(line):
            self._torn = True
            self._mark_incomplete()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self.path)
        self._torn = False

    def close(self) -> None:
        """Close the file and free its lock. In a forked child this closes the inherited descriptor only."""
        if self._descriptor != _CLOSED:
            os.close(self._descriptor)

    def _mark_incomplete(self) -> None:
        if self.path.endswith(INCOMPLETE_SUFFIX):
            return
        renamed = self.path.removesuffix(SUFFIX) + INCOMPLETE_SUFFIX
        os.rename(self.path, renamed)
        self.path = renamed


def open_apart(path: str, flags: int) -> int:
    """Open a file that nobody else may read, with a number that no file of the program's own is likely to get.

    Where a process has closed a standard stream, a file gets its number, and what a native library prints lands in the
    file. Where a program closes all files and opens its own, one of these gets ours, and our lines would land in it.

    Raises:
        OSError: it can't be opened.
    """
    descriptor = os.open(path, flags, FILE_MODE)
    try:
        apart = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _FIRST_DESCRIPTOR)
    except OSError:  # the process may not have as many
        if descriptor > 2:
            return descriptor
        apart = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(descriptor)
    return apart


def try_lock(descriptor: int) -> bool:
    """Take the POSIX lock on a file for this process.

    Args:
        descriptor: the open file. Closing any descriptor of the same file in this process frees the lock.

    Returns:
        Whether this process holds the lock now.
    """
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def is_held(path: str | os.PathLike[str]) -> bool | None:
    """Tell whether another living process holds the lock on a file.

    Args:
        path: the file; not one that this process has locked itself.

    Returns:
        True while its writer lives, False when nobody holds it, None where the file system has no locks.

    Raises:
        OSError: the file can't be opened.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _NO_LOCKS:
            return None
        return True
    finally:
        os.close(descriptor)
    return False


def start_ticks(pid: int) -> int | None:
    """Return when a process started, in clock ticks since boot: field 22 of /proc/<pid>/stat. None if it is dead.

    With its pid it names a process where there are no locks to tell whether it lives.
    """
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        return None
    # The name in parentheses may hold anything, so count from its end.
    state, *fields = text.rpartition(")")[2].split()
    return None if state == "Z" else int(fields[18])


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
    os.makedirs(store, DIRECTORY_MODE, exist_ok=True)
    directory = os.path.join(os.path.abspath(store), name)
    number = 1
    while True:
        try:
            os.mkdir(directory, DIRECTORY_MODE)
            break
        except FileExistsError:
            number += 1
            directory = os.path.join(os.path.abspath(store), f"{name}-{number}")
    write_facts(directory, by=by, command=command, name=name, **facts)
    return directory


def write_facts(directory: str, *, by: str, command: Sequence[str], name: str, **facts: object) -> None:
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
    import json

    known = {"schema": SCHEMA, "id": os.urandom(16).hex(), "name": name, "by": by, "command": list(command)}
    maker = {"host": os.uname().nodename, "pid": os.getpid(), "start_ticks": start_ticks(os.getpid())}
    text = json.dumps({**known, **maker, "started_unix_ns": time_ns(), "exit_code": None, **facts}) + "\n"
    with open(os.path.join(directory, RUN_FILE), "x", opener=private, encoding="ascii") as file:
        file.write(text)


def remove_if_empty(directory: str) -> bool:
    """Remove a run directory in which nothing was recorded, and tell whether that was so."""
    if os.listdir(directory) != [RUN_FILE]:
        return False
    os.unlink(os.path.join(directory, RUN_FILE))
    os.rmdir(directory)
    return True


def state_store() -> str | None:
    """Return the store of `instrument()` on its own: `${XDG_STATE_HOME:-~/.local/state}/scenetest-otel`.

    None for a user without a home directory, as in some containers.
    """
    state = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return None if state.startswith("~") else os.path.join(state, "scenetest-otel")


def _script(command: Sequence[str]) -> str:
    """Return the name by which people know a command: that of its script or module."""
    for word in command:
        if word.endswith(".py"):
            return os.path.basename(word).removesuffix(".py")
    return os.path.basename(command[0]) if command and command[0] else "python"


def private(path: str, flags: int) -> int:
    """Open a file that nobody else may read: an `opener` of `open()`."""
    return os.open(path, flags, FILE_MODE)

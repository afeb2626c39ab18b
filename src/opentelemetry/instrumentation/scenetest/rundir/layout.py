"""Which files are in a run directory, and which environment variables name one.

The watcher loads this file by its path into a bare interpreter: it imports the standard library only.

A run directory holds:

- `run.json`: the run as a whole;
- `<pid>-<random>.jsonl`: a journal for each process that was measured;
- `<journal>.ack`: how much of a journal was delivered;
- `stdout.log`, `stderr.log`, `logs/`: what its processes printed;
- `delivery.lock`, `delivery.json`, `delivery.txt`: who delivers the run, how that ended, and its messages;
- `push.lock`: who wants to deliver it instead;
- `delivery.later`: `ab` delivers the run when nothing is measured any more.
"""

from __future__ import annotations

import errno
import glob
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = 2
"""Version of the journal's lines and of the table of conditions, in every `process` line."""

JOURNAL_SUFFIX = ".jsonl"
INCOMPLETE_SUFFIX = ".incomplete.jsonl"
"""A journal to which a write failed. A span without its end may have ended."""

CHECKPOINT_SUFFIX = ".ack"

RUN_FILE = "run.json"

LOGS = "logs"
"""The folder with logs of processes that nobody else would have kept."""

STDOUT_LOG, STDERR_LOG = "stdout.log", "stderr.log"
"""What the command of the run printed."""

DELIVERY_LOCK = "delivery.lock"
"""Held by the one process that delivers the run, or waits for its end to do so."""

PUSH_LOCK = "push.lock"
"""Held by a `push`. A delivery in the background then ends."""

DELIVERY_LATER = "delivery.later"
"""There while `ab` measures other runs, which a delivery in the background would disturb. Nobody starts one."""

DELIVERY_STATE = "delivery.json"
"""How the delivery ended, for the process that made the run."""

DELIVERY_LOG = "delivery.txt"
"""Messages of the process that delivers."""

RUN_VARIABLE = "SCENETEST_OTEL_RUN"
"""The environment variable with the run directory, set for all processes below the one that makes the run."""

STORE_VARIABLE = "SCENETEST_OTEL_DIR"
"""The environment variable with the store, the directory that holds runs."""

LOCAL_STORE = "scenetest-runs"
"""The default store of `scenetest-otel run`, in the working directory."""

_LARGEST = 1 << 24

DIRECTORY_MODE = 0o700
FILE_MODE = 0o600


def journal_names(directory: str | Path) -> list[str]:
    """Return the names of all journals of a run, sorted. They are regular files, or links to one.

    Raises:
        OSError: the directory can't be read.
    """
    with os.scandir(directory) as entries:
        # A pipe or a device of this name would never end.
        return sorted(entry.name for entry in entries if is_journal(entry.name) and entry.is_file())


def journals(directory: Path) -> list[Path]:
    """Return the journals of a run, sorted; none where the directory can't be read."""
    try:
        return [directory / name for name in journal_names(directory)]
    except OSError:
        return []


def is_journal(name: str) -> bool:
    """Tell whether a file of this name is a journal."""
    return name.endswith(JOURNAL_SUFFIX)


def checkpoints(directory: str) -> list[str]:
    """Return the paths of all checkpoints of a run."""
    return glob.glob(os.path.join(glob.escape(directory), f"*{CHECKPOINT_SUFFIX}"))


def state_store() -> str | None:
    """Return the store of `instrument()` on its own: `${XDG_STATE_HOME:-~/.local/state}/scenetest-otel`.

    None for a user without a home directory, as in some containers.
    """
    state = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return None if state.startswith("~") else os.path.join(state, "scenetest-otel")


def read_file(path: str | Path) -> bytes:
    """Return the content of a small regular file, without waiting for anything.

    Raises:
        OSError: it can't be read, is no regular file or is larger than any that is written here.
    """
    with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", str(path))
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
    return content


def private(path: str, flags: int) -> int:
    """Open a file that nobody else may read: an `opener` of `open()`."""
    return os.open(path, flags, FILE_MODE)

"""Whether the process that writes a file of a run still lives.

A writer locks its file for as long as it lives. The lock belongs to the open file description (`F_OFD_SETLK` of
fcntl(2)). Exit, exec and SIGKILL free it within a millisecond. Unlike a POSIX lock it stays when the process opens and
closes the file a second time, as a program does that reads its own run directory. Where the file system has no locks,
as on some network mounts, a writer is known by the pid, start time, host and boot in the first line of its file.

The watcher loads this file by its path into a bare interpreter: it imports the standard library only.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import struct
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, cast
else:

    def cast(_: object, value: object) -> object:
        """Stand in for `typing.cast`: the watcher does without that import."""
        return value


_NO_LOCKS = frozenset({errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL})
_FLOCK = struct.Struct("hhqqi4x")
"""`struct flock`: type, whence, start, length, pid. Length 0 is the whole file."""

_LONGEST_LINE = 1 << 20
_POLL_SECONDS = 0.5
_MAKING_SECONDS = 10


def try_lock(descriptor: int) -> bool:
    """Lock a file for as long as its open file description lives.

    Args:
        descriptor: the file, open for writing.

    Returns:
        Whether it is locked by this description now.
    """
    try:
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, _lock(fcntl.F_WRLCK))
    except OSError:
        return False
    return True


def has_locks(descriptor: int) -> bool:
    """Tell whether the file system of an open file has locks."""
    try:
        fcntl.fcntl(descriptor, fcntl.F_OFD_GETLK, _lock(fcntl.F_RDLCK))
    except OSError as error:
        return error.errno not in _NO_LOCKS
    return True


def is_locked(path: str | os.PathLike[str]) -> bool | None:
    """Tell whether anyone locks a file.

    Args:
        path: the file. It only has to be readable.

    Returns:
        True while its writer lives, False when nobody locks it, None where the file system has no locks.

    Raises:
        OSError: the file can't be opened.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        found = fcntl.fcntl(descriptor, fcntl.F_OFD_GETLK, _lock(fcntl.F_RDLCK))
    except OSError as error:
        if error.errno in _NO_LOCKS:
            return None
        raise
    finally:
        os.close(descriptor)
    return _FLOCK.unpack(found)[0] != fcntl.F_UNLCK


def is_written(path: str | os.PathLike[str]) -> bool:
    """Tell whether the writer of a file lives: by its lock, else by what the first line says of it.

    Raises:
        OSError: the file can't be opened.
    """
    locked = is_locked(path)
    return is_alive(_first_line(path)) if locked is None else locked


def claim(path: str) -> int | None:
    """Take a role that one process at a time may have, by a file that names it.

    The role outlives `exec` if the descriptor is inheritable: the program that follows claims it again and succeeds.

    Args:
        path: the file; made if it is missing.

    Returns:
        The descriptor that holds the role, to be given to `give_up`; None where another living process has it.

    Raises:
        OSError: the file can't be opened.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    holder, ours = _first_line(path), identity()
    if has_locks(descriptor):
        free = try_lock(descriptor) or _is_open_twice(descriptor)
    else:
        free = holder == ours or not is_alive(holder)
    if not free:
        os.close(descriptor)
        return None
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(ours).encode("ascii") + b"\n", 0)
    except OSError as error:
        # A full disk. The lock is enough where there are locks.
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
    return descriptor


def _is_open_twice(descriptor: int) -> bool:
    """Tell whether this process has the file of a descriptor open by another one: its claim from before an exec."""
    file = os.fstat(descriptor)
    for name in os.listdir("/proc/self/fd"):
        if int(name) != descriptor:
            try:
                other = os.fstat(int(name))
            except OSError:  # the descriptor of this listing
                continue
            if (other.st_dev, other.st_ino) == (file.st_dev, file.st_ino):
                return True
    return False


def give_up(descriptor: int) -> None:
    """Give up the role that a descriptor holds."""
    os.ftruncate(descriptor, 0)
    os.close(descriptor)


def identity() -> dict[str, Any]:
    """Return what names this process for `is_alive`."""
    pid = os.getpid()
    return {"pid": pid, "start_ticks": start_ticks(pid), "host": os.uname().nodename, "boot_id": boot_id()}


def is_alive(writer: Mapping[str, Any]) -> bool:
    """Tell whether a process lives on this host and boot.

    Args:
        writer: its `pid`, `start_ticks`, `host` and `boot_id`, as recorded. Without `boot_id` the boot is not compared.
    """
    pid, started = writer.get("pid"), writer.get("start_ticks")
    if not isinstance(pid, int) or not isinstance(started, int) or writer.get("host") != os.uname().nodename:
        return False
    return writer.get("boot_id", boot_id()) == boot_id() and start_ticks(pid) == started


def boot_id() -> str:
    """Return the id of this boot of the kernel; empty where it is not told."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def start_ticks(pid: int) -> int | None:
    """Return when a process started, in clock ticks since boot: field 22 of /proc/<pid>/stat. None if it is dead."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        return None
    # The name in parentheses may hold anything, so count from its end.
    state, *fields = text.rpartition(")")[2].split()
    return None if state == "Z" else int(fields[18])


def begun_since(
    run_file: str, moment: int, journals: Callable[[str], Sequence[object]], settled: set[str]
) -> str | None:
    """Return the `run.json` of a run that began after a moment and is still measured; None if there is none.

    A run in which nobody has recorded anything yet does not count: it may be a program that never measures.

    Args:
        run_file: the `run.json` of another run. All runs of its store are looked at.
        moment: Unix nanoseconds.
        journals: tells the journals of a run directory.
        settled: names of runs that need no further look. Those are added that have ended, or began before.
    """
    own, name = os.path.split(run_file)
    store, own_name = os.path.split(own)
    try:
        with os.scandir(store) as entries:
            runs = [entry.name for entry in entries if entry.name not in settled]
    except OSError:
        return None
    for run in runs:
        path = os.path.join(store, run, name)
        try:
            written, age = is_written(path), time.time() - os.stat(path).st_mtime
        except OSError:  # no run, or one that is being made
            continue
        began = _first_line(path).get("started_unix_ns")
        if written and run != own_name and isinstance(began, int) and began > moment:
            if journals(os.path.join(store, run)):
                return path
            continue
        # A run is made before it is locked.
        if written or age > _MAKING_SECONDS:
            settled.add(run)
    return None


def wait_until_written(path: str) -> None:
    """Return when nobody writes a file any more, nor one that has replaced it.

    It waits in the kernel. Only where there are no locks it looks twice a second.
    """
    while True:
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError:
            return
        try:
            fcntl.fcntl(descriptor, fcntl.F_OFD_SETLKW, _lock(fcntl.F_RDLCK))
            if os.stat(path).st_ino == os.fstat(descriptor).st_ino:
                return
        except OSError as error:
            if error.errno in _NO_LOCKS:
                while is_alive(_first_line(path)):
                    time.sleep(_POLL_SECONDS)
            return
        finally:
            os.close(descriptor)


def _first_line(path: str | os.PathLike[str]) -> Mapping[str, Any]:
    try:
        with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
            found: object = json.loads(file.readline(_LONGEST_LINE))
    except (OSError, ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _lock(kind: int) -> bytes:
    return _FLOCK.pack(kind, os.SEEK_SET, 0, 0, 0)

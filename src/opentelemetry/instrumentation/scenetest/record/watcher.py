"""Waits for the end of a run, then becomes the process that delivers it.

A script for a bare interpreter (`-I -S`, 10 ms to start): standard library only, nothing of this package is imported.
It waits in the kernel, on the locks that the processes of the run hold on their files, and costs nothing until then.

Usage: watcher.py DIRECTORY SECONDS [again]

SECONDS is for how long processes may outlive the one that made the run before the rest of it is delivered; with 0 all
of them are waited for.
"""

from __future__ import annotations

import errno
import fcntl
import glob
import os
import signal
import sys
import time

RUN_FILE, LOCK, LOG, JOURNALS = "run.json", "delivery.lock", "delivery.txt", "*.jsonl"
NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)
POLL_SECONDS = 0.5
DELIVERER = "opentelemetry.instrumentation.scenetest.deliver"


class _Late(Exception):  # noqa: N818
    pass


def main() -> None:
    """Wait in a process of its own, and deliver; leave at once where somebody else already does that."""
    directory, seconds, *again = sys.argv[1:]
    # A starter that blocks all signals would take away the alarm, and the way to end this.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    if not _hold_delivery(directory) if again else not _fork_and_hold_delivery(directory):
        return
    _wait_for(os.path.join(directory, RUN_FILE))
    late = _wait_for_journals(directory, float(seconds))
    if not _journals(directory):
        return
    log = os.open(os.path.join(directory, LOG), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, 2)
    os.execv(sys.executable, [sys.executable, "-m", DELIVERER, directory, *late])


def _fork_and_hold_delivery(directory: str) -> bool:
    """Take the lock in a child that nobody has to wait for; whoever waits for its starter knows that it is taken."""
    told, tell = os.pipe()
    if os.fork():
        os.close(tell)
        os.read(told, 1)
        os._exit(0)
    os.close(told)
    held = _hold_delivery(directory)
    os.close(tell)
    return held


def _hold_delivery(directory: str) -> bool:
    """Take the lock of which there is one for a run, so that nobody else delivers it."""
    path = os.path.join(directory, LOCK)
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno in NO_LOCKS and _is_first(f"{path}.taken")
    # A lock outlives exec for as long as its file stays open.
    os.set_inheritable(descriptor, True)
    return True


def _is_first(path: str) -> bool:
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))
    except OSError:
        return False
    return True


def _wait_for_journals(directory: str, seconds: float) -> list[str]:
    """Return when no process of the run lives, or with a word when its stragglers have had their time."""

    def late(*_: object) -> None:
        raise _Late

    signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        seen: list[str] = []
        while (found := _journals(directory)) != seen:
            for path in found:
                _wait_for(path)
            seen = found
        return []
    except _Late:
        return ["late"]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _journals(directory: str) -> list[str]:
    return sorted(glob.glob(os.path.join(glob.escape(directory), JOURNALS)))


def _wait_for(path: str) -> None:
    """Return when nobody holds the lock on a file, and it has not been replaced by one that somebody holds."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_SH)
        replaced = os.stat(path).st_ino != os.fstat(descriptor).st_ino
    except OSError as error:
        replaced = False
        if error.errno in NO_LOCKS:
            _wait_for_writer(path)
    finally:
        os.close(descriptor)
    if replaced:
        _wait_for(path)


def _wait_for_writer(path: str) -> None:
    """Return when the process that a file names is gone: the way where the file system has no locks."""
    import json

    try:
        with open(path, "rb") as file:
            facts = json.loads(file.readline())
        while _start_ticks(facts["pid"]) == facts["start_ticks"]:
            time.sleep(POLL_SECONDS)
    except (OSError, ValueError, KeyError):
        return


def _start_ticks(pid: int) -> int | None:
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        state, *fields = file.read().rpartition(")")[2].split()
    return None if state == "Z" else int(fields[18])


if __name__ == "__main__":
    main()

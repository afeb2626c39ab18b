"""Waits for the end of a run, then becomes the process that delivers it.

A script for a bare interpreter (`-I -S`, 10 ms to start): standard library only, nothing of this package is imported.
It waits in the kernel, on the locks that the processes of the run hold on their files, and costs nothing until then.

Usage: watcher.py DIRECTORY SECONDS [again]

SECONDS is for how long processes may outlive the one that made the run before the rest of it is delivered; with 0 all
of them are waited for.
"""

from __future__ import annotations

import fcntl
import glob
import os
import signal
import sys

RUN_FILE, LOCK, LOG, JOURNALS = "run.json", "delivery.lock", "delivery.txt", "*.jsonl"
DELIVERER = "opentelemetry.instrumentation.scenetest.deliver"


class _Late(Exception):  # noqa: N818
    pass


def main() -> None:
    """Let the starter go, wait, and deliver; leave at once where somebody else already does that."""
    directory, seconds, *again = sys.argv[1:]
    if not again and os.fork():
        os._exit(0)
    if not _hold_delivery(directory):
        return
    _wait_for(os.path.join(directory, RUN_FILE))
    _wait_for_journals(directory, float(seconds))
    log = os.open(os.path.join(directory, LOG), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, 2)
    os.execv(sys.executable, [sys.executable, "-m", DELIVERER, directory])


def _hold_delivery(directory: str) -> bool:
    """Take the lock of which there is one for a run, so that nobody else delivers it."""
    try:
        descriptor = os.open(os.path.join(directory, LOCK), os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    # A lock outlives exec for as long as its file stays open.
    os.set_inheritable(descriptor, True)
    return True


def _wait_for_journals(directory: str, seconds: float) -> None:
    """Return when no process of the run lives, or its stragglers have had their time."""

    def late(*_: object) -> None:
        raise _Late

    signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        seen: list[str] = []
        while (found := sorted(glob.glob(os.path.join(glob.escape(directory), JOURNALS)))) != seen:
            for path in found:
                _wait_for(path)
            seen = found
    except _Late:
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _wait_for(path: str) -> None:
    """Return when nobody holds the lock on a file; at once where it is gone or has no locks."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_SH)
        replaced = os.stat(path).st_ino != os.fstat(descriptor).st_ino
    except OSError:
        replaced = False
    finally:
        os.close(descriptor)
    if replaced:
        _wait_for(path)


if __name__ == "__main__":
    main()

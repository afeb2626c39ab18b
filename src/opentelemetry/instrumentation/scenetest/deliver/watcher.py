"""Waits for the end of a run, then becomes the process that delivers it.

A bare interpreter (`-I -S`) runs this file: it starts in 10 ms and waits in the kernel, at no cost. So it imports only
the standard library, and two files of this package by their paths, which import only the standard library as well.

Usage: watcher.py DIRECTORY SECONDS [again [MOMENT]]

SECONDS is how long to wait for processes that outlive the one that made the run, before the rest is delivered; with 0
there is no limit. MOMENT is when the run ended, in Unix nanoseconds: it also waits for runs of the same store that
began later. The default is the time at which no process of the run measures any more.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from importlib.util import module_from_spec, spec_from_file_location

TYPE_CHECKING = False
if TYPE_CHECKING:
    from opentelemetry.instrumentation.scenetest.rundir import layout, liveness
else:

    def _load(name: str) -> object:
        folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        spec = spec_from_file_location(name, os.path.join(folder, "rundir", f"{name}.py"))
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    layout, liveness = _load("layout"), _load("liveness")

DELIVERER = "opentelemetry.instrumentation.scenetest.deliver"


class _Late(Exception):  # noqa: N818
    pass


def main() -> None:
    """Wait in a process of its own, and deliver; leave at once where another process already does that."""
    directory, seconds, *more = sys.argv[1:]
    again, moment = more[:1], more[1:]
    # A starter that blocks all signals would take away the alarm, and the way to end this.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    if not _claim(directory) if again else not _fork_and_claim(directory):
        return
    run_file = os.path.join(directory, layout.RUN_FILE)
    liveness.wait_until_written(run_file)
    late = _wait_for_journals(directory, float(seconds))
    if not _journals(directory):
        return
    ended = int(moment[0]) if moment else time.time_ns()
    settled: set[str] = set()
    while other := liveness.begun_since(run_file, ended, _journals, settled):
        liveness.wait_until_written(other)
    log = os.open(os.path.join(directory, layout.DELIVERY_LOG), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, 2)
    os.execv(sys.executable, [sys.executable, "-m", DELIVERER, directory, str(ended), *late])


def _fork_and_claim(directory: str) -> bool:
    """Claim the delivery in a child that nobody has to wait for. When its starter ends, the claim is made."""
    told, tell = os.pipe()
    if os.fork():
        os.close(tell)
        os.read(told, 1)
        os._exit(0)
    os.close(told)
    claimed = _claim(directory)
    os.close(tell)
    return claimed


def _claim(directory: str) -> bool:
    """Claim the delivery of a run, so that nobody else delivers it. The claim outlives exec."""
    try:
        descriptor = liveness.claim(os.path.join(directory, layout.DELIVERY_LOCK))
    except OSError:
        return False
    if descriptor is None:
        return False
    os.set_inheritable(descriptor, True)
    return True


def _wait_for_journals(directory: str, seconds: float) -> list[str]:
    """Wait until no process of the run lives; return `["late"]` if some still lived when the time was over."""

    def late(*_: object) -> None:
        raise _Late

    signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        seen: list[str] = []
        while (found := _journals(directory)) != seen:
            for name in found:
                liveness.wait_until_written(os.path.join(directory, name))
            seen = found
        return []
    except _Late:
        return ["late"]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _journals(directory: str) -> list[str]:
    try:
        return layout.journal_names(directory)
    except OSError:
        return []


if __name__ == "__main__":
    main()

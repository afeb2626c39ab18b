"""Measures the duration that an empty dispatch is recorded with, before the first dispatch of this process.

A difference smaller than this can come from the instrumentation. The empty dispatches take the same path as real ones,
but are written to a scratch journal, which is deleted.
"""

from __future__ import annotations

import os

from opentelemetry.instrumentation.scenetest.clock import monotonic_ns, thread_ns
from opentelemetry.instrumentation.scenetest.conditions.overhead import P50, P99
from opentelemetry.instrumentation.scenetest.record import autoload, recorder, session
from opentelemetry.instrumentation.scenetest.rundir import writer
from opentelemetry.instrumentation.scenetest.traceparent import SAMPLED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from opentelemetry.instrumentation.scenetest.conditions.values import Value

_DISPATCHES = 300
_FEWEST = 100
"""With fewer, the 99th percentile would be a guess."""
_CPU_LIMIT_NS = 4_000_000
_WALL_LIMIT_NS = 20_000_000
"""Longer than the limit of CPU time, because on a busy machine the process may wait for a CPU."""
_COLD = 20
"""Dispatches at the start that are not counted: the caches of the CPU are still cold."""


class _Scratch(session.Session):
    """A session that writes to a scratch journal, and observes no conditions."""

    __slots__ = ()

    def __init__(self, journal: writer.Scratch) -> None:
        super().__init__(None)
        self.recording, self.write = True, journal.write
        self.fingerprint = autoload.fingerprint()

    def refresh(self) -> None:
        """Do nothing: this measurement is itself part of observing the conditions."""


class _Above(recorder.OpenSpan):
    """The parent span of the empty dispatches, so that no span of the program is their parent."""

    __slots__ = ()

    def __init__(self, scratch: _Scratch) -> None:
        super().__init__()
        self.holder, self.rounds = self, session.RoundNumbers()
        self.number, self.trace, self.carried = next(scratch.ids), os.urandom(16).hex(), SAMPLED
        self.outer = recorder.innermost()
        self._begin(scratch)


class _Empty(recorder.dispatch):
    """A dispatch of the scratch session, with the same steps between its two clock reads as a real one."""

    __slots__ = ("_scratch", "reading")

    reading: int

    def __init__(self, scratch: _Scratch) -> None:
        super().__init__()
        self._scratch = scratch

    def __enter__(self) -> _Empty:
        self._open(self._scratch)
        self.start = monotonic_ns()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        end = monotonic_ns()
        self.leave()
        self.reading = end - self.start
        self._close(self._scratch, end, None)


def measure(directory: str | None) -> dict[str, Value]:
    """Return the 50th and 99th percentile of the duration of an empty dispatch, in nanoseconds.

    Args:
        directory: the run directory, to put the scratch journal on the same file system. None puts it in memory.

    Returns:
        The two conditions; empty if the time limits left too few dispatches.

    Raises:
        OSError: the scratch journal can't be created.
    """
    journal = writer.Scratch(directory)
    try:
        readings = sorted(_readings(_Scratch(journal))[_COLD:])
    finally:
        journal.close()
    return {P50: _quantile(readings, 50), P99: _quantile(readings, 99)} if len(readings) >= _FEWEST else {}


def _readings(scratch: _Scratch) -> list[int]:
    found: list[int] = []
    cpu, wall = thread_ns() + _CPU_LIMIT_NS, monotonic_ns() + _WALL_LIMIT_NS
    above = _Above(scratch)
    try:
        while len(found) < _COLD + _DISPATCHES and thread_ns() < cpu and monotonic_ns() < wall:
            with _Empty(scratch) as empty:
                pass
            found.append(empty.reading)
    finally:
        above.leave()
    return found


def _quantile(ascending: Sequence[int], percent: int) -> int:
    return ascending[len(ascending) * percent // 100]

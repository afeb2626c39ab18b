"""What an empty dispatch of this process reads as, measured before its first dispatch.

It is the width of the ruler: a difference below it comes from the instrumentation. The dispatches are recorded as all
others are, but to a scratch journal that nobody sees.
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
"""Of fewer the 99th percentile is a guess."""
_CPU_LIMIT_NS = 4_000_000
_WALL_LIMIT_NS = 20_000_000
"""Longer than the limit of CPU time: on a busy machine the process may have to wait for a CPU."""
_COLD = 20
"""Dispatches at the start that are left out: the code is new to the CPU."""


class _Scratch(session.Session):
    """Records to a scratch journal, and looks at nothing."""

    __slots__ = ()

    def __init__(self, journal: writer.Scratch) -> None:
        super().__init__(None)
        self.recording, self.write = True, journal.write
        self.fingerprint = autoload.fingerprint()

    def refresh(self) -> None:
        """Do nothing: this is part of a look at the conditions."""


class _Above(recorder.OpenSpan):
    """Stands above the empty dispatches, so that nothing of the program's own is above them."""

    __slots__ = ()

    def __init__(self, scratch: _Scratch) -> None:
        super().__init__()
        self.holder, self.rounds = self, session.RoundNumbers()
        self.number, self.trace, self.carried = next(scratch.ids), os.urandom(16).hex(), SAMPLED
        self.outer = recorder.innermost()
        self._begin(scratch)


class _Empty(recorder.dispatch):
    """A dispatch of a scratch session, with the same steps next to its two clock reads."""

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
    """Return what an empty dispatch reads as; nothing if there was no time to tell.

    Args:
        directory: the run directory, for a scratch journal on the same file system; without one it is in memory.

    Raises:
        OSError: there is no place for a scratch journal.
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

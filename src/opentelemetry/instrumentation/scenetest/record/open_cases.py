"""The open cases of a process, for dispatches whose own context does not say in which case they lie.

A context variable says it within a thread and in tasks. A thread begins with an empty context, and a forked child with
one of its parent's. Such a dispatch lies in the only case that is open. Where several are, it lies in none: that it
may lie in them is counted.
"""

from __future__ import annotations

import sys
from _thread import get_ident
from itertools import count

from opentelemetry.instrumentation.scenetest.conditions.case import IN_THREADS, UNASSIGNED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

    from opentelemetry.instrumentation.scenetest.record.outcomes import Noted
    from opentelemetry.instrumentation.scenetest.record.recorder import OpenSpan, case
    from opentelemetry.instrumentation.scenetest.record.session import Session


class _Opened:
    """What is known of an open case beside itself.

    Attributes:
        thread: the thread that opened it.
        noted: how a test failed or was skipped that ran inside. The first error counts.
        passed: whether one passed.
        counted: counts dispatches by the attribute that tells their number.
    """

    __slots__ = ("counted", "noted", "passed", "thread")

    def __init__(self) -> None:
        self.thread = get_ident()
        self.noted: Noted | None = None
        self.passed = False
        self.counted: dict[str, count[int]] = {}


class OpenCases:
    """The open cases of one session.

    Attributes:
        inherited: the case of the parent process that this session has written to its journal.
    """

    def __init__(self) -> None:
        self.inherited: case | None = None
        self._opened: dict[case, _Opened] = {}

    def add(self, opened: case) -> None:
        """Take a case that this thread opens."""
        self._opened[opened] = _Opened()

    def give(self, opened: case, thread: int) -> None:
        """Have a case be that of another thread than the one that opened it."""
        if (known := self._opened.get(opened)) is not None:
            known.thread = thread

    def remove(self, closed: case) -> tuple[Noted | None, dict[str, int]]:
        """Forget a case. Return how a test inside it ended, and as attributes what other threads dispatched."""
        known = self._opened.pop(closed, None) or _Opened()
        noted = None if known.passed and known.noted is not None and known.noted.outcome == "skipped" else known.noted
        return noted, {name: next(numbers) for name, numbers in known.counted.items()}

    def note(self, ending: Noted | None, but_not: Container[case]) -> None:
        """Note how a test of this thread ended in the cases that the thread has opened."""
        for each, known in list(self._opened.items()):
            if known.thread == get_ident() and each not in but_not:
                known.passed = known.passed or ending is None
                if ending is not None and (known.noted is None or known.noted.outcome == "skipped"):
                    known.noted = ending

    def all(self) -> frozenset[case]:
        """Return the open cases."""
        return frozenset(self._opened)

    def only(self, session: Session) -> case | None:
        """Return the case that was open at a fork, in the child; None if there were several."""
        opened = [each for each in self._opened if each.session is session]
        return opened[0] if len(opened) == 1 else None

    def of_other_threads(self) -> list[case]:
        """Return the cases in which a dispatch of this thread may lie, though its context names none.

        None for the main thread, which works for nobody else, and for a thread with a case of its own.
        """
        opened, here = list(self._opened.items()), get_ident()
        main_thread = getattr(sys.modules.get("threading"), "main_thread", None)
        if not opened or main_thread is None or main_thread().ident == here:
            return []
        return [] if any(known.thread == here for _, known in opened) else [each for each, _ in opened]

    def count(self, name: str, cases: list[case]) -> None:
        """Count a dispatch for each of these cases."""
        for each in cases:
            if (known := self._opened.get(each)) is not None:
                next(known.counted.setdefault(name, count()))


def around(recording: Session, innermost: OpenSpan | None) -> case | None:
    """Return the case that a dispatch or phase lies in which has no span around it in its context.

    Args:
        recording: the session of this process.
        innermost: the span that its context names, which has ended or is of the parent process.
    """
    candidates = recording.cases.of_other_threads()
    if candidates:
        found = candidates[0] if len(candidates) == 1 else None
        recording.cases.count(UNASSIGNED if found is None else IN_THREADS, candidates)
        return found
    inherited = _inherited(recording, innermost) if recording.forked_from else None
    if inherited is not None and recording.cases.inherited is not inherited:
        from opentelemetry.instrumentation.scenetest.rundir import lines

        mark = inherited.live.mark if inherited.live is not None else inherited.carried.fields()
        names = {"suite": lines.text(inherited.suite), "name": lines.text(inherited.name)}
        recording.take_over(inherited, attributes=inherited.attributes, **names, **mark)
    return inherited


def _inherited(recording: Session, innermost: OpenSpan | None) -> case | None:
    """Return the case of a parent process in which this process was forked."""
    for session in recording.forked_from:
        span = innermost
        while span is not None and not (
            span.session is session and span.holder is span and span in session.cases.all()
        ):
            span = span.outer
        if span is not None:
            return span  # type: ignore[return-value]
        if session.cases.all():
            return session.cases.only(session)
    return None

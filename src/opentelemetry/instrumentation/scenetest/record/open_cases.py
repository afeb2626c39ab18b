"""The open cases of a process. It finds the case of a dispatch whose context names none.

Within a thread and its tasks, a context variable holds the case. A new thread begins with an empty context, and a
forked child with the context of its parent. There, a dispatch belongs to the only open case. If several cases are open,
it belongs to none, and each of them counts it as a dispatch that may be its own.
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
    """State of one open case.

    Attributes:
        thread: identifier of the thread that it belongs to.
        noted: how a test inside it failed or was skipped. The first failure is kept.
        passed: whether a test inside it passed.
        counted: counters of dispatches, by the name of the attribute that they become.
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
        inherited: the case of the parent process that this session wrote to its own journal.
    """

    def __init__(self) -> None:
        self.inherited: case | None = None
        self._opened: dict[case, _Opened] = {}

    def add(self, opened: case) -> None:
        """Add a case that this thread opens."""
        self._opened[opened] = _Opened()

    def give(self, opened: case, thread: int) -> None:
        """Assign a case to another thread, given by its identifier."""
        if (known := self._opened.get(opened)) is not None:
            known.thread = thread

    def remove(self, closed: case) -> tuple[Noted | None, dict[str, int]]:
        """Remove a case.

        Returns:
            How a test inside it failed or was skipped, and the counts of dispatches of other threads, as attributes.
        """
        known = self._opened.pop(closed, None) or _Opened()
        noted = None if known.passed and known.noted is not None and known.noted.outcome == "skipped" else known.noted
        return noted, {name: next(numbers) for name, numbers in known.counted.items()}

    def note(self, ending: Noted | None, but_not: Container[case]) -> None:
        """Note how a test of this thread ended, in each case of this thread.

        Args:
            ending: how it failed or was skipped; None if it passed.
            but_not: cases that the test doesn't belong to.
        """
        for each, known in list(self._opened.items()):
            if known.thread == get_ident() and each not in but_not:
                known.passed = known.passed or ending is None
                if ending is not None and (known.noted is None or known.noted.outcome == "skipped"):
                    known.noted = ending

    def all(self) -> frozenset[case]:
        """Return the open cases."""
        return frozenset(self._opened)

    def only(self, session: Session) -> case | None:
        """Return the only open case of a session; None if there are several or none."""
        opened = [each for each in self._opened if each.session is session]
        return opened[0] if len(opened) == 1 else None

    def of_other_threads(self) -> list[case]:
        """Return the cases of other threads that a dispatch of this thread may belong to.

        Empty for the main thread, which doesn't work for other threads, and for a thread that has opened a case itself.
        """
        opened, here = list(self._opened.items()), get_ident()
        main_thread = getattr(sys.modules.get("threading"), "main_thread", None)
        if not opened or main_thread is None or main_thread().ident == here:
            return []
        return [] if any(known.thread == here for _, known in opened) else [each for each, _ in opened]

    def count(self, name: str, cases: list[case]) -> None:
        """Count a dispatch for each of these cases, under the name of an attribute."""
        for each in cases:
            if (known := self._opened.get(each)) is not None:
                next(known.counted.setdefault(name, count()))


def around(recording: Session, innermost: OpenSpan | None) -> case | None:
    """Return the case of a dispatch or phase whose context holds no open span of this process.

    Args:
        recording: the session of this process.
        innermost: the span in its context, if any. It has ended or belongs to the parent process.
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

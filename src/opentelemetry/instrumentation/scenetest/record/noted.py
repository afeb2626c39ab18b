"""How tests end, noted for the cases that they run in: their exceptions need not pass through these.

A pytest fixture that holds a case around its `yield` never sees how the test ended.
"""

from __future__ import annotations

from opentelemetry.instrumentation.scenetest.clock import monotonic_ns
from opentelemetry.instrumentation.scenetest.record.session import active

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

    from opentelemetry.instrumentation.scenetest.record.recorder import case


def opened() -> frozenset[case]:
    """Return the cases that are open in this process."""
    return frozenset() if active.session is None else active.session.cases.all()


def give(opened: case, thread: int) -> None:
    """Have a case be that of another thread than the one that opened it: of the test that runs there."""
    if active.session is not None:
        active.session.cases.give(opened, thread)


def note(outcome: str, error: BaseException | None, before: Container[case]) -> None:
    """Note how a test of this thread ended in the cases that it ran in.

    Args:
        outcome: `pass`, `fail` or `skipped`.
        error: the exception of a test that failed, if there was one.
        before: the cases that have nothing to do with it.
    """
    if active.session is not None and active.session.cases.all():
        from opentelemetry.instrumentation.scenetest.record import outcomes

        ending = None if outcome == "pass" else outcomes.Noted(outcome, error, monotonic_ns())
        active.session.cases.note(ending, before)

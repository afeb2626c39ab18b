"""Notes how a test ended, for the cases around it.

The exception of a test doesn't always pass through them. For example, a pytest fixture that opens a case around its
`yield` never sees it.
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
    """Assign an open case to another thread, which runs its test.

    Args:
        opened: the case.
        thread: identifier of the thread, as `threading.get_ident()` returns it.
    """
    if active.session is not None:
        active.session.cases.give(opened, thread)


def note(outcome: str, error: BaseException | None, before: Container[case]) -> None:
    """Note how a test of this thread ended, in each case that it ran in.

    Args:
        outcome: `pass`, `fail` or `skipped`.
        error: the exception of a failed test, if there was one.
        before: the cases that were open before the test, which it doesn't belong to.
    """
    if active.session is not None and active.session.cases.all():
        from opentelemetry.instrumentation.scenetest.record import outcomes

        ending = None if outcome == "pass" else outcomes.Noted(outcome, error, monotonic_ns())
        active.session.cases.note(ending, before)

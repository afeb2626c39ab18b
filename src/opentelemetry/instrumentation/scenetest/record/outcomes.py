"""Derives the outcome of a case or dispatch from the exception that ended it."""

from __future__ import annotations

from opentelemetry.instrumentation.scenetest.rundir import lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    Ending: TypeAlias = "BaseException | type[BaseException] | Noted | None"

# _pytest/outcomes.py sets the module of Failed and Skipped to builtins, to shorten tracebacks.
_BY_NAME = {
    "builtins.AssertionError": "fail",
    "_pytest.outcomes.XFailed": "skipped",
    "builtins.Failed": "fail",
    "builtins.Skipped": "skipped",
    "unittest.case.SkipTest": "skipped",
    "builtins.GeneratorExit": "cancelled",
    "asyncio.exceptions.CancelledError": "cancelled",
}
_ERRORS = frozenset({"fail", "error"})

_FRAMES = 64
_MESSAGE_LENGTH = 4096
_STACK_LENGTH = 16384


def error_type(kind: type[BaseException]) -> str:
    """Return `error.type` as the semantic conventions ask for it: the qualified name, bare for built-ins."""
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


class Noted:
    """How a test ended, for the open cases around it: its exception doesn't pass through them.

    The exception is converted to text at once and not kept, because its frames keep objects of the program alive.

    Args:
        outcome: `fail`, `skipped` or `unknown`. For a failure with an exception, the exception decides.
        error: the exception of a failed test, if there is one.
        at: when it was seen, in monotonic nanoseconds.
    """

    __slots__ = ("at", "error_type", "exception", "outcome")

    def __init__(self, outcome: str, error: BaseException | None, at: int) -> None:
        self.outcome, self.at = outcome, at
        self.error_type: str | None = None
        self.exception: dict[str, str] | None = None
        if error is not None and outcome in _ERRORS:
            told_by_it, self.error_type = told(error)
            self.outcome = told_by_it if told_by_it in _ERRORS else outcome
            self.exception = describe(error)


def told(ending: Ending) -> tuple[str, str | None]:
    """Return the outcome, and `error.type` if it is an error.

    Exception classes are compared by name, because pytest and unittest need not be imported here. `pytest.fail` and
    `pytest.skip` raise a BaseException.

    Args:
        ending: the exception, its type if the exception itself wasn't kept, or how a test inside ended. None: no error.
    """
    if ending is None:
        return "pass", None
    if isinstance(ending, Noted):
        return ending.outcome, ending.error_type
    kind = ending if isinstance(ending, type) else type(ending)
    outcome = _outcome(ending, kind)
    return outcome, error_type(kind) if outcome in _ERRORS else None


def is_error(ending: Ending) -> bool:
    """Return whether this outcome is `fail` or `error`."""
    return told(ending)[0] in _ERRORS


def exception_event(ending: Ending, at: int) -> dict[str, object] | None:
    """Return the event `exception` of a span that ended with an error; None for other spans.

    Args:
        ending: how the span ended.
        at: when it ended, in monotonic nanoseconds.
    """
    if ending is None or not is_error(ending):
        return None
    if isinstance(ending, Noted):
        attributes, at = ending.exception, ending.at
    else:
        attributes = {"exception.type": error_type(ending)} if isinstance(ending, type) else describe(ending)
    return {"name": "exception", "at": at, "attributes": attributes} if attributes else None


def describe(error: BaseException) -> dict[str, str]:
    """Return type, message and stack trace under the names of the semantic conventions; long texts are cut."""
    import traceback

    stack = "".join(
        traceback.TracebackException(type(error), error, error.__traceback__, limit=-_FRAMES).format(chain=True)
    )
    cut = len(stack) - _STACK_LENGTH
    return {
        "exception.type": error_type(type(error)),
        "exception.message": lines.text(error)[:_MESSAGE_LENGTH],
        # Keep the end, which names the exception and its place.
        "exception.stacktrace": f"[{cut} characters cut]\n{stack[cut:]}" if cut > 0 else stack,
    }


def _outcome(ending: BaseException | type[BaseException], kind: type[BaseException]) -> str:
    if isinstance(ending, SystemExit) and ending.code in (None, 0):
        return "pass"
    for base in kind.__mro__:
        if found := _BY_NAME.get(f"{base.__module__}.{base.__qualname__}"):
            return found
    return "error"

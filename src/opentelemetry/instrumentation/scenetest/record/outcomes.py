"""How a case or dispatch ended, told from the exception that left it."""

from __future__ import annotations

from opentelemetry.instrumentation.scenetest.rundir import lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    Ending = BaseException | type[BaseException] | None

# _pytest/outcomes.py says that Failed and Skipped are of builtins, for shorter tracebacks.
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


def told(ending: Ending) -> tuple[str, type[BaseException] | None]:
    """Return the outcome, and the type of the exception where it is an error.

    By name, since pytest and unittest need not be imported here; `pytest.fail` and `pytest.skip` raise BaseExceptions.

    Args:
        ending: the exception, or its type where nobody has kept it; None for none.
    """
    if ending is None:
        return "pass", None
    kind = ending if isinstance(ending, type) else type(ending)
    outcome = _outcome(ending, kind)
    return outcome, kind if outcome in _ERRORS else None


def exception_event(ending: Ending, at: int) -> dict[str, object]:
    """Return the event `exception` of a span that an error left.

    Args:
        ending: the exception, or its type.
        at: monotonic nanoseconds.
    """
    assert ending is not None
    attributes = {"exception.type": error_type(ending)} if isinstance(ending, type) else describe(ending)
    return {"name": "exception", "at": at, "attributes": attributes}


def describe(error: BaseException) -> dict[str, str]:
    """Return type, message and stack trace, of bounded length, as the semantic conventions name them."""
    import traceback

    stack = "".join(
        traceback.TracebackException(type(error), error, error.__traceback__, limit=-_FRAMES).format(chain=True)
    )
    cut = len(stack) - _STACK_LENGTH
    return {
        "exception.type": error_type(type(error)),
        "exception.message": lines.text(error)[:_MESSAGE_LENGTH],
        # Its end says what happened, and where.
        "exception.stacktrace": f"[{cut} characters cut]\n{stack[cut:]}" if cut > 0 else stack,
    }


def _outcome(ending: BaseException | type[BaseException], kind: type[BaseException]) -> str:
    if isinstance(ending, SystemExit) and ending.code in (None, 0):
        return "pass"
    for base in kind.__mro__:
        if found := _BY_NAME.get(f"{base.__module__}.{base.__qualname__}"):
            return found
    return "error"

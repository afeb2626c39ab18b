"""How a case or dispatch ended, told from the exception that left it."""

from __future__ import annotations

# _pytest/outcomes.py says that Failed and Skipped are of builtins, for shorter tracebacks.
_BY_NAME = {
    "builtins.AssertionError": "fail",
    "_pytest.outcomes.XFailed": "skipped",
    "builtins.Failed": "fail",
    "builtins.Skipped": "skipped",
    "unittest.case.SkipTest": "skipped",
}


def error_type(kind: type[BaseException]) -> str:
    """Return `error.type` as the semantic conventions ask for it: the qualified name, bare for built-ins."""
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def outcome(kind: type[BaseException]) -> str:
    """Return `fail`, `skipped` or `error`.

    By name, since pytest and unittest need not be imported here; `pytest.fail` and `pytest.skip` raise BaseExceptions.
    """
    for base in kind.__mro__:
        if found := _BY_NAME.get(f"{base.__module__}.{base.__qualname__}"):
            return found
    return "error"

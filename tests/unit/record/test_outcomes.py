"""How a case or dispatch ended, by the exception that left it."""

from __future__ import annotations

import unittest

import pytest

from opentelemetry.instrumentation.scenetest.record.outcomes import error_type, outcome


class MismatchError(AssertionError):
    pass


class Outer:
    class InnerError(Exception):
        pass


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (ValueError, "error"),
        (KeyboardInterrupt, "error"),
        (SystemExit, "error"),
        (AssertionError, "fail"),
        (MismatchError, "fail"),
        (pytest.fail.Exception, "fail"),
        (pytest.skip.Exception, "skipped"),
        (pytest.xfail.Exception, "skipped"),
        (unittest.SkipTest, "skipped"),
    ],
)
def test_the_outcome_follows_from_the_exception(kind: type[BaseException], expected: str) -> None:
    assert outcome(kind) == expected


def test_error_type_is_the_qualified_name_and_bare_for_builtins() -> None:
    assert error_type(ValueError) == "ValueError"
    assert error_type(unittest.SkipTest) == "unittest.case.SkipTest"
    assert error_type(Outer.InnerError) == f"{__name__}.Outer.InnerError"

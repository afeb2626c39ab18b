"""How a case or dispatch ended, by the exception that left it."""

from __future__ import annotations

import asyncio
import unittest

import pytest

from opentelemetry.instrumentation.scenetest.record.outcomes import describe, error_type, exception_event, told


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
    assert told(kind)[0] == expected


@pytest.mark.parametrize(
    ("ending", "expected"),
    [
        (None, ("pass", None)),
        (SystemExit(0), ("pass", None)),
        (SystemExit(), ("pass", None)),
        (SystemExit(1), ("error", "SystemExit")),
        (SystemExit("no device"), ("error", "SystemExit")),
        (GeneratorExit(), ("cancelled", None)),
        (asyncio.CancelledError(), ("cancelled", None)),
        (unittest.SkipTest("no device"), ("skipped", None)),
        (MismatchError(), ("fail", f"{__name__}.MismatchError")),
    ],
)
def test_only_an_error_has_an_error_type(ending: BaseException | None, expected: tuple[str, str | None]) -> None:
    assert told(ending) == expected


def test_an_exception_is_described_as_the_semantic_conventions_ask() -> None:
    with pytest.raises(Outer.InnerError) as raised:
        raise Outer.InnerError("no device")
    found = describe(raised.value)
    stack = found.pop("exception.stacktrace")
    assert found == {"exception.type": f"{__name__}.Outer.InnerError", "exception.message": "no device"}
    assert stack.startswith("Traceback (most recent call last):\n")
    assert stack.endswith("InnerError: no device\n")


def test_the_description_of_an_exception_is_bounded_and_keeps_its_end() -> None:
    def recurse(depth: int) -> None:
        if depth == 0:
            raise ValueError("x" * 10_000 + "the end")
        recurse(depth - 1)

    with pytest.raises(ValueError, match="the end") as raised:
        recurse(500)
    found = describe(raised.value)
    assert len(found["exception.message"]) == 4096
    assert len(found["exception.stacktrace"]) < 17_000
    assert found["exception.stacktrace"].endswith("xthe end\n")


def test_an_exception_of_which_only_the_type_is_known_has_that_in_its_event() -> None:
    expected = {"name": "exception", "at": 7, "attributes": {"exception.type": "ValueError"}}
    assert exception_event(ValueError, 7) == expected


def test_error_type_is_the_qualified_name_and_bare_for_builtins() -> None:
    assert error_type(ValueError) == "ValueError"
    assert error_type(unittest.SkipTest) == "unittest.case.SkipTest"
    assert error_type(Outer.InnerError) == f"{__name__}.Outer.InnerError"

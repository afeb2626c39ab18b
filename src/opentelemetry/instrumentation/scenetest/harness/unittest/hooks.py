"""A hook on `unittest`: a case that `setUp` opens and a cleanup closes ends as the test does.

`TestCase.run` keeps the exception of a test to itself, and runs the cleanups after it.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import wraps

from opentelemetry.instrumentation.scenetest import faults
from opentelemetry.instrumentation.scenetest.harness.wrapping import Hook
from opentelemetry.instrumentation.scenetest.record import noted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Any

    from opentelemetry.instrumentation.scenetest.harness.wrapping import Function

_BEFORE = "_scenetest_before"
_ENDED_BEFORE = "_ShouldStop"
"""What `TestCase.subTest` raises to end a test of which a part has failed."""


def _part_of_test(original: Function) -> Function:
    @wraps(original)
    @contextmanager
    def part_of_test(self: Any, *args: Any, **keywords: Any) -> Generator[Any, None, None]:
        # The first part of a test is its setUp: what is open now is not a case of this test.
        if not hasattr(self, _BEFORE):
            setattr(self, _BEFORE, noted.opened())
        with original(self, *args, **keywords) as entered:
            try:
                yield entered
            except BaseException as error:
                _note(self, error)
                raise

    return part_of_test


def _note(outcome: Any, error: BaseException) -> None:
    try:
        if type(error).__name__ == _ENDED_BEFORE:
            return
        from opentelemetry.instrumentation.scenetest.record import outcomes

        is_failure = outcomes.is_error(error) and not getattr(outcome, "expecting_failure", False)
        noted.note("fail" if is_failure else "skipped", error if is_failure else None, getattr(outcome, _BEFORE))
    except Exception as fault:
        faults.swallow("note how a test ended", fault)


HOOKS = {
    "unittest.case": (Hook("_Outcome.testPartExecutor", _part_of_test, "how a test with its case in setUp ended"),)
}

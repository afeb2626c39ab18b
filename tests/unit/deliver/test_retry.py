"""When a batch is sent again, and when it is given up."""

from __future__ import annotations

from itertools import islice

import pytest

from opentelemetry.instrumentation.scenetest.deliver.result import ExportError
from opentelemetry.instrumentation.scenetest.deliver.retry import RetryPolicy


class Attempts:
    """Fails in the given ways, then succeeds."""

    def __init__(self, *failures: ExportError) -> None:
        self.left = list(failures)
        self.seen: list[ExportError] = []
        self.waited: list[float] = []

    def once(self) -> str:
        if self.left:
            raise self.left.pop(0)
        return "accepted"

    def run(self, policy: RetryPolicy) -> str:
        return policy.run(self.once, self.seen.append, self.waited.append)


def test_what_is_accepted_is_not_sent_again() -> None:
    attempts = Attempts()
    assert attempts.run(RetryPolicy(0)) == "accepted"
    assert attempts.waited == []


def test_a_retryable_failure_is_followed_by_another_attempt() -> None:
    failures = ExportError("busy", retryable=True), ExportError("still busy", retryable=True)
    attempts = Attempts(*failures)
    assert attempts.run(RetryPolicy(60, randomization_factor=0)) == "accepted"
    assert (attempts.waited, attempts.seen) == ([0.5, 1.0], list(failures))


def test_any_other_failure_is_the_last() -> None:
    attempts = Attempts(ExportError("forbidden"))
    with pytest.raises(ExportError, match="forbidden"):
        attempts.run(RetryPolicy(60))
    assert attempts.waited == []


def test_a_backend_that_says_when_to_come_back_is_heeded() -> None:
    attempts = Attempts(ExportError("busy", retryable=True, retry_after=50))
    assert attempts.run(RetryPolicy(60)) == "accepted"
    assert attempts.waited == [50]


@pytest.mark.parametrize("retry_after", [None, 61.0, float("inf")])
def test_an_attempt_after_the_time_for_all_of_them_is_not_made(retry_after: float | None) -> None:
    attempts = Attempts(ExportError("busy", retryable=True, retry_after=retry_after))
    with pytest.raises(ExportError, match="busy"):
        attempts.run(RetryPolicy(0 if retry_after is None else 60))
    assert attempts.waited == []


def test_intervals_grow_to_the_longest_one_and_are_spread_at_random() -> None:
    plain = RetryPolicy(0, initial_interval=1, max_interval=6, randomization_factor=0)
    assert list(islice(plain.intervals(), 5)) == [1, 2, 4, 6, 6]
    spread = [next(RetryPolicy(0).intervals()) for _ in range(200)]
    assert 0.25 <= min(spread) < 0.4
    assert 0.6 < max(spread) <= 0.75

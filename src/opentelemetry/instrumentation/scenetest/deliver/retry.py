"""When a batch that was not accepted is sent again. The terms are those of the OpenTelemetry collector's exporters."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from opentelemetry.instrumentation.scenetest.deliver.result import ExportError

T = TypeVar("T")

MAX_ELAPSED_TIME = 300.0
"""Seconds for which the watcher tries a batch. After that the user has to call `push`."""


@dataclass(frozen=True)
class RetryPolicy:
    """Exponential backoff. The official exporters' own retries are not used.

    Attributes:
        max_elapsed_time: seconds after which a batch that was not accepted is given up; with 0 it is sent once.
        initial_interval: seconds before the second attempt.
        max_interval: the longest interval. A backend that asks for a longer one gets it.
        multiplier: by what the interval grows from one attempt to the next.
        randomization_factor: by which part of itself an interval is longer or shorter at random.
    """

    max_elapsed_time: float
    initial_interval: float = 0.5
    max_interval: float = 30.0
    multiplier: float = 2.0
    randomization_factor: float = 0.5

    def run(
        self,
        attempt: Callable[[], T],
        on_failure: Callable[[ExportError], None],
        wait: Callable[[float], None] = time.sleep,
    ) -> T:
        """Make attempts until one succeeds, and return what it returns.

        Args:
            attempt: sends the batch once.
            on_failure: called with each failure.
            wait: waits for so many seconds.

        Raises:
            ExportError: the last failure. It can't be retried, or the time for that is over.
        """
        give_up_at = time.monotonic() + self.max_elapsed_time
        intervals = self.intervals()
        while True:
            try:
                return attempt()
            except ExportError as error:
                on_failure(error)
                interval = max(next(intervals), error.retry_after or 0)
                if not error.retryable or time.monotonic() + interval > give_up_at:
                    raise
                wait(interval)

    def intervals(self) -> Iterator[float]:
        """Yield the seconds between one attempt and the next, without end."""
        interval = self.initial_interval
        while True:
            yield interval * random.uniform(1 - self.randomization_factor, 1 + self.randomization_factor)
            interval = min(self.multiplier * interval, self.max_interval)

"""The few figures by which a reader judges repeated durations."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Durations:
    """Figures of repeated durations in nanoseconds: the first (cold) one, and all of them."""

    first: int
    minimum: int
    median: float
    maximum: int

    @classmethod
    def of(cls, durations: Sequence[int]) -> Durations:
        """Return the figures of at least one duration, given in the order in which they were measured."""
        return cls(durations[0], min(durations), statistics.median(durations), max(durations))


def unit_of(nanoseconds: float) -> tuple[str, float]:
    """Return the unit in which a duration reads well, and the nanoseconds that it has."""
    if nanoseconds >= 10e9:
        return "s", 1e9
    return ("ms", 1e6) if nanoseconds >= 1e6 else ("us", 1e3)


def clock(seconds: float) -> str:
    """Return a length of time in minutes and seconds, as in 3:40."""
    return f"{int(seconds // 60)}:{int(seconds % 60):02d}"

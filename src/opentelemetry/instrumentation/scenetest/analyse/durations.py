"""The figures that sum up repeated durations. This table has the columns of `show`."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from types import MappingProxyType

FIRST = "first"
"""The first duration is the cold one. It says nothing where spans of several dispatches are mixed."""

MEDIAN = "median"

FIGURES: Mapping[str, Callable[[Sequence[int]], float]] = MappingProxyType(
    {FIRST: itemgetter(0), "min": min, MEDIAN: statistics.median, "max": max}
)
"""How each figure is computed from durations in the order in which they were measured, by the title of its column."""


def figures(durations: Sequence[int]) -> dict[str, float]:
    """Return all figures of at least one duration, in nanoseconds."""
    return {name: compute(durations) for name, compute in FIGURES.items()}


def unit_of(nanoseconds: float) -> tuple[str, float]:
    """Return a readable unit for a duration, and how many nanoseconds it has."""
    if nanoseconds >= 10e9:
        return "s", 1e9
    return ("ms", 1e6) if nanoseconds >= 1e6 else ("us", 1e3)


def clock(seconds: float) -> str:
    """Return a length of time in minutes and seconds, as in 3:40."""
    return f"{int(seconds // 60)}:{int(seconds % 60):02d}"

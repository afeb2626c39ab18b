"""The columns of the tables of `show`: figures over repeated durations."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from types import MappingProxyType

FIRST = "first"
"""The first duration, which is cold. Tables that mix spans of several dispatches leave this column out."""

MEDIAN = "median"

FIGURES: Mapping[str, Callable[[Sequence[int]], float]] = MappingProxyType(
    {FIRST: itemgetter(0), "min": min, MEDIAN: statistics.median, "max": max}
)
"""The function for each column, by title. The durations are in the order of their measurement."""


def figures(durations: Sequence[int]) -> dict[str, float]:
    """Return all figures, in nanoseconds. There must be at least one duration."""
    return {name: compute(durations) for name, compute in FIGURES.items()}

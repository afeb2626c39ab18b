"""The columns of the tables that `show` prints: figures over repeated durations."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from types import MappingProxyType

FIRST = "first"
"""The first duration is the cold one. Tables that mix spans of several dispatches leave this column out."""

MEDIAN = "median"

FIGURES: Mapping[str, Callable[[Sequence[int]], float]] = MappingProxyType(
    {FIRST: itemgetter(0), "min": min, MEDIAN: statistics.median, "max": max}
)
"""How to compute each column, by its title. The durations come in the order in which they were measured."""


def figures(durations: Sequence[int]) -> dict[str, float]:
    """Return all figures of at least one duration, in nanoseconds."""
    return {name: compute(durations) for name, compute in FIGURES.items()}

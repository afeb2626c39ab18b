"""Native spans grouped by name: their figures, and the tree of names."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from opentelemetry.instrumentation.scenetest.native.place import Placed

T = TypeVar("T")


@dataclass
class Name:
    """All spans of one name below one parent name, with their durations in nanoseconds."""

    name: str
    durations: list[int] = field(default_factory=list[int])
    below: dict[str, Name] = field(default_factory=lambda: dict[str, Name]())

    @property
    def sum_ns(self) -> int:
        """The time spent in all of them."""
        return sum(self.durations)

    def figures(self) -> dict[str, str | int | float]:
        """Return count, sum, minimum, median and maximum as `show --json --native` prints them."""
        return {
            "name": self.name,
            "count": len(self.durations),
            "sum_ns": self.sum_ns,
            "min_ns": min(self.durations),
            "median_ns": statistics.median(self.durations),
            "max_ns": max(self.durations),
        }

    def walk(self, depth: int = 0) -> Iterator[tuple[int, Name, Name | None]]:
        """Yield every name below this one with its depth and the name above it, the longest time first."""
        for each in sorted(self.below.values(), key=lambda one: -one.sum_ns):
            yield depth, each, self if self.durations else None
            yield from each.walk(depth + 1)


def by_name(spans: Iterable[Placed[T]]) -> list[Name]:
    """Return the spans by their names alone, in alphabetical order."""
    names: dict[str, Name] = {}
    for placed in spans:
        names.setdefault(placed.span.name, Name(placed.span.name)).durations.append(placed.span.duration_ns)
    return [names[name] for name in sorted(names)]


def tree(spans: Iterable[Placed[T]]) -> Name:
    """Return the spans by the names above them, below a root without a name."""
    root = Name("")
    known: dict[int, Name] = {}

    def node(placed: Placed[T]) -> Name:
        if id(placed) not in known:
            above = node(placed.parent) if placed.parent else root
            known[id(placed)] = above.below.setdefault(placed.span.name, Name(placed.span.name))
        return known[id(placed)]

    for placed in spans:
        node(placed).durations.append(placed.span.duration_ns)
    return root

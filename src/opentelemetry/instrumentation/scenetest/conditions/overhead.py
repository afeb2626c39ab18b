"""How wide the ruler itself is: what an empty dispatch of the process reads as."""

from __future__ import annotations

from functools import partial
from typing import Final

from opentelemetry.instrumentation.scenetest.conditions.condition import Condition, Seen
from opentelemetry.instrumentation.scenetest.conditions.values import UNKNOWN, Value

P50, P99 = "scenetest.overhead.p50", "scenetest.overhead.p99"


def _measured(attribute: str, seen: Seen) -> Value | None:
    return None if seen.overhead is None else seen.overhead.get(attribute, UNKNOWN)


OVERHEAD: Final = tuple(
    Condition(
        attribute,
        int,
        "process",
        "context",
        meaning=f"what an empty dispatch reads as, {which}, in nanoseconds: the width of the ruler itself",
        observed="some hundred dispatches to a scratch journal, within 5 ms before the first dispatch of the process; "
        "a forked child has those of its parent",
        observe=partial(_measured, attribute),
        moment="once",
        schema=2,
        measured=True,
    )
    for attribute, which in ((P50, "median"), (P99, "99th percentile"))
)

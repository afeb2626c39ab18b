"""The same ruler, or no comparison: which conditions of two arms differ, and which of these rule a comparison out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from opentelemetry.instrumentation.scenetest.analyse.compare.concurrency import CONCURRENCY, WHY
from opentelemetry.instrumentation.scenetest.conditions import table
from opentelemetry.instrumentation.scenetest.conditions.values import NOT_RECORDED, UNKNOWN, Value

ALLOW_NOT_RECORDED = "not-recorded"
"""What a user allows to accept every condition that was not recorded."""

ALLOW_FAILED = "failed"
"""What a user allows to use runs, processes and cases that failed."""

RULER_HASH = "scenetest.ruler"
"""In the conditions of a dispatch only where it is unknown: a condition changed while the dispatch was measured."""

EXTRA: Mapping[str, str] = {
    RULER_HASH: "a condition changed while it was measured, so that nobody knows what it was measured under",
    CONCURRENCY: WHY,
}
"""What must be equal in addition to the recorded ruler conditions, with the reason."""


def why(attribute: str) -> str:
    """Return why two timings can't be compared if this condition differs."""
    return EXTRA.get(attribute) or table.why(attribute)


Seen: TypeAlias = "frozenset[Value | None]"
"""The values of one condition over the dispatches of a run; None where it does not apply."""

Recorded: TypeAlias = "Mapping[str, Sequence[Mapping[str, Value]]]"
"""By run, the distinct sets of conditions that its dispatches were measured under."""


@dataclass(frozen=True)
class Difference:
    """A condition that is not the same in all runs, or is unknown in one.

    Attributes:
        attribute: the condition.
        values: what each run has.
    """

    attribute: str
    values: Mapping[str, Seen]


@dataclass(frozen=True)
class Gate:
    """Whether the runs were measured with the same ruler.

    Attributes:
        differences: the differences that rule a comparison out.
        allowed: the differences that would, but that the user allowed by name.
        not_recorded: by run, how many ruler conditions were not recorded.
        accepts_not_recorded: whether the user allowed that.
    """

    differences: tuple[Difference, ...]
    allowed: tuple[Difference, ...]
    not_recorded: Mapping[str, int] = field(default_factory=dict[str, int])
    accepts_not_recorded: bool = False

    @property
    def comparable(self) -> bool:
        """Whether numbers may be given: the ruler is the same, or what differs was allowed."""
        return not self.differences and (self.accepts_not_recorded or not self.not_recorded)

    @property
    def same(self) -> bool:
        """Whether the ruler is known to be the same."""
        return not (self.differences or self.allowed or self.not_recorded)


def check(recorded: Recorded, ruler: Collection[str], allow: Collection[str] = ()) -> Gate:
    """Compare the ruler conditions of all runs of both arms.

    Two conditions that do not apply are equal. `unknown` equals nothing, not even `unknown`. Conditions that were not
    recorded are only counted.

    Args:
        recorded: the conditions of the dispatches that are compared.
        ruler: the conditions that must be equal.
        allow: conditions whose differences are accepted, and perhaps `ALLOW_NOT_RECORDED`.
    """
    differences = [difference for attribute in ruler if (difference := _compare(recorded, attribute, {UNKNOWN}))]
    missing = {
        run: sum(any(one.get(key) == NOT_RECORDED for one in conditions) for key in ruler)
        for run, conditions in recorded.items()
    }
    return Gate(
        differences=tuple(one for one in differences if one.attribute not in allow),
        allowed=tuple(one for one in differences if one.attribute in allow),
        not_recorded={run: count for run, count in missing.items() if count},
        accepts_not_recorded=ALLOW_NOT_RECORDED in allow,
    )


def differing(recorded: Recorded, attributes: Iterable[str]) -> list[Difference]:
    """Return the conditions that are not the same in all runs. For context, which never rules a comparison out."""
    return [difference for attribute in attributes if (difference := _compare(recorded, attribute, set()))]


def _compare(recorded: Recorded, attribute: str, equal_to_nothing: Collection[Value]) -> Difference | None:
    values = {run: frozenset(one.get(attribute) for one in conditions) for run, conditions in recorded.items()}
    found = {value for seen in values.values() for value in seen} - {NOT_RECORDED}
    if len(found) <= 1 and found.isdisjoint(equal_to_nothing):
        return None
    return Difference(attribute, values)

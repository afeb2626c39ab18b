"""What is compared: per process and case the rounds, each with its conditions and its times.

The same from journals and from a backend, so that both give the same numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from opentelemetry.instrumentation.scenetest.conditions.values import Value

DISPATCH = "dispatch"
"""The row of the wall time of a dispatch, beside the names of native spans and figures."""


class Key(NamedTuple):
    """What two timings must be of before they are compared."""

    file: str
    suite: str
    case: str
    platform: Value | None
    runtime: Value | None
    level: Value | None
    devices: Value | None

    @property
    def title(self) -> str:
        """As a reader knows it."""
        name = f"{self.suite}::{self.case}" if self.suite else self.case
        where = [str(self.runtime)] if self.runtime is not None else []
        where += [f"L{self.level}"] if self.level is not None else []
        where += [f"{self.devices} devices"] if self.devices not in (None, 1) else []
        return "  ".join([name, *where])


@dataclass(frozen=True)
class Rank:
    """The native spans that one process wrote within one round.

    Attributes:
        durations: nanoseconds under each name and figure, repeated ones summed.
        inside: how many markers were written inside the spans of each name.
    """

    durations: Mapping[str, int]
    inside: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True)
class Round:
    """One dispatch.

    Attributes:
        start_ns: Unix nanoseconds.
        end_ns: the same; None when it never returned.
        outcome: of the dispatch.
        waited_for: its end was seen by a `wait` only, so that its duration says nothing.
        conditions: those of the process and of the case, as they were then.
        ranks: native times by process id.
    """

    start_ns: int
    end_ns: int | None
    outcome: str
    waited_for: bool
    conditions: Mapping[str, Value]
    ranks: Mapping[int, Rank] = field(default_factory=dict[int, Rank])

    @property
    def ended(self) -> bool:
        """Whether it ran to its end; of one that nobody waited for the native spans say so."""
        return self.outcome == "pass" or (self.waited_for and self.outcome == "unknown")


@dataclass(frozen=True)
class Repetition:
    """The rounds of one case in one process of one run, in order.

    Attributes:
        run: name of the run.
        pid: the process.
        key: what was measured.
        outcome: of the case; of a run of dispatches outside any case `pass`.
        rounds: in time order.
        begins: indices of rounds that were round 0: of the case again in the same process, or of a second Worker.
        device_names: native names whose times a device's clock took.
    """

    run: str
    pid: int
    key: Key
    outcome: str
    rounds: Sequence[Round]
    begins: Sequence[int]
    device_names: frozenset[str] = frozenset()

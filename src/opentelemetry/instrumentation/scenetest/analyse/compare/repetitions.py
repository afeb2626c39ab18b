"""What is compared: per process and case the rounds, each with its conditions and its times.

The same from journals and from a backend, so that both give the same numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from opentelemetry.instrumentation.scenetest.analyse.compare.concurrency import Busy
from opentelemetry.instrumentation.scenetest.conditions.values import NOT_RECORDED, Value

DISPATCH = "dispatch"
"""The row of the wall time of a dispatch, beside the names of native spans and figures."""

_NOTHING = (None, NOT_RECORDED)


class Key(NamedTuple):
    """What two timings must be of before they are compared.

    Attributes:
        file: the file of the case; outside any case the script.
        suite: the suite; empty outside any case.
        case: the case; outside any case the callable.
        platform: condition of the case, as are the next three.
        runtime: see platform.
        level: see platform.
        devices: how many.
        given: the attributes that the user gave the case, by name.
    """

    file: str
    suite: str
    case: str
    platform: Value | None
    runtime: Value | None
    level: Value | None
    devices: Value | None
    given: tuple[tuple[str, Value], ...] = ()

    @property
    def title(self) -> str:
        """As a reader knows it."""
        outside = self.case if self.file == NOT_RECORDED else f"{self.case} ({self.file})"
        where = [str(self.runtime)] if self.runtime not in _NOTHING else []
        where += [f"L{self.level}"] if self.level not in _NOTHING else []
        where += [f"{self.devices} devices"] if self.devices not in (*_NOTHING, 1) else []
        given = [" ".join(f"{name}={value}" for name, value in self.given)] if self.given else []
        return "  ".join([f"{self.suite}::{self.case}" if self.suite else outside, *where, *given])


@dataclass(frozen=True)
class Rank:
    """The native spans that one process wrote within one round, and the dispatches inside its dispatch.

    Attributes:
        durations: nanoseconds under each name and figure, repeated ones summed.
        inside: how many markers were written inside the spans of each name.
    """

    durations: Mapping[str, int]
    inside: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True)
class Round:
    """One outermost dispatch.

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
        id: the same for every copy of this record, and for no other one.
        failed: why its run or process does not count, such as "exit code 137"; empty when it does.
        pressure: share of its time in which some task waited for a CPU, 0 to 1; None where it was not recorded.
        busy: when its process dispatched for it.
        activity: everything that is known to have dispatched at about that time, itself included.
    """

    run: str
    pid: int
    key: Key
    outcome: str
    rounds: Sequence[Round]
    begins: Sequence[int]
    device_names: frozenset[str] = frozenset()
    id: str = ""
    failed: str = ""
    pressure: float | None = None
    busy: tuple[Busy, ...] = ()
    activity: tuple[Busy, ...] = ()

"""What is compared: for each process and case the rounds, each with its conditions and times.

They are built in the same form from journals and from a backend, so that both give the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from opentelemetry.instrumentation.scenetest.analyse.compare.concurrency import Busy
from opentelemetry.instrumentation.scenetest.conditions.values import NOT_RECORDED, Value

DISPATCH = "dispatch"
"""The row of the wall time of a dispatch, beside the names of native spans and figures."""

Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

_NOTHING = (None, NOT_RECORDED)


class Key(NamedTuple):
    """What was measured. Only timings with the same key are compared.

    Attributes:
        file: the file of the case; outside any case the script.
        suite: the suite; empty outside any case.
        case: the case; outside any case the callable.
        platform: what it ran on, such as `a2a3sim`.
        runtime: what ran it.
        level: level of the scene.
        devices: number of devices.
        given: the attributes that the user gave the case, sorted by name.
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
        """What a reader is shown."""
        outside = self.case if self.file == NOT_RECORDED else f"{self.case} ({self.file})"
        where = [str(self.runtime)] if self.runtime not in _NOTHING else []
        where += [f"L{self.level}"] if self.level not in _NOTHING else []
        where += [f"{self.devices} devices"] if self.devices not in (*_NOTHING, 1) else []
        given = [" ".join(f"{name}={value}" for name, value in self.given)] if self.given else []
        return "  ".join([f"{self.suite}::{self.case}" if self.suite else outside, *where, *given])


@dataclass(frozen=True)
class Rank:
    """What one process measured within one round: its native spans, and the dispatches inside its dispatch.

    Attributes:
        durations: nanoseconds for each name and figure; several spans of one name are added up.
        inside: for each name, how many markers were written inside its spans.
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
        waited_for: only a `wait` saw its end, so its duration means nothing.
        conditions: the conditions of the process and of the case in force at that time.
        ranks: native times by process id.
    """

    start_ns: int
    end_ns: int | None
    outcome: str
    waited_for: bool
    conditions: Mapping[str, Value]
    ranks: Mapping[int, Rank] = field(default_factory=dict[int, Rank])


class Kind(NamedTuple):
    """What rounds have in common. Rounds of one kind differ only in their times.

    Attributes:
        outcome: of the dispatch.
        waited_for: as in `Round`.
        returned: whether the end is known.
        conditions: the conditions of the process and of the case.
    """

    outcome: str
    waited_for: bool
    returned: bool
    conditions: Mapping[str, Value]

    @property
    def ended(self) -> bool:
        """Whether such a round ran to its end. If nobody waited for it, its native spans are used all the same."""
        return self.outcome == "pass" or (self.waited_for and self.outcome == "unknown")


class Kinds:
    """The distinct kinds of some rounds. Two sets of conditions are the same only if they are one object."""

    def __init__(self) -> None:
        self.all: list[Kind] = []
        self._places: dict[tuple[str, bool, bool, int], int] = {}

    def place(self, kind: Kind) -> int:
        """Return the place of a kind, which is added if it is new."""
        place = self._places.setdefault((*kind[:3], id(kind.conditions)), len(self.all))
        if place == len(self.all):
            self.all.append(kind)
        return place


class Rounds(Sequence[Round]):
    """Rounds in time order, as columns: a million of them take 20 MB, where a million objects take a gigabyte.

    Args:
        starts: when each began, Unix nanoseconds.
        ends: when each ended, Unix nanoseconds; its start if it never returned.
        kind_of: for each, the place of its kind in `kinds`.
        kinds: the kinds of rounds.
        ranks: the native times of the rounds that have any, by place.
    """

    def __init__(
        self,
        starts: Integers,
        ends: Integers,
        kind_of: NDArray[np.int32],
        kinds: Sequence[Kind],
        ranks: Mapping[int, Mapping[int, Rank]],
    ) -> None:
        self.starts, self.ends, self.kind_of, self.kinds, self.ranks = starts, ends, kind_of, kinds, ranks

    @classmethod
    def of(cls, rounds: Iterable[Round]) -> Rounds:
        """Build the columns from single rounds."""
        given, kinds = list(rounds), Kinds()
        kind_of = [Kind(one.outcome, one.waited_for, one.end_ns is not None, one.conditions) for one in given]
        return cls(
            np.array([one.start_ns for one in given], np.int64),
            np.array([one.start_ns if one.end_ns is None else one.end_ns for one in given], np.int64),
            np.array([kinds.place(kind) for kind in kind_of], np.int32),
            kinds.all,
            {place: one.ranks for place, one in enumerate(given) if one.ranks},
        )

    @classmethod
    def joined(cls, parts: Sequence[Rounds]) -> Rounds:
        """Return the rounds of several passes, one after the other."""
        if len(parts) == 1:
            return parts[0]
        kinds, kind_of, ranks, begin = Kinds(), list[NDArray[np.int32]](), dict[int, Mapping[int, Rank]](), 0
        for part in parts:
            kind_of.append(np.array([kinds.place(kind) for kind in part.kinds], np.int32)[part.kind_of])
            ranks |= {begin + place: of_round for place, of_round in part.ranks.items()}
            begin += len(part)
        starts, ends = np.concatenate([one.starts for one in parts]), np.concatenate([one.ends for one in parts])
        return cls(starts, ends, np.concatenate(kind_of), kinds.all, ranks)

    def where(self, holds: Callable[[Kind], bool]) -> Booleans:
        """Tell for each round whether a condition holds for its kind."""
        return np.array([holds(kind) for kind in self.kinds], np.bool_)[self.kind_of]

    def conditions(self, chosen: Booleans) -> list[Mapping[str, Value]]:
        """Return the distinct conditions of the chosen rounds, in the order of their first use."""
        if len(self.kinds) == 1:  # as mostly
            return [self.kinds[0].conditions] if chosen.any() else []
        places, first = np.unique(self.kind_of[chosen], return_index=True)
        in_order = [self.kinds[int(places[i])].conditions for i in np.argsort(first)]
        return list({id(conditions): conditions for conditions in in_order}.values())

    def times(self, begins: Sequence[int]) -> list[tuple[int, int]]:
        """Return the first start and the last end of each pass of a case in one process.

        Args:
            begins: the places at which a pass begins.
        """
        return [
            (int(self.starts[first]), int(self.ends[first:last].max()))
            for first, last in pairwise([*begins, len(self)])
            if first < last
        ]

    def __len__(self) -> int:
        return len(self.starts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rounds) and list(self) == list(other)

    def __hash__(self) -> int:
        return hash((len(self), self.starts.tobytes()))

    @overload
    def __getitem__(self, index: int) -> Round: ...

    @overload
    def __getitem__(self, index: slice) -> list[Round]: ...

    def __getitem__(self, index: int | slice) -> Round | list[Round]:
        if isinstance(index, slice):
            return [self._round(place) for place in range(len(self))[index]]
        return self._round(range(len(self))[index])

    def _round(self, place: int) -> Round:
        kind = self.kinds[int(self.kind_of[place])]
        end = int(self.ends[place]) if kind.returned else None
        ranks = self.ranks.get(place, {})
        return Round(int(self.starts[place]), end, kind.outcome, kind.waited_for, kind.conditions, ranks)


@dataclass(frozen=True)
class Repetition:
    """The rounds of one case in one process of one run, in order.

    Attributes:
        run: name of the run.
        pid: the process.
        key: what was measured.
        outcome: outcome of the case; `pass` for dispatches outside any case.
        rounds: in time order.
        begins: indices of the rounds that count as round 0: where the case begins, also again in the same process, or
            where a second Worker begins.
        device_names: the native names that were timed by a device's clock.
        id: identifies this record; copies of it have the same id.
        failed: why its run or process does not count, such as "exit code 137"; empty if it counts.
        pressure: share of its time in which some task waited for a CPU, 0 to 1; None if it was not recorded.
        busy: the times in which its process dispatched for it.
        activity: all known busy times around then, including its own.
    """

    run: str
    pid: int
    key: Key
    outcome: str
    rounds: Rounds
    begins: Sequence[int]
    device_names: frozenset[str] = frozenset()
    id: str = ""
    failed: str = ""
    pressure: float | None = None
    busy: tuple[Busy, ...] = ()
    activity: tuple[Busy, ...] = ()

"""One row's time in every round of a repetition, and which of them the verdict uses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from opentelemetry.instrumentation.scenetest.analyse.compare.repetitions import (
    DISPATCH,
    Booleans,
    Integers,
    Rank,
    Repetition,
    Rounds,
)
from opentelemetry.instrumentation.scenetest.analyse.stats.rounds import round_total

Use: TypeAlias = Literal["used", "cold", "not used", "lacking", "failed"]
"""What a round was used for: `lacking` means that a chosen span is missing, `failed` that the round did not pass."""

USES: tuple[Use, ...] = ("used", "cold", "not used", "lacking", "failed")
NO_TIME = -(1 << 63)

_COLD = USES.index("cold")
_CANDIDATE = USES.index("not used")


@dataclass(frozen=True)
class Timed:
    """One round of a row.

    Attributes:
        number: its place within the repetition, from 0.
        start_ns: when it began.
        end_ns: when it ended; None when it never did.
        time_ns: its time; None if a chosen span is missing or it did not pass.
        use: what it was used for.
        outcome: of the dispatch.
    """

    number: int
    start_ns: int
    end_ns: int | None
    time_ns: int | None
    use: Use
    outcome: str


@dataclass(frozen=True, eq=False)
class Series:
    """One row in one repetition, as columns.

    Attributes:
        run: its run.
        of: all rounds of the repetition, in order.
        times: time of each in nanoseconds; `NO_TIME` if a chosen span is missing or it did not pass.
        uses: use of each, as its place in `USES`.
        inside: the average number of markers written inside the chosen spans in a round.
    """

    run: str
    of: Rounds
    times: Integers
    uses: NDArray[np.int8]
    inside: float

    def __len__(self) -> int:
        return len(self.times)

    @property
    def rounds(self) -> list[Timed]:
        """All of its rounds, in order."""
        return [self.timed(number) for number in range(len(self))]

    def timed(self, number: int) -> Timed:
        """Return one round."""
        one, time = self.of[number], int(self.times[number])
        use = USES[int(self.uses[number])]
        return Timed(number, one.start_ns, one.end_ns, None if time == NO_TIME else time, use, one.outcome)

    @property
    def candidates(self) -> Integers:
        """The numbers of the rounds that have a time, without those that were cold again."""
        return np.flatnonzero((self.times != NO_TIME) & (self.uses != _COLD))

    def count(self, use: Use) -> int:
        """Return how many rounds have this use."""
        return int(np.count_nonzero(self.uses == USES.index(use)))

    def cut(self, cold: int, warm: int) -> Series:
        """Return a copy with the first rounds marked as cold, and the next ones as used.

        Args:
            cold: how many are dropped at the start.
            warm: how many are used after them.
        """
        chosen, uses = self.candidates, np.array(self.uses)
        uses[chosen[:cold]] = _COLD
        uses[chosen[cold : cold + warm]] = USES.index("used")
        return replace(self, uses=uses)


def cold_ones(repetition: Repetition, cold: int, *, first: bool = True) -> Booleans:
    """Tell for each round whether it is cold because something began there: the case, or a second Worker.

    Args:
        repetition: the rounds.
        cold: how many are cold after each beginning.
        first: whether the rounds after the first beginning count as well.
    """
    found = np.zeros(len(repetition.rounds), np.bool_)
    for begin in repetition.begins:
        if begin or first:
            found[begin : begin + cold] = True
    return found


def series(repetition: Repetition, parts: tuple[str, ...], cold: int) -> Series:
    """Return one row of a repetition. How many rounds are dropped at the start is decided later, for all of them."""
    rounds = repetition.rounds
    ended = rounds.where(lambda kind: kind.ended)
    times = np.where(ended, _times(rounds, parts), NO_TIME)
    uses = np.full(len(rounds), _CANDIDATE, np.int8)
    uses[times == NO_TIME] = USES.index("lacking")
    uses[cold_ones(repetition, cold, first=False)] = _COLD
    uses[~ended] = USES.index("failed")
    counted = np.count_nonzero(uses == _CANDIDATE)
    inside = sum(_inside(ranks, parts) for place, ranks in rounds.ranks.items() if uses[place] == _CANDIDATE)
    return Series(repetition.run, rounds, times, uses, inside / counted if counted else 0.0)


def _times(rounds: Rounds, parts: tuple[str, ...]) -> Integers:
    """Return the time of each round for these names, in nanoseconds; `NO_TIME` if one of the names is missing."""
    if parts == (DISPATCH,):
        timed = rounds.where(lambda kind: kind.returned and not kind.waited_for)
        return np.where(timed, rounds.ends - rounds.starts, NO_TIME)
    times = np.full(len(rounds), NO_TIME, np.int64)
    for place, ranks in rounds.ranks.items():
        total = round_total({pid: rank.durations.items() for pid, rank in ranks.items()}, parts)
        times[place] = NO_TIME if total is None else total
    return times


def _inside(ranks: Mapping[int, Rank], parts: tuple[str, ...]) -> int:
    """Return the largest number of markers that a rank wrote inside the chosen spans."""
    return max((sum(rank.inside.get(name, 0) for name in parts) for rank in ranks.values()), default=0)

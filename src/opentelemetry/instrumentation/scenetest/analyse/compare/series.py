"""One row's time in every round of a repetition, and which of them the verdict uses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Literal, TypeAlias

from opentelemetry.instrumentation.scenetest.analyse.compare.repetitions import DISPATCH, Repetition, Round
from opentelemetry.instrumentation.scenetest.analyse.stats.rounds import round_total

Use: TypeAlias = Literal["used", "cold", "not used", "lacking", "failed"]
"""What became of a round: `lacking` one of the chosen spans, `failed` where it did not pass."""

_CANDIDATE: Use = "not used"


@dataclass(frozen=True)
class Timed:
    """One round of a row.

    Attributes:
        number: its place within the repetition, from 0.
        start_ns: when it began.
        end_ns: when it ended; None when it never did.
        time_ns: what it took; None where it lacks a chosen span or did not pass.
        use: what became of it.
        outcome: of the dispatch.
    """

    number: int
    start_ns: int
    end_ns: int | None
    time_ns: int | None
    use: Use
    outcome: str


@dataclass(frozen=True)
class Series:
    """One row in one repetition.

    Attributes:
        run: its run.
        rounds: all of its rounds, in order.
        inside: how many markers were written inside the chosen spans in a round, on average.
    """

    run: str
    rounds: tuple[Timed, ...]
    inside: float

    @property
    def candidates(self) -> list[Timed]:
        """The rounds that have a time, but for those that were cold again."""
        return [one for one in self.rounds if one.time_ns is not None and one.use != "cold"]

    def count(self, use: Use) -> int:
        """Return how many rounds were put to this use."""
        return sum(1 for one in self.rounds if one.use == use)

    def cut(self, cold: int, warm: int) -> Series:
        """Return it with its first rounds marked as cold, and the next ones as used.

        Args:
            cold: how many are dropped at the start.
            warm: how many are used after them.
        """
        chosen = self.candidates
        uses: dict[int, Use] = {one.number: "cold" for one in chosen[:cold]}
        uses |= {one.number: "used" for one in chosen[cold : cold + warm]}
        rounds = (
            one if (use := uses.get(one.number, one.use)) == one.use else replace(one, use=use) for one in self.rounds
        )
        return replace(self, rounds=tuple(rounds))


def cold_ones(repetition: Repetition, cold: int, *, first: bool = True) -> set[int]:
    """Return the numbers of the rounds that are cold because something began there: the case, or a second Worker.

    Args:
        repetition: the rounds.
        cold: how many are cold after each beginning.
        first: those of the first beginning, too.
    """
    begins = repetition.begins if first else [begin for begin in repetition.begins if begin]
    return {begin + i for begin in begins for i in range(min(cold, len(repetition.rounds)))}


def series(repetition: Repetition, parts: tuple[str, ...], cold: int) -> Series:
    """Return one row of a repetition; how many rounds are dropped at its start is found for all of them together."""
    again = cold_ones(repetition, cold, first=False)
    rounds = [_timed(i, one, parts, again) for i, one in enumerate(repetition.rounds)]
    counted = [repetition.rounds[one.number] for one in rounds if one.use == _CANDIDATE]
    inside = fmean(_inside(one, parts) for one in counted) if counted else 0.0
    return Series(repetition.run, tuple(rounds), inside)


def time_of(one: Round, parts: Sequence[str]) -> int | None:
    """Return what a round took under these names, in ns; None where it lacks one of them."""
    if tuple(parts) == (DISPATCH,):
        return None if one.waited_for or one.end_ns is None else one.end_ns - one.start_ns
    return round_total({pid: rank.durations.items() for pid, rank in one.ranks.items()}, parts)


def _timed(number: int, one: Round, parts: tuple[str, ...], again: set[int]) -> Timed:
    time = time_of(one, parts) if one.ended else None
    use: Use = _CANDIDATE
    if not one.ended:
        use = "failed"
    elif number in again:
        use = "cold"
    elif time is None:
        use = "lacking"
    return Timed(number, one.start_ns, one.end_ns, time, use, one.outcome)


def _inside(one: Round, parts: tuple[str, ...]) -> int:
    """How many markers the rank with the most of them wrote inside the chosen spans."""
    return max((sum(rank.inside.get(name, 0) for name in parts) for rank in one.ranks.values()), default=0)

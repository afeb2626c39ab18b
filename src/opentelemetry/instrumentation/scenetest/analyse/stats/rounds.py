"""From the rounds of every process to one matrix of warm rounds."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtr

Floats = NDArray[np.float64]

WARM_UP_LEVEL = 0.01
FALLING_LEVEL = 0.05
_PAIRS_AT_ONCE = 200


@dataclass(frozen=True)
class Warm:
    """The rounds that a comparison rests on.

    Attributes:
        kept: indices of the repetitions that are used; the others had under half the median number of rounds.
        cold: rounds dropped at the start of each, the same number for all.
        rounds: one row a repetition, one column a warm round; no column when nothing is left.
        falling: later rounds are still getting faster. A flag only; no verdict depends on it.
    """

    kept: tuple[int, ...]
    cold: int
    rounds: Floats
    falling: bool

    @property
    def minima(self) -> Floats:
        """The fastest warm round of each repetition."""
        return self.rounds.min(axis=1)

    @property
    def medians(self) -> Floats:
        """The median warm round of each repetition."""
        return np.median(self.rounds, axis=1)


def round_total(spans: Mapping[object, Iterable[tuple[str, int]]], names: Collection[str]) -> int | None:
    """Add up the chosen spans within one round.

    Args:
        spans: the (name, duration in ns) of one round's spans, by rank.
        names: the chosen names; repeated ones are summed.

    Returns:
        The sum in ns on the slowest rank, or None when no rank has all the names.
    """
    totals: list[int] = []
    for of_rank in spans.values():
        chosen = [(name, duration) for name, duration in of_rank if name in names]
        if {name for name, _ in chosen} >= set(names):
            totals.append(sum(duration for _, duration in chosen))
    return max(totals, default=None)


def warm_rounds(series: Sequence[Sequence[float] | Floats | NDArray[np.int64]], cold: int = 1) -> Warm:
    """Cut every repetition to the same warm rounds, without regard to its arm.

    All use the first k warm rounds, where k is the smallest number that is left: a minimum over more rounds would be
    lower for that reason alone.

    Args:
        series: the rounds of each repetition in order, without rounds that were aborted or lack a chosen span.
        cold: how many rounds are always dropped at the start.
    """
    enough = np.median([len(rounds) for rounds in series]) / 2 if series else 0
    kept = tuple(i for i, rounds in enumerate(series) if len(rounds) and len(rounds) >= enough)
    if not kept:
        return Warm((), cold, np.empty((0, 0)), falling=False)
    shortest = min(len(series[i]) for i in kept)
    matrix = np.array([series[i][:shortest] for i in kept], dtype=np.float64)
    cold = warm_up(matrix, cold)
    rest = matrix[:, cold:]
    return Warm(kept, cold, rest, still_falling(rest))


def warm_up(matrix: Floats, cold: int = 1) -> int:
    """Return how many rounds at the start are slower, over all repetitions, than the last half of the rounds."""
    repetitions, n = matrix.shape
    late = matrix[:, n - n // 2 :]
    m = late.shape[1] + 1
    while cold < max(cold, n // 3):
        first = matrix[:, cold : cold + 1]
        ranks = 1 + (late < first).sum(axis=1) + (late == first).sum(axis=1) / 2
        z = (ranks.sum() - repetitions * (m + 1) / 2) / np.sqrt(repetitions * (m**2 - 1) / 12)
        if ndtr(-z) > WARM_UP_LEVEL:
            break
        cold += 1
    return cold


def still_falling(rounds: Floats) -> bool:
    """Tell whether later rounds are faster than earlier ones (Kendall's S per repetition, t test over repetitions)."""
    repetitions, m = rounds.shape
    if repetitions < 2 or m < 4:
        return False
    s = np.array([_kendalls_s(row) for row in rounds], dtype=np.float64)
    independent = m * (m - 1) * (2 * m + 5) / 18
    se = np.sqrt(max(float(s.var(ddof=1)), independent) / repetitions)
    return bool(stdtr(repetitions - 1, s.mean() / se) < FALLING_LEVEL)


def _kendalls_s(times: Floats) -> int:
    """Return the number of pairs of rounds in rising order minus the number in falling order.

    It works by halves, since a hundred thousand rounds make five thousand million pairs.
    """
    if len(times) <= _PAIRS_AT_ONCE:
        earlier, later = np.triu_indices(len(times), k=1)
        return int(np.sign(times[later] - times[earlier]).sum())
    half = len(times) // 2
    before, after = np.sort(times[:half]), times[half:]
    lower, not_higher = (np.searchsorted(before, after, side).sum() for side in ("left", "right"))
    return _kendalls_s(times[:half]) + _kendalls_s(after) + int(lower + not_higher) - half * len(after)

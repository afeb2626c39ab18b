"""How many rounds a process should measure. A round is cheap and tells little; a process is expensive to start.

After Kalibera and Jones, "Rigorous benchmarking in reasonable time" (ISMM 2013). Their optimum is for means. Here it is
for the logarithm of a minimum. Its variance with fewer rounds is computed from the rounds that were measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .fit import fit, pairs_needed
from .order import Arm
from .rounds import Floats

FEWEST_ROUNDS = 4


@dataclass(frozen=True)
class Effort:
    """What it costs to find a shift, with the present number of rounds and with the best one.

    Attributes:
        start: seconds that a process takes before and after its rounds.
        each: seconds that a round takes.
        within: share of the variance that is between the rounds of a process.
        rounds: the present number of warm rounds.
        pairs: how many pairs find the shift with that number.
        seconds: how long these pairs take.
        best_rounds: the number of warm rounds that takes least time in all; it is at most the present one, since only
            measured rounds can be judged.
        best_pairs: how many pairs find the shift with that number.
        best_seconds: how long these pairs take.
    """

    start: float
    each: float
    within: float
    rounds: int
    pairs: int
    seconds: float
    best_rounds: int
    best_pairs: int
    best_seconds: float


def effort(
    rounds: Floats, arms: Sequence[Arm], start: float, each: float, cold: int, log_shift: float
) -> Effort | None:
    """Find the best number of rounds; None if too little is known, or no number of pairs finds the shift.

    Args:
        rounds: a matrix with a row for each process, in time order, and a column for each warm round.
        arms: the arm of each process.
        start: see `Effort`.
        each: see `Effort`.
        cold: rounds of each process that are measured and dropped.
        log_shift: the shift that is to be found, as a log ratio.
    """
    if rounds.shape[1] < FEWEST_ROUNDS or rounds.shape[0] < 2 * FEWEST_ROUNDS or not (rounds > 0).all():
        return None
    logs: Floats = np.log(rounds)
    in_order: Floats = np.sort(logs, axis=1)
    most = logs.shape[1]
    costs: dict[int, tuple[float, int]] = {}
    for number in _numbers(most):
        pairs = pairs_needed(scatter_at(in_order, arms, number), log_shift)
        if pairs is not None:
            costs[number] = 2 * pairs * (start + (cold + number) * each), pairs
    if most not in costs:
        return None
    best = min(costs, key=lambda number: costs[number])
    return Effort(
        start=start,
        each=each,
        within=share_within(logs, arms),
        rounds=most,
        pairs=costs[most][1],
        seconds=costs[most][0],
        best_rounds=best,
        best_pairs=costs[best][1],
        best_seconds=costs[best][0],
    )


def scatter_at(logs: Floats, arms: Sequence[Arm], number: int) -> float:
    """Return the scatter of log minima if each process had only some of its rounds.

    This is the exact average over all subsets of that size. The probability that the fastest round of a subset is the
    i-th fastest of all is known.

    Args:
        logs: log times, a sorted row for each process.
        arms: the arm of each process, in time order.
        number: how many rounds.
    """
    weights = _weights(logs.shape[1], number)
    mean: Floats = logs @ weights
    within = float(((logs**2) @ weights - mean**2).clip(min=0).mean())
    return float(np.sqrt(fit(mean, arms).scatter ** 2 + within))


def share_within(logs: Floats, arms: Sequence[Arm]) -> float:
    """Return the share of the variance of log minima that is between the rounds of a process, for half of the rounds.

    Over all ways to split the rounds of a process into halves, the variance within is half the mean squared difference
    of the two minima. One of them is the fastest round of all.

    Args:
        logs: log times, a row for each process, in the order in which they were measured.
        arms: the arm of each process, in time order.
    """
    logs = np.sort(logs[:, : logs.shape[1] // 2 * 2], axis=1)
    half = logs.shape[1] // 2
    j = np.arange(half, dtype=np.float64)
    # The probabilities that the fastest of the other half is the second fastest of all, the third, and so on.
    weights = half / (2 * half - 1) * np.concatenate([[1.0], np.cumprod((half - 1 - j[:-1]) / (2 * half - 2 - j[:-1]))])
    within = float(((logs[:, 1 : half + 1] - logs[:, :1]) ** 2 @ weights).mean()) / 2
    whole = scatter_at(logs, arms, half) ** 2
    return min(1.0, within / whole) if whole else 0.0


def _weights(most: int, number: int) -> Floats:
    """Return for each i the probability that the i-th fastest of all rounds is the fastest of a subset."""
    i = np.arange(1, most, dtype=np.float64)
    steps = (most - i - number + 1).clip(min=0) / (most - i)
    return (number / most) * np.concatenate([[1.0], np.cumprod(steps)])


def _numbers(most: int) -> list[int]:
    """Return the numbers of rounds to try: all small ones, then in steps of a tenth."""
    numbers, number = [], 1
    while number < most:
        numbers.append(number)
        number = max(number + 1, round(number * 1.1))
    return [*numbers, most]

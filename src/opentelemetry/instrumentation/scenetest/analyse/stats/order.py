"""The order in time: which process pairs with which, and whether the arms took turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import groupby, pairwise

import numpy as np

from .rounds import Floats

MOST_IN_SUCCESSION = 2
MOST_INFLATION = 1.5


class Arm(str, Enum):
    """One side of a comparison."""

    BASE = "base"
    MEASURE = "measure"

    @property
    def code(self) -> float:
        """The contrast of the regression: measure minus base is 1."""
        return -0.5 if self is Arm.BASE else 0.5


@dataclass(frozen=True)
class Order:
    """Repetitions in the order in which they ran.

    Attributes:
        base: indices of the base's repetitions in time order; the k-th pairs with the k-th of `measure`.
        measure: as base.
        surplus: indices of the longer arm's last repetitions, which have no partner.
        used: indices of all paired repetitions in time order.
        arms: their arms.
        overlapping: whether two of them ran at the same time.
    """

    base: tuple[int, ...]
    measure: tuple[int, ...]
    surplus: tuple[int, ...]
    used: tuple[int, ...]
    arms: tuple[Arm, ...]
    overlapping: bool

    @property
    def pairs(self) -> int:
        """The number of pairs."""
        return len(self.base)

    @property
    def inflation(self) -> float:
        """Variance inflation of the shift by the drift term: 1 if order and arm are uncorrelated."""
        return inflation(self.arms)

    @property
    def interleaved(self) -> bool:
        """Whether the arms took turns, so that a steady change of load affects both equally."""
        longest = max(len(list(run)) for _, run in groupby(self.arms)) if self.arms else 0
        return longest <= MOST_IN_SUCCESSION and self.inflation <= MOST_INFLATION


def inflation(arms: Sequence[Arm]) -> float:
    """Return 1 / (1 - r^2), r being the correlation of arm and position."""
    codes: Floats = np.array([arm.code for arm in arms])
    r = correlation(codes, np.arange(len(codes), dtype=np.float64))
    return np.inf if r is None or abs(r) == 1 else 1 / (1 - r**2)


def correlation(a: Floats, b: Floats) -> float | None:
    """Return Pearson's r, None where one of the two does not vary."""
    a, b = a - a.mean(), b - b.mean()
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / size if size else None


def order(arms: Sequence[Arm], starts: Sequence[float], ends: Sequence[float]) -> Order:
    """Sort repetitions by time and pair the k-th of the base with the k-th of the measure.

    Args:
        arms: the arm of each repetition.
        starts: when the first warm dispatch of each began.
        ends: when the last dispatch of each ended, on the same clock.
    """
    in_time = sorted(range(len(arms)), key=lambda i: starts[i])
    base = [i for i in in_time if arms[i] is Arm.BASE]
    measure = [i for i in in_time if arms[i] is Arm.MEASURE]
    pairs = min(len(base), len(measure))
    used = [i for i in in_time if i in {*base[:pairs], *measure[:pairs]}]
    return Order(
        base=tuple(base[:pairs]),
        measure=tuple(measure[:pairs]),
        surplus=tuple(base[pairs:] + measure[pairs:]),
        used=tuple(used),
        arms=tuple(arms[i] for i in used),
        overlapping=any(starts[after] < ends[before] for before, after in pairwise(used)),
    )

"""The estimate of a shift, its scatter between processes, and what the clock can resolve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import expm1, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import nctdtrinc, stdtr, stdtrit

from .order import Arm
from .rounds import Floats

ALPHA = 0.05
POWER = 0.9
FEWEST_PAIRS = 4
FINDABLE = {4: 3.1, 5: 2.95, 6: 3.0, 7: 2.25, 8: 2.1}
"""Shift found with 90 % power, in units of the scatter, by number of pairs (simulated)."""
FINDABLE_CORRECTION = 1.1
"""Beyond the table: how much larger a shift must be because the signs must agree, too, and not only the t test."""
FAMILY_CORRECTION = 1.05
"""The same for a row that is tested together with others: at its smaller level the t test is the stricter one."""
MOST_PAIRS = 1_000

FEWEST_FOR_TICK = 20
DEVICE_TICK_NS = 20
EMISSION_NS = 2_400.0
"""Time that it takes to write one native marker inside another span (measured: 2.1 us to 2.4 us)."""


@dataclass(frozen=True)
class Fit:
    """Least-squares fit of log time to arm and position in time. All figures are natural logarithms.

    Attributes:
        shift: measure minus base.
        shift_se: its standard error.
        slope: drift per repetition.
        slope_se: its standard error.
        scatter: standard deviation between repetitions that neither arm nor drift explains.
        df: degrees of freedom.
    """

    shift: float
    shift_se: float
    slope: float
    slope_se: float
    scatter: float
    df: int

    @property
    def delta(self) -> float:
        """The shift as a fraction of the base."""
        return expm1(self.shift)

    @property
    def p(self) -> float:
        """Two-sided p of the hypothesis that there is no shift."""
        if self.shift_se == 0:
            return 1.0 if self.shift == 0 else 0.0
        return float(2 * stdtr(self.df, -abs(self.shift) / self.shift_se))

    def log_interval(self, level: float) -> tuple[float, float]:
        """Return the confidence interval of the shift at a level such as 0.95."""
        half = float(stdtrit(self.df, (1 + level) / 2)) * self.shift_se
        return self.shift - half, self.shift + half

    def interval(self, level: float) -> tuple[float, float]:
        """Return the confidence interval of the delta, as fractions of the base."""
        low, high = self.log_interval(level)
        return expm1(low), expm1(high)

    @property
    def drifts(self) -> bool:
        """Whether the slope differs from 0 at 5 %."""
        return abs(self.slope) > float(stdtrit(self.df, 1 - ALPHA / 2)) * self.slope_se


def fit(logs: Floats, arms: Sequence[Arm]) -> Fit:
    """Fit shift and drift to the log times of R >= 2 pairs of repetitions, in time order."""
    n = len(arms)
    x: Floats = np.array([[1, arm.code, position - (n - 1) / 2] for position, arm in enumerate(arms)])
    c = np.asarray(np.linalg.inv(x.T @ x), dtype=np.float64)
    # Not by np.linalg.lstsq: its singular values leave a shift of 4e-16, and so p = 0, where all times are equal.
    coefficients: Floats = c @ (x.T @ logs)
    df = n - 3
    residuals: Floats = logs - x @ coefficients
    v = float(residuals @ residuals) / df
    if v < 1e-24:
        v = 0.0
    return Fit(
        shift=float(coefficients[1]),
        shift_se=sqrt(v * c[1, 1]),
        slope=float(coefficients[2]),
        slope_se=sqrt(v * c[2, 2]),
        scatter=sqrt(v),
        df=df,
    )


def tick(raw: Floats | NDArray[np.int64], *, device: bool = False) -> float:
    """Return the resolution of a clock in nanoseconds, found from the durations themselves.

    Args:
        raw: all durations, whole nanoseconds.
        device: a device's clock measured them. Its resolution is assumed if there are too few durations.
    """
    if len(raw) < FEWEST_FOR_TICK:
        return DEVICE_TICK_NS if device else 1
    return int(np.gcd.reduce(np.diff(np.unique(raw.astype(np.int64, copy=False))))) or 1


def floor(tick_ns: float, resolution_ns: float = 100.0, child_spans: tuple[float, float] = (0.0, 0.0)) -> float:
    """Return the smallest difference that can be told, in nanoseconds.

    Args:
        tick_ns: resolution of the clock.
        resolution_ns: the smallest difference that the user wants to know of.
        child_spans: how many markers are written inside the span in a round, in base and in measure. The time that it
            takes to write them is part of the span.
    """
    base, measure = child_spans
    return max(2 * tick_ns, resolution_ns) + EMISSION_NS * abs(measure - base)


def signs_agree(differences: Floats) -> int:
    """Return which way the pairs agree that measure moved: -1 faster, +1 slower, 0 if they don't agree.

    Up to 6 pairs, all must agree. From 7 pairs on, an exact signed rank test at 5 % decides: if all had to agree, more
    pairs would find less. A pair without a difference counts against both directions.
    """
    pairs = len(differences)
    if pairs == 0:
        return 0
    size = np.abs(differences)
    ranks = (size[:, None] > size).sum(axis=1) + ((size[:, None] == size).sum(axis=1) + 1) / 2
    allowed = 0 if pairs <= 6 else allowed_dissent(pairs)
    for sign in (-1, 1):
        if ranks[np.sign(differences) != sign].sum() <= allowed:
            return sign
    return 0


@lru_cache
def allowed_dissent(pairs: int) -> int:
    """Return the largest rank sum of dissenting pairs that an exact two-sided signed rank test at 5 % allows."""
    share: Floats = np.ones(1)
    for rank in range(1, pairs + 1):
        share = (np.pad(share, (0, rank)) + np.pad(share, (rank, 0))) / 2
    return int(np.searchsorted(2 * share.cumsum(), ALPHA, side="right")) - 1


def findable_shift(scatter: float, pairs: int, variance_inflation: float = 1.0, *, family: int = 1) -> float | None:
    """Return the smallest shift, as a log ratio, that so many pairs find in 9 of 10 comparisons; None for too few.

    Args:
        scatter: standard deviation between processes.
        pairs: number of pairs.
        variance_inflation: by how much the order of the runs increases the variance of the shift.
        family: how many rows are tested together. If only one of them has moved, Holm's method requires that its p is
            at most 5 % divided by this number.
    """
    return None if pairs < FEWEST_PAIRS else _units(pairs, variance_inflation, family) * scatter


@lru_cache(4096)
def _units(pairs: int, variance_inflation: float, family: int) -> float:
    """Return the smallest shift that can be found, in units of the scatter."""
    df = 2 * pairs - 3
    se = sqrt(2 * variance_inflation / pairs)
    if pairs in FINDABLE:
        alone = FINDABLE[pairs]
    else:
        alone = FINDABLE_CORRECTION * float(stdtrit(df, 1 - ALPHA / 2) + stdtrit(df, POWER)) * se
    if family == 1:
        return alone
    # The sum of two quantiles is too small an estimate if the level is small and there are few degrees of freedom.
    noncentrality = float(nctdtrinc(df, 1 - POWER, stdtrit(df, 1 - ALPHA / family / 2)))
    return max(alone, FAMILY_CORRECTION * noncentrality * se)


def pairs_needed(scatter: float, log_shift: float, *, family: int = 1) -> int | None:
    """Return how many alternating pairs find a shift of this size; None if it takes more than anyone will run.

    Args:
        scatter: standard deviation between processes.
        log_shift: the shift, as a log ratio.
        family: how many rows are tested together.
    """
    for pairs in range(FEWEST_PAIRS, MOST_PAIRS + 1):
        shift = findable_shift(scatter, pairs, family=family)
        if shift is not None and shift <= log_shift:
            return pairs
    return None

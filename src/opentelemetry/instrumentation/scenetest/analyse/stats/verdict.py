"""The verdict on one row of a comparison: the first rule that applies decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from .fit import ALPHA, FEWEST_PAIRS, Fit, fit, signs_agree
from .order import Order, correlation
from .rounds import Floats


class Verdict(str, Enum):
    """The answer to the question whether the change moved the time."""

    FASTER = "faster"
    SLOWER = "slower"
    SAME = "same"
    CONTENDED = "contended"
    UNRESOLVED = "unresolved"
    NOT_COMPARABLE = "not comparable"


class Reason(Enum):
    """The rule that decided."""

    NO_PAIR = "no pair", Verdict.UNRESOLVED
    OVERLAP = "overlap", Verdict.CONTENDED
    BELOW_RESOLUTION = "below the resolution", Verdict.UNRESOLVED
    NOT_INTERLEAVED = "not interleaved", Verdict.UNRESOLVED
    TOO_FEW = "too few", Verdict.UNRESOLVED
    CONTRADICTORY = "contradictory", Verdict.CONTENDED
    CONTROL_MOVED = "control moved", Verdict.CONTENDED
    PRESSURE = "CPU pressure", Verdict.CONTENDED
    SLOWER = "slower", Verdict.SLOWER
    FASTER = "faster", Verdict.FASTER
    DRIFT = "drift", Verdict.CONTENDED
    WITHIN_MARGIN = "within the margin", Verdict.SAME
    SCATTER = "inside the scatter", Verdict.UNRESOLVED

    @property
    def verdict(self) -> Verdict:
        """The verdict that the rule gives."""
        return self.value[1]


@dataclass(frozen=True)
class Evidence:
    """Everything that the verdict on one row is based on.

    Attributes:
        order: the order of the repetitions in time.
        base: the minimum of each paired repetition of base, in nanoseconds.
        measure: the minimum of each paired repetition of measure, in nanoseconds.
        minimum: the fit to the log minima; None for less than two pairs or with a time of zero.
        median: the fit to the log medians.
        floor: the smallest difference that can be told, in nanoseconds.
        margin: equivalence margin, as a fraction.
    """

    order: Order
    base: Floats
    measure: Floats
    minimum: Fit | None
    median: Fit | None
    floor: float
    margin: float

    @property
    def differences(self) -> Floats:
        """The log ratio of each pair."""
        return np.log(self.measure / self.base)

    @property
    def base_mean(self) -> float:
        """The geometric mean of the minima of base, in nanoseconds."""
        return float(np.exp(np.log(self.base).mean()))

    @property
    def threshold(self) -> float:
        """The log ratio below which a difference does not matter: the margin, or the floor if that is larger."""
        return max(np.log1p(self.margin), np.log1p(self.floor / self.base_mean))

    @property
    def readable(self) -> bool:
        """Whether there are pairs and every minimum lies above the floor."""
        return self.order.pairs > 0 and bool(min(self.base.min(), self.measure.min()) > self.floor)

    @property
    def contradictory(self) -> bool:
        """Whether pairs point in both directions by more than the threshold."""
        d, threshold = self.differences, self.threshold
        return not signs_agree(d) and bool((d > threshold).any() and (d < -threshold).any())

    @property
    def p(self) -> float:
        """The p that is corrected for the family of rows: 1 if the signs disagree or there is no fit."""
        if self.minimum is None or not signs_agree(self.differences):
            return 1.0
        return self.minimum.p


def gather(minima: Floats, medians: Floats, order: Order, floor: float, margin: float) -> Evidence:
    """Collect the evidence of one row from its repetitions.

    Args:
        minima: the minimum of each repetition. The indices in `order` refer to these.
        medians: the median of each repetition.
        order: which repetitions are used, and when they ran.
        floor: see `Evidence`.
        margin: see `Evidence`.
    """
    used = list(order.used)
    base, measure = minima[list(order.base)], minima[list(order.measure)]
    fits = order.pairs > 1 and bool((minima[used] > 0).all())
    return Evidence(
        order=order,
        base=base,
        measure=measure,
        minimum=fit(np.log(minima[used]), order.arms) if fits else None,
        median=fit(np.log(medians[used]), order.arms) if fits else None,
        floor=floor,
        margin=margin,
    )


def decide(
    evidence: Evidence, *, holm_p: float = 0.0, control_moved: bool = False, pressure_apart: bool = False
) -> Reason:
    """Return the verdict on one row whose rulers are the same, as the rule that decides.

    Args:
        evidence: what was measured.
        holm_p: its p corrected for its family of rows, see `holm`. The row's own p must be small in addition.
        control_moved: whether a row that the change can't have affected is slower or faster.
        pressure_apart: whether one arm waited for CPUs much more than the other.
    """
    order = evidence.order
    if order.pairs == 0:
        return Reason.NO_PAIR
    if order.overlapping:
        return Reason.OVERLAP
    if not evidence.readable:
        return Reason.BELOW_RESOLUTION
    if order.pairs > 1 and not order.interleaved:
        return Reason.NOT_INTERLEAVED
    if order.pairs < FEWEST_PAIRS or evidence.minimum is None:
        return Reason.CONTRADICTORY if evidence.contradictory else Reason.TOO_FEW
    if control_moved:
        return Reason.CONTROL_MOVED
    if pressure_apart:
        return Reason.PRESSURE
    return shifted(evidence, evidence.minimum, holm_p) or unshifted(evidence, evidence.minimum)


def shifted(evidence: Evidence, minimum: Fit, holm_p: float) -> Reason | None:
    """Return slower, faster or below the resolution if the signs agree and the interval excludes 0, else None."""
    sign = signs_agree(evidence.differences)
    if not sign or sign != np.sign(minimum.shift) or minimum.p > ALPHA or holm_p > ALPHA:
        return None
    differences = evidence.differences
    differences[np.abs(evidence.measure - evidence.base) <= evidence.floor] = 0
    if signs_agree(differences) != sign or abs(minimum.delta) * evidence.base_mean <= evidence.floor:
        return Reason.BELOW_RESOLUTION
    return Reason.SLOWER if sign > 0 else Reason.FASTER


def unshifted(evidence: Evidence, minimum: Fit) -> Reason:
    """Return the rule for a row that did not move: drift of the load, the same, contradictory, or not known."""
    if abs(minimum.slope) > evidence.threshold and minimum.drifts:
        return Reason.DRIFT
    low, high = minimum.log_interval(1 - 2 * ALPHA)
    margin = np.log1p(evidence.margin)
    if low > -margin and high < margin and evidence.floor <= evidence.margin * evidence.base_mean:
        return Reason.WITHIN_MARGIN
    return Reason.CONTRADICTORY if evidence.contradictory else Reason.SCATTER


def holm(p: Sequence[float]) -> list[float]:
    """Correct p values for their number by Holm's step-down method."""
    adjusted = [1.0] * len(p)
    worst = 0.0
    for rank, i in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        worst = max(worst, min(1.0, p[i] * (len(p) - rank)))
        adjusted[i] = worst
    return adjusted


def control_moved(controls: Sequence[Evidence]) -> bool:
    """Tell whether any row that the change can't have affected is slower or faster."""
    adjusted = holm([control.p for control in controls])
    called = [decide(control, holm_p=p).verdict for control, p in zip(controls, adjusted, strict=True)]
    return any(verdict in (Verdict.SLOWER, Verdict.FASTER) for verdict in called)


def load_correlation(target: Evidence, control: Evidence) -> float | None:
    """Return the correlation of the log minima of both rows over repetitions: whether load affects both alike."""
    if (
        target.order.pairs != control.order.pairs
        or target.order.pairs < 2
        or not (target.readable and control.readable)
    ):
        return None
    logs = (np.log(np.concatenate([row.base, row.measure])) for row in (target, control))
    return correlation(*logs)

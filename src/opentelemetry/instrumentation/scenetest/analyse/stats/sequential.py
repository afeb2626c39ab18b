"""When there are enough pairs to find a shift of a given size.

Whoever looks after every pair and stops at the first significant result calls up to 26 % of equal arms different,
instead of 5 %. This plan looks only at the scatter between processes, which says nothing about the difference between
the arms, and gives the usual verdict once:

1. After 4 pairs the scatter says how many pairs are needed.
2. When these are measured, the scatter is estimated once more. If it now requires more pairs, they are added, once.
3. Then the usual verdict is given, at 5 %.
4. Before that, only a change with p <= .001 ends it early.

docs/explanation/verdict.md has the error rates, and `benchmarks/sequential.py` measures them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from .fit import FEWEST_PAIRS, pairs_needed
from .verdict import Reason, Verdict

EARLY_LEVEL = 0.001
"""A change with this p or a smaller one ends the measurement early."""
MOST_PAIRS = 64
"""The default of the largest number of pairs."""


@dataclass(frozen=True)
class Plan:
    """How many pairs are needed to find a shift.

    Attributes:
        log_shift: the shift, as a log ratio.
        most: the largest number of pairs.
        family: how many rows are tested together, such as the cases of a run. The more there are, the more pairs Holm's
            method requires.
        need: the number of pairs after which the verdict is given; None before the first estimate.
        revised: whether the second estimate was made.
        beyond_reach: whether it would take more pairs than anyone would run.
    """

    log_shift: float
    most: int = MOST_PAIRS
    family: int = 1
    need: int | None = None
    revised: bool = False
    beyond_reach: bool = False

    def after(self, pairs: int, scatter: float) -> Plan:
        """Return the plan after a pair was measured.

        Args:
            pairs: number of pairs.
            scatter: standard deviation between processes, estimated from these pairs; the largest of the family.
        """
        if pairs < FEWEST_PAIRS or self.revised:
            return self
        if self.need is not None and pairs < self.need:
            return self
        first = self.need is None
        plan = self._planned(scatter)
        if first and plan.need is not None and plan.need > pairs:
            return plan
        # This was the second estimate: from here on the number stays.
        return replace(plan, need=max(plan.need or 0, pairs), revised=True)

    def _planned(self, scatter: float) -> Plan:
        need = pairs_needed(scatter, self.log_shift, family=self.family)
        return replace(self, need=self.most if need is None else need, beyond_reach=need is None)

    def expected(self, scatter: float) -> int | None:
        """Return after how many pairs the verdict is likely to be given; None if no number of pairs finds the shift.

        Args:
            scatter: the present estimate. The second estimate, at `need` pairs, will be similar.
        """
        if self.revised:
            return None if self.beyond_reach else self.need
        now = pairs_needed(scatter, self.log_shift, family=self.family)
        return None if now is None else max(now, self.need or 0)

    def finds(self, pairs: int) -> bool:
        """Tell whether so many pairs find the shift."""
        return self.revised and not self.beyond_reach and self.need is not None and pairs >= self.need

    def is_complete(self, pairs: int) -> bool:
        """Tell whether the verdict is to be given after so many pairs."""
        return pairs >= self.most or self.finds(pairs)


def ends_early(reason: Reason, p: float) -> bool:
    """Tell whether a row is decided before all pairs are there.

    Args:
        reason: the rule that decided.
        p: p of the row, corrected for the number of cases.
    """
    return reason.verdict in (Verdict.SLOWER, Verdict.FASTER) and p <= EARLY_LEVEL

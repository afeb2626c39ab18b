"""When enough pairs are measured to tell a shift of a given size.

To look after every pair and stop at the first significant result calls up to 26 % of equal arms different, in place of
5 %. This plan looks at the scatter between processes, which says nothing about the difference between the arms, and
gives the usual verdict once:

1. After 4 pairs the scatter says how many pairs are needed.
2. When they are there, the scatter is estimated once more. If it asks for more pairs now, they are added, once.
3. Then the usual verdict is given, at 5 %.
4. Before that, only a change with p <= .001 ends it early.

docs/explanation/verdict.md has the error rates, and `benchmarks/sequential.py` measures them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from .fit import FEWEST_PAIRS, pairs_needed
from .verdict import Reason, Verdict

EARLY_LEVEL = 0.001
"""The p from which on a change ends the measurement before all pairs are there."""
MOST_PAIRS = 64
"""How many pairs are measured at most if nobody asks for another number."""


@dataclass(frozen=True)
class Plan:
    """How many pairs it takes to find a shift.

    Attributes:
        log_shift: the shift that is to be found, as a log ratio.
        most: no more pairs than these.
        family: how many rows are tested together, such as the cases of a run. Holm's method asks each for more.
        need: pairs after which the verdict is given; None before the first estimate.
        revised: the number of pairs was raised by a second estimate, or did not have to be.
        beyond_reach: no number of pairs that anyone would run finds the shift.
    """

    log_shift: float
    most: int = MOST_PAIRS
    family: int = 1
    need: int | None = None
    revised: bool = False
    beyond_reach: bool = False

    def after(self, pairs: int, scatter: float) -> Plan:
        """Return the plan as it stands after a pair.

        Args:
            pairs: how many pairs there are.
            scatter: standard deviation between processes, as estimated from these pairs; the largest of the family.
        """
        if pairs < FEWEST_PAIRS or self.revised:
            return self
        if self.need is not None and pairs < self.need:
            return self
        first = self.need is None
        plan = self._planned(scatter)
        if first and plan.need is not None and plan.need > pairs:
            return plan
        # The estimate that was due at `need` pairs is made: from here on the number stays.
        return replace(plan, need=max(plan.need or 0, pairs), revised=True)

    def _planned(self, scatter: float) -> Plan:
        need = pairs_needed(scatter, self.log_shift, family=self.family)
        return replace(self, need=self.most if need is None else need, beyond_reach=need is None)

    def expected(self, scatter: float) -> int | None:
        """Return after how many pairs the verdict is likely to be given; None if no number of pairs finds the shift.

        Args:
            scatter: as it is estimated now. At `need` pairs it is estimated once more, and will be about that.
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
        reason: the rule that decided on it.
        p: its p, corrected for the number of cases.
    """
    return reason.verdict in (Verdict.SLOWER, Verdict.FASTER) and p <= EARLY_LEVEL

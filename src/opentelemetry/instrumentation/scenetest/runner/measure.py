"""Measures pairs until enough is known or a limit is reached."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import log1p
from typing import TYPE_CHECKING

from opentelemetry.instrumentation.scenetest.runner.experiment import Experiment

if TYPE_CHECKING:
    # They import numpy and scipy, and the first run must not wait for that.
    from opentelemetry.instrumentation.scenetest.analyse.compare.comparison import Comparison
    from opentelemetry.instrumentation.scenetest.analyse.compare.rows import CaseRows, Row
    from opentelemetry.instrumentation.scenetest.analyse.stats.effort import Effort
    from opentelemetry.instrumentation.scenetest.analyse.stats.sequential import Plan


@dataclass(frozen=True)
class Limits:
    """When to end the measurement.

    Attributes:
        pairs: maximum number of pairs; without `find`, the exact number.
        seconds: time limit in seconds, after which no pair begins; None for no limit.
        find: the shift to find, as a fraction; None to measure all pairs.
    """

    pairs: int
    seconds: float | None = None
    find: float | None = None


def measure(experiment: Experiment, limits: Limits, judge: Callable[[], Comparison]) -> None:
    """Measure pairs until the rulers differ, the shift would have been found, or a limit is reached.

    Args:
        experiment: makes the runs.
        limits: when to stop.
        judge: compares the runs made so far.

    Raises:
        BadInputError: an arm can't be measured.
        KeyboardInterrupt: the user asked to stop.
    """
    report = experiment.on_progress
    search = _Search(experiment, limits) if limits.find is not None else None
    gated = False
    for number in range(1, limits.pairs + 1):
        if number > 1 and not experiment.is_there(number) and not _has_time(experiment, limits):
            report(_at_the_limit(f"the budget allows no more than {_pairs(number - 1)}", search))
            return
        if experiment.broken:
            report(f"the {experiment.broken} failed again and again: comparing what there is")
            return
        made_before = experiment.made
        experiment.pair(number, left=search.left(number) if search else limits.pairs - number + 1)
        if not experiment.has_both:
            continue
        # The first new pair shows whether the rulers are the same, and whether there is anything to compare.
        is_first, is_new = not gated and experiment.made > 0, experiment.made > made_before
        comparison = judge() if is_first or (search and search.wants(number)) else None
        gated = gated or is_first
        if comparison is None:
            continue
        if not comparison.gate.comparable or not comparison.compared:
            return
        if search and (ended := search.look(comparison, silent=not is_new)):
            report(ended)
            return
    if search:
        report(_at_the_limit(f"{_pairs(limits.pairs)}: that is the limit of --max-pairs", search))


class _Search:
    """Checks after every pair whether the shift would have been found."""

    def __init__(self, experiment: Experiment, limits: Limits) -> None:
        from opentelemetry.instrumentation.scenetest.analyse.stats.sequential import Plan

        self._experiment, self._limits = experiment, limits
        self._plan = Plan(log1p(limits.find or 0.0), most=limits.pairs)
        self._widest: Row | None = None
        self._advised = False

    def left(self, number: int) -> int | None:
        """Return how many pairs are still to be made, including this one; None if unknown."""
        if self._widest is None or self._plan.need is None:
            return None
        reachable = self._reachable(number - 1)
        expected = self._plan.expected(_scatter(self._widest))
        return max(1, (reachable if expected is None else min(expected, reachable)) - number + 1)

    def wants(self, number: int) -> bool:
        """Return whether there are enough pairs for a verdict."""
        from opentelemetry.instrumentation.scenetest.analyse.stats.fit import FEWEST_PAIRS

        return number >= FEWEST_PAIRS

    def look(self, comparison: Comparison, *, silent: bool = False) -> str:
        """Check the comparison after a pair.

        Args:
            comparison: the comparison of all pairs so far.
            silent: whether to report no progress, because the pair was measured earlier.

        Returns:
            Why the measurement ends; "" if it continues.
        """
        from opentelemetry.instrumentation.scenetest.analyse.stats.sequential import ends_early

        rows = [(case, row) for case in comparison.cases for row in case.rows if row.role == "named"]
        if hopeless := _hopeless([row for _, row in rows]):
            return hopeless
        # More pairs don't help the other rows. They still count as tests in Holm's method (`family`).
        usable = [(case, row) for case, row in rows if row.evidence.readable and row.evidence.minimum is not None]
        if not usable:
            return ""
        case, widest = max(usable, key=lambda one: _scatter(one[1]))
        self._widest = widest
        pairs = min(row.evidence.order.pairs for _, row in usable)
        self._plan = replace(self._plan, family=widest.family).after(pairs, _scatter(widest))
        if not silent:
            self._tell(case, widest, alone=len(comparison.cases) == 1)
        if all(ends_early(row.reason, row.holm_p) for _, row in usable):
            return f"{_pairs(pairs)}: the change is clear, p <= .001"
        if self._plan.finds(pairs):
            return f"{_pairs(pairs)}: enough to find {100 * (self._limits.find or 0):g} %"
        return ""

    def missed(self) -> str:
        """Return which shifts the measured pairs could not find; "" if they find the wanted shift."""
        from opentelemetry.instrumentation.scenetest.render.forecast_text import missed

        return missed(self._widest, self._plan) if self._widest else ""

    def _tell(self, case: CaseRows, row: Row, *, alone: bool) -> None:
        from opentelemetry.instrumentation.scenetest.render.forecast_text import advice, forecast

        pairs = row.evidence.order.pairs
        title = "" if alone else case.key.title
        if text := forecast(row, self._plan, self._reachable(pairs), self._experiment.pair_seconds, title):
            self._experiment.on_progress(text)
        if self._advised or self._plan.need is None or not alone:
            return
        self._advised = True
        if (weighed := weigh(case, row, self._experiment.pair_seconds / 2, self._plan)) and (text := advice(weighed)):
            self._experiment.on_progress(text)

    def _reachable(self, pairs: int) -> int:
        """Return how many pairs the limits allow in total."""
        if self._limits.seconds is None or not self._experiment.pair_seconds:
            return self._limits.pairs
        more = (self._limits.seconds - self._experiment.elapsed) / self._experiment.pair_seconds
        return min(self._limits.pairs, pairs + max(0, int(more)))


def weigh(case: CaseRows, row: Row, run_seconds: float, plan: Plan) -> Effort | None:
    """Compare the cost of more rounds with that of more processes; None unless each run is one process of one case."""
    from opentelemetry.instrumentation.scenetest.analyse.stats.effort import effort

    ones = [one for of_arm in case.repetitions.values() for one in of_arm]
    if len({one.run for one in ones}) != len(ones) or any(len(one.rounds) < 2 for one in ones):
        return None
    each = sum(one.rounds[-1].start_ns - one.rounds[0].start_ns for one in ones) / sum(
        len(one.rounds) - 1 for one in ones
    )
    rounds = sum(len(one.rounds) for one in ones) / len(ones)
    order = row.evidence.order
    return effort(
        row.warm.rounds[list(order.used)],
        order.arms,
        max(0.0, run_seconds - rounds * each / 1e9),
        each / 1e9,
        row.warm.cold,
        plan.log_shift,
    )


def _at_the_limit(limit: str, search: _Search | None) -> str:
    missed = search.missed() if search else ""
    return f"{limit}; {missed}" if missed else limit


def _has_time(experiment: Experiment, limits: Limits) -> bool:
    return limits.seconds is None or experiment.elapsed + experiment.pair_seconds <= limits.seconds


def _hopeless(rows: list[Row]) -> str:
    """Return why more pairs can't help; "" if they can."""
    if rows and all(row.evidence.order.overlapping for row in rows):
        return "other processes dispatched at the same time: more pairs can't tell more"
    if rows and all(row.evidence.order.pairs and not row.evidence.readable for row in rows):
        return "the times are below what the clock resolves: more pairs can't tell more"
    return ""


def _scatter(row: Row) -> float:
    return row.evidence.minimum.scatter if row.evidence.minimum else 0.0


def _pairs(number: int) -> str:
    return f"{number} pair{'' if number == 1 else 's'}"

"""Sentences on the progress of `ab --find`: how many pairs are needed, and what was found so far."""

from __future__ import annotations

from math import expm1

from opentelemetry.instrumentation.scenetest.analyse.compare.rows import Row
from opentelemetry.instrumentation.scenetest.analyse.stats.effort import Effort
from opentelemetry.instrumentation.scenetest.analyse.stats.fit import findable_shift
from opentelemetry.instrumentation.scenetest.analyse.stats.sequential import Plan
from opentelemetry.instrumentation.scenetest.render import wording
from opentelemetry.instrumentation.scenetest.render.durations import clock

_WORTH_TELLING = 0.8
"""Advise a different number of rounds only if it takes less than this share of the time."""


def forecast(row: Row, plan: Plan, reachable: int, pair_seconds: float, title: str = "") -> str:
    """Return how many pairs find the shift, how long they take, and the estimate so far.

    Args:
        row: the row with the largest scatter.
        plan: the plan after the last pair.
        reachable: how many pairs the limits allow in total.
        pair_seconds: duration of a pair, in seconds.
        title: the case of the row; "" if there is only one case.
    """
    minimum, pairs = row.evidence.minimum, row.evidence.order.pairs
    if minimum is None or plan.need is None:
        return ""
    low, high = minimum.interval(0.95)
    so_far = f"so far {wording.percent(minimum.delta)} (95 %: {100 * low:+.1f} to {100 * high:+.1f})"
    expected = plan.expected(minimum.scatter)
    goal = reachable if expected is None else min(expected, reachable)
    find = _it_takes(plan, expected)
    if expected is None or expected > reachable:
        find += f", the limits allow {reachable}, which find {_found(row, minimum.scatter, reachable)}"
    left = f", about {clock((goal - pairs) * pair_seconds)} left" if goal > pairs else ""
    of = f" of {title}" if title else ""
    return f"scatter{of} {100 * minimum.scatter:.1f} %: {find}{left}; {so_far}"


def missed(row: Row, plan: Plan) -> str:
    """Return what the measured pairs find, and how many would be needed; "" if they find the shift.

    Args:
        row: the row with the largest scatter.
        plan: the plan after the last pair.
    """
    minimum, pairs = row.evidence.minimum, row.evidence.order.pairs
    expected = None if minimum is None else plan.expected(minimum.scatter)
    if minimum is None or (expected is not None and expected <= pairs):
        return ""
    return f"they find {_found(row, minimum.scatter, pairs)}, and {_it_takes(plan, expected)}"


def _it_takes(plan: Plan, pairs: int | None) -> str:
    wanted = wording.unsigned(expm1(plan.log_shift))
    return f"no number of pairs finds {wanted}" if pairs is None else f"{pairs} pairs find {wanted}"


def _found(row: Row, scatter: float, pairs: int) -> str:
    smallest = findable_shift(scatter, pairs, family=row.family)
    return "nothing" if smallest is None else f"{wording.unsigned(expm1(smallest))} or more"


def advice(effort: Effort) -> str:
    """Return advice on fewer or more rounds per process if that saves much time; else ""."""
    costs = f"a process takes {effort.start:.1f} s and {1000 * effort.each:.3g} ms a round"
    share = f"{100 * (1 - effort.within):.0f} % of the variance is between processes"
    if effort.best_seconds <= _WORTH_TELLING * effort.seconds and effort.best_rounds < effort.rounds:
        return (
            f"{costs}, {share}: {wording.count(effort.best_rounds, 'warm round')} in place of {effort.rounds} cost "
            f"least ({effort.best_pairs} pairs in {clock(effort.best_seconds)}, not {effort.pairs} in "
            f"{clock(effort.seconds)})"
        )
    if effort.best_rounds == effort.rounds and effort.within >= 0.5 and effort.start > effort.rounds * effort.each:
        return f"{costs}, {share}: more rounds a process cost less than more processes"
    return ""

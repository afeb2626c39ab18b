"""Words a comparison: each verdict with its evidence, and for `unresolved` what would be needed."""

from __future__ import annotations

from math import expm1, log1p

from opentelemetry.instrumentation.scenetest.analyse.compare.options import Options
from opentelemetry.instrumentation.scenetest.analyse.compare.rows import CaseRows, Row
from opentelemetry.instrumentation.scenetest.analyse.stats.fit import FEWEST_PAIRS, Fit, findable_shift, pairs_needed
from opentelemetry.instrumentation.scenetest.analyse.stats.verdict import Reason
from opentelemetry.instrumentation.scenetest.render.durations import unit_of


def percent(fraction: float) -> str:
    """Return a change in percent, with its sign and one decimal."""
    return f"{100 * fraction:+.1f} %"


def unsigned(fraction: float) -> str:
    """Return a size in percent, with two significant digits."""
    size = 100 * fraction
    return f"{size:.0f} %" if size >= 10 else f"{size:.2g} %"


def duration(nanoseconds: float) -> str:
    """Return a duration in a suitable unit."""
    unit, size = unit_of(nanoseconds)
    return f"{nanoseconds / size:.3g} {unit}"


def findable(row: Row) -> float | None:
    """Return the smallest shift that these runs would find in 9 of 10 comparisons, as a fraction."""
    minimum = row.evidence.minimum
    if minimum is None:
        return None
    shift = findable_shift(minimum.scatter, row.evidence.order.pairs, row.evidence.order.inflation, family=row.family)
    return None if shift is None else expm1(shift)


def needed(row: Row) -> int | None:
    """Return how many pairs would find a shift of the margin; None if unknown or too many."""
    return needed_for(row, row.evidence.margin)


def needed_for(row: Row, share: float) -> int | None:
    """Return how many pairs would find a shift of this fraction; None if unknown or too many."""
    minimum = row.evidence.minimum
    return None if minimum is None else pairs_needed(minimum.scatter, log1p(share), family=row.family)


def verdict(row: Row, options: Options) -> str:
    """Return the verdict on a row as one sentence."""
    return f"{row.reason.verdict.value}: {_because(row, options)}"


def estimate(fit: Fit) -> str:
    """Return a delta with its interval."""
    low, high = fit.interval(0.95)
    return f"{percent(fit.delta)} ({percent(low)} to {percent(high)})"


def agreement(row: Row) -> str:
    """Return how many pairs changed in the same direction as the majority."""
    differences = row.evidence.differences
    up, down = int((differences > 0).sum()), int((differences < 0).sum())
    return f"{max(up, down)} of {len(differences)} pairs agree"


def _because(row: Row, options: Options) -> str:
    evidence, minimum = row.evidence, row.evidence.minimum
    margin = unsigned(evidence.margin)
    if row.reason is Reason.NO_PAIR:
        return _no_pair(row, options)
    if row.reason is Reason.OVERLAP:
        many = "two of the runs ran" if row.at_once < 2 else f"{row.at_once} processes dispatched"
        return f"{many} at the same time and slowed each other"
    if row.reason is Reason.BELOW_RESOLUTION:
        return f"nothing below {duration(evidence.floor)} can be told here"
    if row.reason is Reason.NOT_INTERLEAVED:
        return "the arms ran one after the other, where a change of load looks the same; alternate them"
    if row.reason is Reason.TOO_FEW or minimum is None:
        more = FEWEST_PAIRS - evidence.order.pairs
        return f"{count(evidence.order.pairs, 'pair')} can't tell a change from noise; run {more} more"
    if row.reason is Reason.CONTRADICTORY:
        both_ways = f"pairs point both ways by more than {unsigned(expm1(evidence.threshold))} ({agreement(row)})"
        return both_ways if findable(row) is None else f"{both_ways}; {_not_told(row)}"
    if row.reason is Reason.CONTROL_MOVED:
        return "a control that the change can't have touched moved too"
    if row.reason is Reason.PRESSURE:
        return "one arm waited much more for CPUs than the other"
    if row.reason is Reason.DRIFT:
        return f"the load changed by {percent(expm1(minimum.slope))} from run to run ({agreement(row)})"
    if row.reason is Reason.WITHIN_MARGIN:
        return f"within +-{margin}"
    if row.reason is Reason.SCATTER:
        return _not_told(row)
    if row.reason not in (Reason.SLOWER, Reason.FASTER):
        return row.reason.value[0]
    low, high = minimum.interval(0.95)
    return f"{percent(minimum.delta)} (95 %: {percent(low)} to {percent(high)}), {agreement(row)}"


def _no_pair(row: Row, options: Options) -> str:
    if row.short:
        runs = ", ".join(f"{run} ({count(rounds, 'round')})" for run, rounds in row.short)
        return f"no pair is left without {runs}, under half the median number of rounds ({row.median_rounds:g})"
    what = "that has all the spans" if row.lacking else "that passed"
    return f"no pair of runs has a round beyond the {options.cold} cold {what}; run more rounds, or lower --cold"


def pressure(case: CaseRows) -> str:
    """Return how much the arms waited for CPUs; "" if it was not recorded."""
    known = {arm: share for arm, share in case.pressure.items() if share is not None}
    shares = ", ".join(f"{arm.value} {100 * share:.0f} %" for arm, share in known.items())
    return f"CPU pressure: {shares}" if shares else ""


def overhead(case: CaseRows) -> str:
    """Return the recorded duration of an empty dispatch in both arms; "" if neither recorded it."""
    known = {arm: one for arm, one in case.overhead.items() if one is not None}
    if not known:
        return ""
    durations = [
        f"{arm.value} {duration(one.p50_ns)} (p99 {duration(one.p99_ns)})"
        if (one := case.overhead[arm]) is not None
        else f"{arm.value} not recorded"
        for arm in case.overhead
    ]
    return f"an empty dispatch reads as: {', '.join(durations)}"


def resolution(row: Row) -> str:
    """Return the scatter, the drift and the smallest shift that could be found; "" without a fit."""
    minimum, smallest, pairs = row.evidence.minimum, findable(row), needed(row)
    if minimum is None:
        return ""
    found = "too few pairs to find anything" if smallest is None else f"smallest shift findable {unsigned(smallest)}"
    wanted = "no number of pairs finds" if pairs is None else f"{pairs} pairs find"
    return (
        f"scatter between processes {unsigned(minimum.scatter)}, drift {percent(expm1(minimum.slope))} a run, "
        f"{found}, {wanted} {unsigned(row.evidence.margin)}"
    )


def too_few_for(row: Row, share: float) -> str:
    """Return a warning if the pairs of a row are too few to find a shift of this fraction; else ""."""
    minimum, smallest = row.evidence.minimum, findable(row)
    if minimum is None or share <= 0 or (smallest is not None and smallest <= share):
        return ""
    pairs = needed_for(row, share)
    found = "find nothing" if smallest is None else f"find a shift of {unsigned(smallest)} or more"
    wanted = "no number of pairs finds" if pairs is None else f"{pairs} pairs find"
    return f"{count(row.evidence.order.pairs, 'pair')} {found}; {wanted} {unsigned(share)}"


def controls(row: Row) -> list[str]:
    """Return one line per control: its change, and its correlation with the row."""
    lines: list[str] = []
    for control, correlation in row.controls:
        minimum = control.evidence.minimum
        if minimum is None:
            lines.append(f"control {control.name}: no interval")
            continue
        low, high = minimum.interval(0.90)
        seen = "" if correlation is None else f", correlation {correlation:+.2f}"
        change = f"{percent(minimum.delta)} (90 %: {percent(low)} to {percent(high)})"
        lines.append(f"control {control.name}: {change}{seen}")
    return lines


def remarks(row: Row, options: Options) -> list[str]:
    """Return remarks on the rounds and repetitions of a row."""
    warm, minimum, median = row.warm, row.evidence.minimum, row.evidence.median
    lines: list[str] = []
    if warm.cold > options.cold:
        lines.append(f"{count(warm.cold, 'round')} dropped as cold: {warm.cold - options.cold} more were warming up")
    if warm.falling:
        lines.append("rounds still get faster at the end: more rounds would give a lower minimum")
    if minimum and median and minimum.shift < 0 < median.log_interval(0.95)[0]:
        lines.append("the minimum fell and the median rose: a wider range, not a faster one")
    return [*lines, *not_used(row)]


def not_used(row: Row) -> list[str]:
    """Return the measurements of a row that are not used, with the reason."""
    said: list[str] = []
    if row.failed:
        said.append(f"{count(row.failed, 'round')} did not pass")
    if row.lacking:
        said.append(f"{count(row.lacking, 'round')} without all of its spans")
    said += [
        f"{run} is left out: {count(rounds, 'round')}, under half the median number ({row.median_rounds:g})"
        for run, rounds in row.short
    ]
    if row.surplus:
        said.append(f"without a partner, not used: {', '.join(row.surplus)}")
    short = {run for run, _ in row.short}
    beyond = sum(one.count("not used") for of_arm in row.series.values() for one in of_arm if one.run not in short)
    if beyond and row.pairs:
        warm = row.warm.rounds.shape[1]
        said.append(
            f"{count(beyond, 'round')} not used: of each run the first {warm} warm ones are, as the shortest has"
        )
    return said


def _not_told(row: Row) -> str:
    """Return the smallest shift that these runs could find, and how many more pairs are needed for the margin."""
    margin = unsigned(row.evidence.margin)
    smallest, pairs = findable(row), needed(row)
    below = f"{f'below about {unsigned(smallest)} ' if smallest else ''}nothing can be told here"
    if pairs is None:
        return f"{below}; no number of pairs would tell {margin}"
    more = pairs - row.evidence.order.pairs
    return f"{below}; run {count(more, 'more pair')} to tell {margin}" if more > 0 else below


def count(number: int, noun: str, plural: str = "s") -> str:
    """Return a number of things, such as "1 pair"."""
    return f"{number} {noun}{'' if number == 1 else plural}"

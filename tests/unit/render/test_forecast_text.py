"""What `ab --find` says after a pair, and when a limit ends it."""

from __future__ import annotations

from math import log1p

from support.arms import arms

from opentelemetry.instrumentation.scenetest.analyse.compare.comparison import compare
from opentelemetry.instrumentation.scenetest.analyse.compare.options import Options
from opentelemetry.instrumentation.scenetest.analyse.compare.rows import Row
from opentelemetry.instrumentation.scenetest.analyse.stats.sequential import Plan
from opentelemetry.instrumentation.scenetest.render.forecast_text import forecast, missed

MS = 1_000_000


def row_of(*base: int) -> Row:
    """A row of four pairs; the measure is 2 ms slower in each."""
    times = [time * MS for time in base]
    (row,) = compare(*arms(times, [time + 2 * MS for time in times]), Options()).named
    return row


def after_four_pairs(row: Row, percent: float) -> Plan:
    assert row.evidence.minimum is not None
    return Plan(log1p(percent / 100)).after(4, row.evidence.minimum.scatter)


def test_it_says_the_scatter_the_pairs_the_time_and_what_is_known_so_far() -> None:
    row = row_of(100, 104, 97, 103)
    assert forecast(row, after_four_pairs(row, 5), reachable=64, pair_seconds=10.0) == (
        "scatter 3.4 %: 14 pairs find 5 %, about 1:40 left; so far +1.9 % (95 %: -4.4 to +8.6)"
    )


def test_limits_that_are_too_tight_are_said_with_what_they_find() -> None:
    row = row_of(100, 104, 97, 103)
    said = forecast(row, after_four_pairs(row, 5), reachable=6, pair_seconds=10.0)
    assert "14 pairs find 5 %, the limits allow 6, which find 11 % or more, about 0:20 left; " in said


def test_a_scatter_that_has_grown_since_the_plan_was_made_counts() -> None:
    plan = after_four_pairs(row_of(100, 103, 98, 102), 5)
    assert plan.need == 9
    assert forecast(row_of(100, 104, 97, 103), plan, reachable=64, pair_seconds=10.0).startswith(
        "scatter 3.4 %: 14 pairs find 5 %, "
    )


def test_a_shift_that_nobody_would_find_is_out_of_reach() -> None:
    row = row_of(100, 160, 70, 130)
    said = forecast(row, after_four_pairs(row, 1), reachable=64, pair_seconds=10.0, title="Suite::case")
    assert said.startswith("scatter of Suite::case ")
    assert "no number of pairs finds 1 %, the limits allow 64, which find " in said


def test_at_the_limit_it_says_what_the_pairs_find_and_how_many_it_takes() -> None:
    row = row_of(100, 104, 97, 103)
    assert missed(row, after_four_pairs(row, 5)) == "they find 11 % or more, and 14 pairs find 5 %"
    assert not missed(row, after_four_pairs(row, 50))

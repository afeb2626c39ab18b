"""When `ab --find` has measured enough, and how often it is wrong. benchmarks/sequential.py has more draws."""

from __future__ import annotations

import runpy
from math import log1p
from pathlib import Path

import numpy as np
import pytest

from opentelemetry.instrumentation.scenetest.analyse.stats.sequential import Plan, ends_early
from opentelemetry.instrumentation.scenetest.analyse.stats.verdict import Reason, Verdict

BENCHMARK = runpy.run_path(str(Path(__file__).parents[3] / "benchmarks" / "sequential.py"))
experiments, share, mean_pairs, naive, noises, of_several = (
    BENCHMARK[name] for name in ("experiments", "share", "mean_pairs", "naive", "noises", "of_several")
)
CHANGES = (Verdict.SLOWER, Verdict.FASTER)
FIVE_PERCENT = Plan(log1p(0.05))


def test_nothing_is_planned_before_the_fourth_pair() -> None:
    assert FIVE_PERCENT.after(3, 0.04) == FIVE_PERCENT
    assert not FIVE_PERCENT.is_complete(3)


def test_the_fourth_pair_says_how_many_are_needed() -> None:
    plan = FIVE_PERCENT.after(4, 0.04)
    assert plan.need == 19
    assert not plan.is_complete(18)


def test_a_small_scatter_is_complete_at_once() -> None:
    plan = FIVE_PERCENT.after(4, 0.01)
    assert plan.need == 4
    assert plan.is_complete(4)


def test_the_scatter_between_the_two_estimates_changes_nothing() -> None:
    plan = FIVE_PERCENT.after(4, 0.04)
    assert plan.after(12, 0.01) == plan
    assert plan.after(12, 0.2) == plan


def test_the_second_estimate_may_add_pairs_once() -> None:
    plan = FIVE_PERCENT.after(4, 0.03).after(11, 0.04)
    assert plan.need == 19
    assert not plan.is_complete(11)
    assert plan.after(19, 0.2) == plan
    assert plan.is_complete(19)


def test_the_second_estimate_takes_no_pairs_away() -> None:
    plan = FIVE_PERCENT.after(4, 0.04).after(19, 0.01)
    assert plan.need == 19
    assert plan.is_complete(19)


def test_the_largest_number_of_pairs_ends_it() -> None:
    plan = Plan(log1p(0.05), most=10).after(4, 0.5)
    assert plan.beyond_reach
    assert not plan.is_complete(9)
    assert plan.is_complete(10)


def test_only_a_change_with_a_very_small_p_ends_it_early() -> None:
    assert ends_early(Reason.SLOWER, 0.001)
    assert ends_early(Reason.FASTER, 0.0)
    assert not ends_early(Reason.SLOWER, 0.002)
    assert not ends_early(Reason.WITHIN_MARGIN, 0.0)
    assert not ends_early(Reason.CONTROL_MOVED, 0.0)


@pytest.mark.parametrize("noise", ["normal, scatter 4 %", "step of 10 %", "heavy tails", "real processes, a2 bind"])
def test_looking_after_every_pair_makes_no_false_alarms(noise: str) -> None:
    draw = next(one for name, one in noises().items() if noise in name)
    assert share(experiments(draw, 0, 300), *CHANGES) <= 6


def test_looking_naively_does() -> None:
    assert share(experiments(noises()["normal, scatter 4 %"], 0, 100, naive), *CHANGES) > 9


def test_the_shift_that_was_asked_for_is_found() -> None:
    found = experiments(noises()["normal, scatter 4 %"], 0.05, 300)
    assert share(found, Verdict.SLOWER) >= 90
    assert share(found, Verdict.SAME) <= 6


def test_a_plan_for_several_cases_asks_for_more_pairs() -> None:
    assert Plan(log1p(0.05), family=10).after(4, 0.04).need == 27


def test_the_one_of_ten_cases_that_changed_is_found_and_a_plan_without_holm_misses_it() -> None:
    called, found, _, careless, _ = map(float, of_several((*(0.01,) * 9, 0.04), 200).split(" | "))
    assert called <= 8
    assert found >= 86
    assert careless < found


def test_equal_arms_are_called_the_same_and_a_large_change_ends_it_soon() -> None:
    draw = noises()["normal, scatter 4 %"]
    assert share(experiments(draw, 0, 200), Verdict.SAME) >= 85
    assert mean_pairs(experiments(draw, 0.2, 100)) < 6


def test_the_noise_is_as_wide_as_its_name_says() -> None:
    random = np.random.default_rng(1)
    drawn = [noises()["autocorrelated (.5), scatter 4 %"](random).std() for _ in range(50)]
    assert np.mean(drawn) == pytest.approx(0.04, abs=0.003)


def test_what_is_expected_follows_the_scatter_until_the_number_of_pairs_is_fixed() -> None:
    plan = FIVE_PERCENT.after(4, 0.04)
    assert plan.need == 19
    assert plan.expected(0.08) == 70
    assert plan.expected(0.01) == 19
    assert plan.expected(1.0) is None
    assert plan.after(19, 0.04).expected(0.08) == 19

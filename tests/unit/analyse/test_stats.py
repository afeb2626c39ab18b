"""Reduction, warm-up, order, floor, sign agreement and power, each by itself."""

from __future__ import annotations

from math import log1p

import numpy as np
import pytest

from opentelemetry.instrumentation.scenetest.analyse.stats.fit import (
    allowed_dissent,
    findable_shift,
    floor,
    pairs_needed,
    signs_agree,
    tick,
)
from opentelemetry.instrumentation.scenetest.analyse.stats.order import Arm, inflation, order
from opentelemetry.instrumentation.scenetest.analyse.stats.rounds import (
    round_total,
    still_falling,
    warm_rounds,
    warm_up,
)


def arms(turns: str) -> list[Arm]:
    return [Arm.BASE if turn == "B" else Arm.MEASURE for turn in turns]


def in_turns(turns: str):
    return order(arms(turns), range(0, 10 * len(turns), 10), range(5, 10 * len(turns) + 5, 10))


def test_repeated_names_of_a_round_are_summed():
    assert round_total({0: [("bind", 3), ("bind", 4), ("run", 90)]}, ["bind"]) == 7


def test_the_slowest_rank_is_the_time_of_a_round():
    assert round_total({0: [("a", 3), ("b", 4)], 1: [("a", 6), ("b", 2)]}, ["a", "b"]) == 8


def test_a_round_that_lacks_a_chosen_name_has_no_total():
    assert round_total({0: [("a", 3)], 1: [("b", 3)]}, ["a", "b"]) is None
    assert round_total({}, ["a"]) is None


def test_all_repetitions_are_cut_to_the_shortest():
    warm = warm_rounds([[9, 1, 2, 3, 4], [9, 4, 3, 2], [9, 5, 5, 5, 1]])
    assert warm.rounds.tolist() == [[1, 2, 3], [4, 3, 2], [5, 5, 5]]
    assert warm.minima.tolist() == [1, 2, 5]
    assert warm.medians.tolist() == [2, 3, 5]


def test_a_repetition_with_under_half_the_median_number_of_rounds_is_dropped():
    warm = warm_rounds([[9, 1, 1, 1, 1, 1], [9, 1], [9, 1, 1, 1, 1, 1], [9, 1, 1]])
    assert warm.kept == (0, 2, 3)
    assert warm.rounds.shape == (3, 2)


def test_nothing_is_left_of_a_single_round_that_is_cold():
    assert warm_rounds([[9.0], [9.0]]).rounds.shape == (2, 0)
    assert warm_rounds([]).rounds.shape == (0, 0)


def test_a_single_round_that_is_not_cold_is_minimum_and_median():
    warm = warm_rounds([[9.0], [8.0]], cold=0)
    assert warm.minima.tolist() == warm.medians.tolist() == [9, 8]
    assert (warm.cold, warm.falling) == (0, False)


def test_rounds_that_are_still_warming_up_are_dropped_too():
    steady = np.tile([5.0, 4, 6, 5, 4, 6, 5, 4, 6, 5], (6, 1))
    slow_start = np.hstack([np.full((6, 1), 100.0), np.full((6, 2), 9.0), steady])
    assert warm_up(slow_start) == 3
    assert warm_up(np.hstack([np.full((6, 1), 100.0), steady])) == 1


def test_at_most_a_third_of_the_rounds_is_taken_for_warm_up():
    falling = np.tile(np.arange(12, 0, -1, dtype=np.float64), (6, 1))
    assert warm_up(falling) == 4


def test_no_fewer_than_the_cold_rounds_asked_for_are_dropped():
    assert warm_up(np.ones((4, 12)), cold=5) == 5


def test_rounds_that_get_faster_to_the_end_are_flagged():
    falling = np.tile(np.arange(12, 0, -1, dtype=np.float64), (6, 1))
    assert still_falling(falling)
    assert not still_falling(falling[:, ::-1])
    assert not still_falling(falling[:, :3])
    assert not still_falling(falling[:1])


def test_a_hundred_thousand_rounds_are_told_to_fall_too():
    falling = np.repeat(np.arange(100_000, 0, -2, dtype=np.float64), 2)
    assert still_falling(np.array([falling, falling]))
    assert not still_falling(np.array([falling[::-1], falling[::-1]]))
    assert not still_falling(np.array([falling, falling[::-1]]))


@pytest.mark.parametrize(
    ("turns", "expected"), [("BMBMBMBM", 1.05), ("ABBAABBA", 1.0), ("BBMMBBMM", 1.24), ("BBBBMMMM", 4.2)]
)
def test_variance_inflation_by_order(turns: str, expected: float):
    assert inflation(arms(turns.replace("A", "M"))) == pytest.approx(expected, abs=0.005)


@pytest.mark.parametrize("turns", ["BMBMBMBM", "BMMBBMMB", "BBMMBBMM"])
def test_arms_that_take_turns_are_interleaved(turns: str):
    assert in_turns(turns).interleaved


@pytest.mark.parametrize("turns", ["BBBBMMMM", "BBMMMMBB", "BBMM"])
def test_arms_one_after_the_other_are_not_interleaved(turns: str):
    assert not in_turns(turns).interleaved


def test_the_kth_base_pairs_with_the_kth_measure_and_the_surplus_is_left_out():
    found = order(arms("MBBBM"), [50, 10, 30, 70, 20], [55, 15, 35, 75, 25])
    assert (found.base, found.measure, found.surplus) == ((1, 2), (4, 0), (3,))
    assert found.used == (1, 4, 2, 0)
    assert found.arms == tuple(arms("BMBM"))
    assert not found.overlapping


def test_two_repetitions_at_the_same_time_overlap():
    assert order(arms("BM"), [0, 10], [11, 20]).overlapping
    assert not order(arms("BM"), [0, 10], [10, 20]).overlapping


def test_the_tick_is_read_off_the_durations():
    assert tick(np.arange(1000, 2000, 20, dtype=np.float64)) == 20
    assert tick(np.array([40.0, 80, 100])) == 1
    assert tick(np.array([40.0, 80, 100]), device=True) == 20
    assert tick(np.full(30, 500.0)) == 1


def test_the_floor_is_two_ticks_or_the_resolution_and_the_cost_of_extra_markers():
    assert floor(1) == 100
    assert floor(80) == 160
    assert floor(1, resolution_ns=0) == 2
    assert floor(1, child_spans=(4, 5.5)) == 100 + 1.5 * 2400


@pytest.mark.parametrize(("pairs", "allowed"), [(7, 2), (8, 3), (9, 5), (10, 8), (12, 13), (16, 29)])
def test_dissent_that_a_signed_rank_test_allows(pairs: int, allowed: int):
    assert allowed_dissent(pairs) == allowed


def test_up_to_six_pairs_all_must_agree():
    assert signs_agree(np.array([1.0, 2, 3, 4, 5, 6])) == 1
    assert signs_agree(-np.array([1.0, 2, 3, 4, 5, 6])) == -1
    assert signs_agree(np.array([1.0, 2, 3, 4, 5, -0.1])) == 0
    assert signs_agree(np.array([1.0, 2, 3, 0])) == 0
    assert signs_agree(np.array([])) == 0


def test_from_seven_pairs_on_small_dissent_is_agreement():
    assert signs_agree(np.array([10.0, 9, 8, 7, 6, 5, -2])) == 1
    assert signs_agree(np.array([10.0, 9, 8, 7, 6, -2, -1])) == 0
    assert signs_agree(np.array([10.0, 9, 8, 7, 6, 5, 0])) == 1
    assert signs_agree(np.array([10.0, 9, 8, 7, 6, 0, 0])) == 0


def test_pairs_needed_to_find_five_percent():
    needed = {s: pairs_needed(s, log1p(0.05)) for s in (0.015, 0.02, 0.03, 0.043)}
    assert needed == {0.015: 4, 0.02: 7, 0.03: 11, 0.043: 21}
    assert pairs_needed(0.07, log1p(0.05)) == pytest.approx(55, abs=1)
    assert pairs_needed(0.11, log1p(0.05)) == pytest.approx(133, abs=2)
    assert pairs_needed(1.0, log1p(0.05)) is None
    assert pairs_needed(0.0, log1p(0.05)) == 4


def test_more_pairs_find_smaller_shifts():
    found = [findable_shift(1.0, pairs) for pairs in (4, 7, 8, 16, 32, 64)]
    assert found == pytest.approx([3.1, 2.25, 2.1, 1.3, 0.9, 0.65], abs=0.05)


def test_a_row_that_is_tested_with_others_needs_a_larger_shift():
    found = [findable_shift(1.0, pairs, family=10) for pairs in (4, 8, 16, 64)]
    assert found == pytest.approx([5.0, 2.5, 1.6, 0.75], abs=0.1)
    # At 6 pairs the signs ask for more than the t test, whatever its level.
    assert findable_shift(1.0, 6, family=2) == findable_shift(1.0, 6) == 3.0


def test_pairs_needed_grow_with_the_number_of_rows_tested_together():
    assert [pairs_needed(0.02, log1p(0.05), family=family) for family in (1, 2, 3, 10, 30)] == [7, 7, 7, 9, 11]

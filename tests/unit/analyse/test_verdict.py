"""The worked examples and edge cases of the verdict, to the digits that are written down."""

from __future__ import annotations

from collections.abc import Sequence
from math import expm1

import numpy as np
import pytest

from opentelemetry.instrumentation.scenetest.analyse.stats.fit import findable_shift
from opentelemetry.instrumentation.scenetest.analyse.stats.order import Arm, order
from opentelemetry.instrumentation.scenetest.analyse.stats.verdict import (
    Evidence,
    Reason,
    Verdict,
    control_moved,
    decide,
    gather,
    holm,
    load_correlation,
)

BASE = (100, 101, 99, 100)
MEASURE = (110, 112, 109, 111)


def evidence(
    base: Sequence[float], measure: Sequence[float], turns: str = "", *, floor: float = 0, margin: float = 0.05
) -> Evidence:
    """Lay the minima of both arms out in time, one after the other in the order of `turns` (BMBM... if not given)."""
    turns = turns or "BM" * len(base)
    minima = {"B": iter(base), "M": iter(measure)}
    times = np.array([next(minima[turn]) for turn in turns], dtype=float)
    arms = [Arm.BASE if turn == "B" else Arm.MEASURE for turn in turns]
    starts = range(0, 10 * len(turns), 10)
    return gather(times, times, order(arms, starts, [start + 5 for start in starts]), floor, margin)


def test_example_1_a_shift_that_all_pairs_show_is_slower():
    row = evidence(BASE, MEASURE)
    assert decide(row) is Reason.SLOWER
    assert row.minimum is not None
    assert row.minimum.delta == pytest.approx(0.105524, abs=5e-7)
    assert row.minimum.interval(0.95) == pytest.approx((0.083204, 0.128303), abs=5e-7)
    assert row.minimum.shift_se == pytest.approx(0.007934, abs=5e-7)
    assert row.minimum.scatter == pytest.approx(0.007934 / 0.525**0.5, abs=5e-7)
    assert row.minimum.p == pytest.approx(0.000055, abs=5e-7)


def test_example_2_pairs_that_point_either_way_are_contended():
    row = evidence((100, 120, 95, 110), (115, 105, 118, 96))
    assert decide(row) is Reason.CONTRADICTORY
    assert decide(row).verdict is Verdict.CONTENDED
    assert np.sign(row.differences).tolist() == [1, -1, 1, -1]
    assert row.minimum is not None
    assert row.minimum.delta == pytest.approx(0.031531, abs=5e-7)
    assert row.minimum.interval(0.95) == pytest.approx((-0.151697, 0.254336), abs=5e-7)


def test_example_3_times_within_the_margin_are_the_same():
    row = evidence((100, 101, 100, 99), (100.5, 100.5, 99.5, 100))
    assert decide(row) is Reason.WITHIN_MARGIN
    assert row.minimum is not None
    assert row.minimum.delta == pytest.approx(0.002896, abs=5e-7)
    assert row.minimum.interval(0.90) == pytest.approx((-0.005427, 0.011289), abs=5e-7)


def test_example_4_arms_one_after_the_other_are_never_a_change():
    row = evidence(BASE, MEASURE, "BBBBMMMM")
    assert decide(row) is Reason.NOT_INTERLEAVED
    assert decide(row).verdict is Verdict.UNRESOLVED
    assert row.minimum is not None
    assert row.minimum.delta == pytest.approx(0.109400, abs=5e-7)
    assert row.minimum.interval(0.95) == pytest.approx((0.065057, 0.155590), abs=5e-7)


def test_example_5_a_ramp_of_load_is_contended_although_all_signs_agree():
    row = evidence((100, 120, 141, 159), (111, 130, 149, 171))
    assert decide(row) is Reason.DRIFT
    assert decide(row).verdict is Verdict.CONTENDED
    assert (row.differences > 0).all()
    assert row.minimum is not None
    assert row.minimum.delta == pytest.approx(0.003461, abs=5e-7)
    assert row.minimum.interval(0.95) == pytest.approx((-0.028119, 0.036067), abs=5e-7)
    assert row.minimum.slope == pytest.approx(0.074632, abs=5e-7)


def test_a_shift_without_any_scatter_is_slower_with_p_0():
    row = evidence([100] * 4, [110] * 4)
    assert decide(row) is Reason.SLOWER
    assert row.minimum is not None
    assert row.minimum.p == 0
    assert row.minimum.scatter == 0


def test_equal_times_without_any_scatter_are_the_same_with_p_1():
    row = evidence([100] * 4, [100] * 4)
    assert decide(row) is Reason.WITHIN_MARGIN
    assert row.minimum is not None
    assert row.minimum.p == 1


def test_three_pairs_are_too_few():
    assert decide(evidence(BASE[:3], MEASURE[:3])) is Reason.TOO_FEW


def test_two_pairs_that_contradict_each_other_are_contended():
    assert decide(evidence((100, 100), (110, 95))) is Reason.CONTRADICTORY


def test_one_pair_is_too_few_and_has_no_interval():
    row = evidence((100,), (110,))
    assert decide(row) is Reason.TOO_FEW
    assert row.minimum is None


def test_no_pair_is_unresolved():
    assert decide(evidence((100,), (), "B")) is Reason.NO_PAIR


def test_a_time_of_zero_is_below_the_resolution():
    row = evidence((100, 0, 99, 100), MEASURE)
    assert decide(row) is Reason.BELOW_RESOLUTION
    assert row.minimum is None


def test_a_difference_that_the_clock_can_not_resolve_is_below_the_resolution():
    assert decide(evidence((200, 200, 220, 200), (240, 240, 260, 240), floor=50)) is Reason.BELOW_RESOLUTION
    assert decide(evidence((200, 200, 220, 200), (240, 240, 260, 240), floor=30)) is Reason.SLOWER


def test_faster_is_the_mirror_image_of_slower():
    assert decide(evidence(MEASURE, BASE)) is Reason.FASTER


def test_repetitions_that_ran_at_the_same_time_are_contended():
    arms = [Arm.BASE, Arm.MEASURE] * 4
    times = np.array([100.0, 110.0] * 4)
    starts = [10.0 * k for k in range(8)]
    ends = [start + 5 for start in starts]
    ends[2] = 30.5
    assert decide(gather(times, times, order(arms, starts, ends), 0, 0.05)) is Reason.OVERLAP


def test_wide_scatter_is_unresolved():
    row = evidence((100, 103, 98, 104), (103, 101, 104, 106))
    assert decide(row) is Reason.SCATTER
    assert decide(row).verdict is Verdict.UNRESOLVED


def test_same_is_not_said_where_the_clock_can_not_tell_the_margin():
    assert decide(evidence([100] * 4, [100] * 4, floor=5)) is Reason.WITHIN_MARGIN
    assert decide(evidence([100] * 4, [100] * 4, floor=6)) is Reason.SCATTER


def test_a_row_among_many_needs_its_p_within_the_family():
    row = evidence(BASE, MEASURE)
    assert decide(row, holm_p=0.05) is Reason.SLOWER
    assert decide(row, holm_p=0.051) is Reason.SCATTER


def test_holm_multiplies_the_smallest_p_by_the_number_of_rows_and_never_falls():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_a_row_whose_signs_disagree_enters_the_family_with_p_1():
    base, measure = (100, 100, 100, 100, 100), (120, 121, 119, 120, 99.9)
    row = evidence(base, measure)
    assert row.minimum is not None
    assert row.minimum.p < 0.05
    assert row.p == 1
    assert evidence(BASE, MEASURE).p == pytest.approx(0.000055, abs=5e-7)


def test_a_control_that_moved_makes_the_target_contended():
    moved = control_moved([evidence(BASE, MEASURE)])
    assert moved
    assert decide(evidence(BASE, MEASURE), control_moved=moved) is Reason.CONTROL_MOVED


def test_a_control_that_held_upgrades_nothing():
    held = control_moved([evidence([100] * 4, [100] * 4)])
    assert not held
    assert decide(evidence(BASE[:3], MEASURE[:3]), control_moved=held) is Reason.TOO_FEW


def test_several_controls_are_corrected_for_their_number():
    base, measure = (100, 101, 102, 100), (103, 103.5, 105.5, 102)
    one = evidence(base, measure)
    assert 0.01 < one.p < 0.05
    assert control_moved([one])
    assert not control_moved([one, *[evidence([100] * 4, [100] * 4)] * 4])


def test_the_correlation_with_a_control_is_that_of_the_log_minima():
    target = evidence((100, 120, 141, 159), (111, 130, 149, 171))
    double = evidence((200, 240, 282, 318), (222, 260, 298, 342))
    assert load_correlation(target, double) == pytest.approx(1)
    assert load_correlation(target, evidence([100] * 4, [100] * 4)) is None


def test_the_smallest_findable_shift_is_said_from_four_pairs_on():
    assert findable_shift(0.07, 3) is None
    found = {"orch": 0.055, "bind": 0.083, "chip.run": 0.13}
    assert {name: expm1(findable_shift(s, 4) or 0) for name, s in found.items()} == pytest.approx(
        {"orch": 0.186, "bind": 0.293, "chip.run": 0.496}, abs=1e-3
    )

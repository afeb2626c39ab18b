"""Two arms held against each other, on times that are given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from support.arms import CLEAN, KEY, arms, repetition

from opentelemetry.instrumentation.scenetest.analyse.compare.comparison import Comparison, compare
from opentelemetry.instrumentation.scenetest.analyse.compare.options import Options
from opentelemetry.instrumentation.scenetest.analyse.compare.repetitions import Repetition, Rounds
from opentelemetry.instrumentation.scenetest.analyse.compare.rows import Row
from opentelemetry.instrumentation.scenetest.analyse.stats.order import Arm
from opentelemetry.instrumentation.scenetest.analyse.stats.verdict import Reason, Verdict
from opentelemetry.instrumentation.scenetest.conditions.values import NOT_RECORDED, Value
from opentelemetry.instrumentation.scenetest.errors import BadInputError
from opentelemetry.instrumentation.scenetest.render import wording

MS = 1_000_000
BASE = [100 * MS, 101 * MS, 99 * MS, 100 * MS]
SLOWER = [110 * MS, 112 * MS, 109 * MS, 111 * MS]
WIDE = [103 * MS, 101 * MS, 104 * MS, 106 * MS]
ENABLED = {**CLEAN, "torch.backend_autoload.effective": "enabled"}


def only_row(comparison: Comparison) -> Row:
    (row,) = comparison.named
    return row


def test_the_dispatch_is_what_is_tested_without_more_words() -> None:
    row = only_row(compare(*arms(BASE, SLOWER), Options()))
    assert (row.name, row.reason.verdict) == ("dispatch", Verdict.SLOWER)
    assert wording.verdict(row, Options()) == "slower: +10.6 % (95 %: +8.3 % to +12.8 %), 4 of 4 pairs agree"


def test_every_pair_shows_its_minima_and_runs() -> None:
    row = only_row(compare(*arms(BASE, SLOWER), Options()))
    assert [(pair.base_run, pair.measure_run, pair.base_ns, pair.measure_ns) for pair in row.pairs] == [
        ("base-1", "meas-1", 100 * MS, 110 * MS),
        ("base-2", "meas-2", 101 * MS, 112 * MS),
        ("base-3", "meas-3", 99 * MS, 109 * MS),
        ("base-4", "meas-4", 100 * MS, 111 * MS),
    ]


def test_unresolved_says_what_could_not_be_told_and_what_it_takes() -> None:
    row = only_row(compare(*arms([100 * MS, 103 * MS, 98 * MS, 104 * MS], WIDE), Options()))
    assert wording.verdict(row, Options()) == (
        "unresolved: below about 7.3 % nothing can be told here; run 4 more pairs to tell 5 %"
    )


def test_what_can_be_told_of_a_case_depends_on_how_many_cases_are_tested_together() -> None:
    of_cases = [arms([100 * MS, 103 * MS, 98 * MS, 104 * MS], WIDE, key=KEY._replace(case=name)) for name in "abc"]
    base, measure = ([one for case in of_cases for one in case[arm]] for arm in (0, 1))
    rows = compare(base, measure, Options()).named
    assert [row.family for row in rows] == [3, 3, 3]
    assert {wording.verdict(row, Options()) for row in rows} == {
        "unresolved: below about 9.6 % nothing can be told here; run 5 more pairs to tell 5 %"
    }


def test_arms_one_after_the_other_are_unresolved_in_words() -> None:
    row = only_row(compare(*arms(BASE, SLOWER, turns="BBBBMMMM"), Options()))
    assert wording.verdict(row, Options()).startswith("unresolved: the arms ran one after the other")


def test_too_few_pairs_say_how_many_are_missing() -> None:
    row = only_row(compare(*arms(BASE[:3], SLOWER[:3]), Options()))
    assert wording.verdict(row, Options()) == "unresolved: 3 pairs can't tell a change from noise; run 1 more"


def test_different_rulers_give_no_number() -> None:
    comparison = compare(*arms(BASE, SLOWER, of_measure=ENABLED), Options())
    assert not comparison.gate.same
    assert comparison.cases == ()


def test_a_difference_in_the_cold_round_alone_is_no_other_ruler() -> None:
    base, measure = arms(BASE, SLOWER)
    cold, *warm = base[0].rounds
    base[0] = replace(base[0], rounds=Rounds.of([replace(cold, conditions=ENABLED), *warm]))
    assert compare(base, measure, Options()).gate.same
    assert not compare(base, measure, Options(cold=0)).gate.same


def test_a_named_difference_is_accepted() -> None:
    options = Options(allow=frozenset({"torch.backend_autoload.effective"}))
    comparison = compare(*arms(BASE, SLOWER, of_measure=ENABLED), options)
    assert only_row(comparison).reason is Reason.SLOWER
    assert [one.attribute for one in comparison.gate.allowed] == ["torch.backend_autoload.effective"]


def test_what_is_no_condition_of_the_ruler_can_not_be_allowed() -> None:
    with pytest.raises(BadInputError, match=r"torch\.versio: .*do you mean torch\.version\?"):
        compare(*arms(BASE, SLOWER), Options(allow=frozenset({"torch.versio"})))


def test_other_platforms_are_other_rulers_even_if_no_case_is_in_both_arms() -> None:
    base, _ = arms(BASE, SLOWER)
    other = KEY._replace(platform="a5sim")
    _, measure = arms(BASE, SLOWER, key=other, of_measure={**CLEAN, "scenetest.platform": "a5sim"})
    assert [one.attribute for one in compare(base, measure, Options()).gate.differences] == ["scenetest.platform"]


def test_no_case_in_both_arms_compares_nothing_and_names_what_each_has() -> None:
    base, _ = arms(BASE, SLOWER)
    other = KEY._replace(case="other")
    _, measure = arms(BASE, SLOWER, key=other)
    comparison = compare(base, measure, Options())
    assert not comparison.compared
    assert comparison.unmatched == {Arm.BASE: (KEY,), Arm.MEASURE: (other,)}


def test_a_case_whose_record_lacks_a_part_of_its_key_is_the_one_case_that_it_can_be() -> None:
    base, _ = arms(BASE, SLOWER)
    logged = KEY._replace(file=NOT_RECORDED, devices=NOT_RECORDED)
    _, measure = arms(BASE, SLOWER, key=logged, of_measure={**CLEAN, "scenetest.devices": NOT_RECORDED})
    assert not compare(base, measure, Options()).gate.same
    row = only_row(compare(base, measure, Options(allow=frozenset({"not-recorded"}))))
    assert row.reason is Reason.SLOWER


def test_a_case_of_one_arm_alone_is_named() -> None:
    base, measure = arms(BASE, SLOWER)
    extra = KEY._replace(case="extra")
    base.append(repetition("base-5", 20, [MS] * 3, key=extra))
    comparison = compare(base, measure, Options())
    assert comparison.unmatched == {Arm.BASE: (extra,), Arm.MEASURE: ()}


def test_a_case_that_failed_is_left_out_and_said_to_be() -> None:
    base, measure = arms(BASE, SLOWER)
    measure[1] = replace(measure[1], outcome="fail")
    comparison = compare(base, measure, Options())
    assert [(one.arm, one.run, one.reason) for one in comparison.left_out] == [
        (Arm.MEASURE, "meas-2", "the case failed")
    ]
    assert only_row(comparison).evidence.order.pairs == 3


def test_the_surplus_of_the_longer_arm_is_listed() -> None:
    base, measure = arms([*BASE, 100 * MS], SLOWER, turns="BMBMBMBMB")
    row = only_row(compare(base, measure, Options()))
    assert row.surplus == ("base-5",)
    assert "without a partner, not used: base-5" in wording.remarks(row, Options())


def test_aborted_rounds_are_counted_and_left_out() -> None:
    base, measure = arms(BASE, SLOWER)
    *others, last = base[0].rounds
    base[0] = replace(base[0], rounds=Rounds.of([*others, replace(last, end_ns=None, outcome="aborted")]))
    row = only_row(compare(base, measure, Options()))
    assert (row.failed, row.warm.rounds.shape) == (1, (8, 2))
    assert "1 round did not pass" in wording.remarks(row, Options())


def test_a_case_that_runs_again_in_one_process_is_cold_again() -> None:
    base, measure = arms(BASE, SLOWER)
    again = [replace(one, start_ns=one.start_ns + 10**9, end_ns=(one.end_ns or 0) + 10**9) for one in base[0].rounds]
    base[0] = replace(base[0], rounds=Rounds.of([*base[0].rounds, *again]), begins=[0, 4])
    row = only_row(compare(base, measure, Options()))
    assert row.evidence.order.pairs == 4
    assert row.warm.rounds.shape == (8, 3)
    assert float(row.warm.rounds.max()) < 150 * MS


def with_spans(**of_measure: int) -> Comparison:
    """Four pairs whose one rank has two native spans in every round, those of the measure longer by so much."""
    found: dict[str, list[Repetition]] = {"B": [], "M": []}
    for place, turn in enumerate("BMBMBMBM"):
        spans = {"chip.run.bind": 30_000 + 100 * place, "chip.run.validate": 7_000 + 10 * place}
        longer = {f"chip.run.{name}": ns for name, ns in of_measure.items()} if turn == "M" else {}
        each = {name: ns + longer.get(name, 0) for name, ns in spans.items()}
        found[turn].append(repetition(f"{turn}-{place}", place, [MS, MS + 7, MS + place], spans=[each] * 4))
    return compare(found["B"], found["M"], Options(sum=("bind", "validate"), controls=("validate",)))


def test_a_sum_is_taken_within_each_round() -> None:
    row = only_row(with_spans(bind=20_000))
    assert row.name == "chip.run.bind + chip.run.validate"
    assert row.pairs[0].base_ns == 37_000
    assert row.pairs[0].measure_ns == 30_100 + 20_000 + 7_010
    assert row.reason is Reason.SLOWER


def test_a_control_that_moved_makes_every_other_row_contended() -> None:
    rows = {row.name: row for row in with_spans(bind=20_000, validate=5_000).cases[0].rows}
    assert rows["chip.run.validate"].reason is Reason.SLOWER
    assert rows["chip.run.bind + chip.run.validate"].reason is Reason.CONTROL_MOVED
    assert rows["dispatch"].reason is Reason.CONTROL_MOVED


def test_a_control_says_how_far_it_moved_and_whether_it_sees_the_same_load() -> None:
    (said,) = wording.controls(only_row(with_spans(bind=20_000)))
    assert said.startswith("control chip.run.validate: ")
    assert "90 %:" in said
    assert "correlation" in said


def test_a_name_given_twice_is_summed_once_and_said_so() -> None:
    assert only_row(compare(*arms(BASE, SLOWER), Options(sum=("dispatch", "dispatch")))).name == "dispatch"


def test_any_number_of_cold_rounds_can_be_asked_for() -> None:
    assert only_row(compare(*arms(BASE, SLOWER), Options(cold=10**15))).warm.rounds.size == 0


def test_a_name_that_no_arm_measured_is_bad_input_with_those_that_it_did() -> None:
    with pytest.raises(BadInputError, match=r"nothing: not measured in both arms; these are: dispatch"):
        compare(*arms(BASE, SLOWER), Options(sum=("nothing",)))


def under(conditions: Mapping[str, Value], one: Repetition) -> Repetition:
    return replace(one, rounds=Rounds.of(replace(each, conditions=conditions) for each in one.rounds))


def test_different_revisions_on_the_same_native_build_are_a_warning() -> None:
    build = {"scenetest.native.build_ids": "libhost_runtime=d78c6b91"}
    base, measure = arms(BASE, SLOWER, of_measure={**CLEAN, **build, "vcs.ref.head.revision": "b"})
    old = {**CLEAN, **build, "vcs.ref.head.revision": "a"}
    base = [under(old, one) for one in base]
    (warning,) = compare(base, measure, Options()).warnings
    assert warning.startswith("the arms are of different revisions and ran the same native build")


def test_runs_from_different_hosts_are_a_warning() -> None:
    base, measure = arms(BASE, SLOWER, of_measure={**CLEAN, "host.name": "b"})
    base = [under({**CLEAN, "host.name": "a"}, one) for one in base]
    assert compare(base, measure, Options()).warnings == ("the runs are from different hosts: a, b",)


def test_rows_beside_the_named_one_are_corrected_for_their_number() -> None:
    comparison = with_spans(bind=20_000)
    others = [row for row in comparison.cases[0].rows if row.role == "other"]
    assert {row.name for row in others} == {"dispatch", "chip.run.bind"}
    bind = next(row for row in others if row.name == "chip.run.bind")
    assert bind.holm_p == pytest.approx(2 * bind.evidence.p)

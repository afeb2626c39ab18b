"""The same-ruler gate on plain mappings."""

from __future__ import annotations

import pytest

from opentelemetry.instrumentation.scenetest.analyse.compare import gate
from opentelemetry.instrumentation.scenetest.conditions.table import CONDITIONS, RULER
from opentelemetry.instrumentation.scenetest.conditions.values import NOT_RECORDED, UNKNOWN, Value

KEYS = ("autoload", "stderr")


def check(*runs: dict[str, Value], allow: tuple[str, ...] = ()) -> gate.Gate:
    return gate.check({f"run-{i}": [conditions] for i, conditions in enumerate(runs)}, KEYS, allow)


def test_equal_and_known_conditions_are_the_same_ruler() -> None:
    one: dict[str, Value] = {"autoload": "disabled", "stderr": "file", "context": 1}
    assert check(one, {**one, "context": 2}).same


def test_a_condition_that_differs_is_named_with_what_each_run_has() -> None:
    found = check({"autoload": "disabled"}, {"autoload": "enabled"})
    assert not found.same
    (difference,) = found.differences
    assert difference.attribute == "autoload"
    assert difference.values == {"run-0": {"disabled"}, "run-1": {"enabled"}}


def test_a_condition_that_does_not_apply_equals_itself_and_nothing_else() -> None:
    assert check({}, {}).same
    (difference,) = check({}, {"stderr": "file"}).differences
    assert difference.values == {"run-0": {None}, "run-1": {"file"}}


def test_unknown_equals_nothing_not_even_itself() -> None:
    found = check({"autoload": UNKNOWN}, {"autoload": UNKNOWN})
    assert not found.same
    assert [one.attribute for one in found.differences] == ["autoload"]


def test_a_condition_that_changed_within_a_run_differs() -> None:
    found = gate.check({"run": [{"autoload": "disabled"}, {"autoload": "enabled"}]}, KEYS)
    assert found.differences[0].values == {"run": {"disabled", "enabled"}}


def test_not_recorded_is_refused_and_counted_by_run() -> None:
    found = check({"autoload": NOT_RECORDED, "stderr": NOT_RECORDED}, {"autoload": "disabled", "stderr": "file"})
    assert not found.comparable
    assert not found.differences
    assert found.not_recorded == {"run-0": 2}


def test_not_recorded_is_accepted_as_a_whole() -> None:
    found = check({"autoload": NOT_RECORDED}, {"autoload": "disabled"}, allow=("not-recorded",))
    assert (found.comparable, found.same) == (True, False)
    assert found.not_recorded == {"run-0": 1}


def test_accepting_not_recorded_accepts_no_known_difference() -> None:
    found = check({"stderr": "file", "autoload": NOT_RECORDED}, {"stderr": "pipe"}, allow=("not-recorded",))
    assert not found.same
    assert [one.attribute for one in found.differences] == ["stderr"]


@pytest.mark.parametrize("value", ["enabled", UNKNOWN])
def test_a_difference_that_is_allowed_by_name_is_kept_to_be_stamped(value: str) -> None:
    found = check({"autoload": "disabled"}, {"autoload": value}, allow=("autoload",))
    assert (found.comparable, found.same) == (True, False)
    assert [one.attribute for one in found.allowed] == ["autoload"]


def test_context_that_differs_is_listed_and_unknown_context_is_not() -> None:
    recorded = {"base": [{"id": 0, "governor": UNKNOWN}], "measure": [{"id": 1, "governor": UNKNOWN}]}
    assert [one.attribute for one in gate.differing(recorded, ("id", "governor"))] == ["id"]


def test_every_condition_of_the_ruler_has_a_reason() -> None:
    assert {name for name, condition in CONDITIONS.items() if condition.why} == set(RULER)

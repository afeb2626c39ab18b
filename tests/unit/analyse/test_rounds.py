"""Rounds as columns: what is read back is what was put in."""

from __future__ import annotations

import numpy as np

from opentelemetry.instrumentation.scenetest.analyse.compare.repetitions import Rank, Round, Rounds
from opentelemetry.instrumentation.scenetest.conditions.values import Value

ONE: dict[str, Value] = {"scenetest.stderr": "file"}
OTHER: dict[str, Value] = {"scenetest.stderr": "pipe"}

GIVEN = [
    Round(10, 12, "pass", False, ONE),
    Round(20, None, "aborted", False, OTHER),
    Round(30, 31, "unknown", True, ONE, {7: Rank({"run": 3})}),
    Round(40, 44, "pass", False, ONE),
]


def test_rounds_come_back_as_they_were() -> None:
    rounds = Rounds.of(GIVEN)
    assert list(rounds) == GIVEN
    assert rounds[-1] == GIVEN[3]
    assert rounds[1:3] == GIVEN[1:3]


def test_rounds_of_one_kind_share_it() -> None:
    rounds = Rounds.of(GIVEN)
    assert len(rounds.kinds) == 3
    assert rounds.where(lambda kind: kind.outcome == "pass").tolist() == [True, False, False, True]
    assert rounds.where(lambda kind: kind.ended).tolist() == [True, False, True, True]


def test_rounds_of_several_passes_are_joined_in_order() -> None:
    joined = Rounds.joined([Rounds.of(GIVEN), Rounds.of(GIVEN[2:])])
    assert list(joined) == [*GIVEN, *GIVEN[2:]]
    assert len(joined.kinds) == 3
    assert joined.times([0, 4]) == [(10, 44), (30, 44)]


def test_conditions_are_told_once_in_the_order_in_which_they_are_met() -> None:
    rounds = Rounds.of(GIVEN)
    assert rounds.conditions(np.array([True] * 4)) == [ONE, OTHER]
    assert rounds.conditions(np.array([False, True, True, True])) == [OTHER, ONE]
    assert rounds.conditions(np.array([False] * 4)) == []
    assert Rounds.of(GIVEN[:1]).conditions(np.array([False])) == []


def test_the_last_end_of_a_pass_is_that_of_its_longest_round() -> None:
    assert Rounds.of([Round(1, 50, "pass", False, ONE), Round(2, None, "aborted", False, ONE)]).times([0]) == [(1, 50)]

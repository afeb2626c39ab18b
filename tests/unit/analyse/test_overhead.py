"""What an empty dispatch reads as: printed with a comparison, and no smaller difference of dispatches is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from support.journals import Process
from support.traps import US, case, store_of, verdict

from opentelemetry.instrumentation.scenetest.analyse.stats.order import Arm
from opentelemetry.instrumentation.scenetest.conditions.overhead import P50, P99
from opentelemetry.instrumentation.scenetest.conditions.values import Value
from opentelemetry.instrumentation.scenetest.render import wording

BOTH: Mapping[str, Value] = {P50: 120, P99: 60_000}
WIDE: Mapping[str, Value] = {P50: 130, P99: 500_000}
NONE: Mapping[str, Value] = {}
TWO_TICKS = 40_000
"""Of the clock that these durations were made with."""
UNKNOWN: Mapping[str, Value] = {P50: "unknown", P99: "unknown"}


def processes(k: int, overhead: Mapping[str, Value], factor: float = 1.0) -> Sequence[Process]:
    one = Process([case(k, factor)], pid=1000 + k)
    return [replace(one, conditions={**one.conditions, **overhead})]


@pytest.mark.parametrize(
    ("base", "measure", "text", "floor"),
    [
        (BOTH, WIDE, "base 0.12 us (p99 60 us), measure 0.13 us (p99 500 us)", 500_000),
        (BOTH, NONE, "base 0.12 us (p99 60 us), measure not recorded", 60_000),
        (UNKNOWN, BOTH, "base not recorded, measure 0.12 us (p99 60 us)", 60_000),
        (UNKNOWN, NONE, "", TWO_TICKS),
        (NONE, NONE, "", TWO_TICKS),
    ],
)
def test_the_floor_of_dispatches_is_never_below_what_an_empty_one_reads_as(
    base: Mapping[str, Value], measure: Mapping[str, Value], text: str, floor: float, tmp_path: Path
) -> None:
    store_of(tmp_path, lambda k: processes(k, base), lambda k: processes(k, measure, 1.2))
    comparison = verdict(tmp_path)
    (only,) = comparison.cases
    (row,) = comparison.named
    assert row.evidence.floor == floor
    assert wording.overhead(only) == (f"an empty dispatch reads as: {text}" if text else "")
    # It is context: neither arm is refused for it.
    assert row.reason.verdict.value == "slower"


def test_of_several_processes_of_an_arm_the_largest_counts(tmp_path: Path) -> None:
    store_of(tmp_path, lambda k: processes(k, {P50: 100 + k, P99: 300 + k}), lambda k: processes(k, NONE))
    (only,) = verdict(tmp_path).cases
    assert only.overhead == {Arm.BASE: (103, 303), Arm.MEASURE: None}


def test_a_difference_that_is_smaller_than_an_empty_dispatch_is_not_told(tmp_path: Path) -> None:
    wide = {P50: 120, P99: 100_000 * US}
    store_of(tmp_path, lambda k: processes(k, wide), lambda k: processes(k, wide, 1.2))
    (row,) = verdict(tmp_path).named
    assert row.reason.value[0] == "below the resolution"

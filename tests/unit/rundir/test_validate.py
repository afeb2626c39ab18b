"""Fields that hold something else than was ever written there are dropped."""

from __future__ import annotations

from typing import Any

import pytest

from opentelemetry.instrumentation.scenetest.rundir.validate import well_formed

SPAN, TRACE = "0" * 15 + "1", "0" * 31 + "1"
GOOD: dict[str, Any] = {
    "kind": "open",
    "id": SPAN,
    "trace": TRACE,
    "parent": SPAN,
    "at": 5,
    "anchor": {"monotonic_ns": 1, "unix_ns": 2},
    "attributes": {"a": 1, "b": "c", "d": False, "e": 0.5},
    "something_of_a_later_version": [1],
}


def test_a_sound_line_stays_as_it_is() -> None:
    assert well_formed(GOOD) is GOOD


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("id", "xyz"),
        ("id", SPAN.replace("1", "A")),
        ("id", SPAN + "0"),
        ("trace", 5),
        ("parent", ""),
        ("at", "5"),
        ("at", 1 << 63),
        ("at", 0.5),
        ("kind", 1),
        ("anchor", {}),
        ("anchor", {"monotonic_ns": 1, "unix_ns": None}),
        ("attributes", []),
        ("attributes", {"a": None}),
        ("attributes", {"a": [1]}),
    ],
)
def test_a_damaged_field_is_dropped_and_the_others_stay(name: str, value: object) -> None:
    assert well_formed({**GOOD, name: value}) == {key: kept for key, kept in GOOD.items() if key != name}

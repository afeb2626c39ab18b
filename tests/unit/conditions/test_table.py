"""The table of conditions and the ruler that they make."""

from __future__ import annotations

import re

import pytest

from opentelemetry.instrumentation.scenetest.conditions.case import at_end
from opentelemetry.instrumentation.scenetest.conditions.table import CONDITIONS, RULER, ruler, why

PROCESS = {"torch.imported": True, "host.arch": "x86_64", "host.name": "box"}


@pytest.mark.parametrize("attribute", RULER)
def test_every_condition_of_the_ruler_says_why_it_matters(attribute: str) -> None:
    assert why(attribute) == CONDITIONS[attribute].why != ""


def test_the_ruler_is_twelve_digits_and_ignores_context() -> None:
    found = ruler(PROCESS, {"scenetest.level": 2})
    assert re.fullmatch("[0-9a-f]{12}", found)
    assert ruler({**PROCESS, "host.name": "another"}, {"scenetest.level": 2}) == found


@pytest.mark.parametrize(
    ("process", "case"),
    [
        ({**PROCESS, "host.arch": "aarch64"}, {"scenetest.level": 2}),
        ({**PROCESS, "torch.imported": False}, {"scenetest.level": 2}),
        ({**PROCESS, "torch.imported": "true"}, {"scenetest.level": 2}),
        (PROCESS, {"scenetest.level": 3}),
        (PROCESS, {"scenetest.level": "2"}),
        (PROCESS, {}),
    ],
)
def test_a_difference_of_value_or_type_is_another_ruler(
    process: dict[str, str | bool | int | float], case: dict[str, str | bool | int | float]
) -> None:
    assert ruler(process, case) != ruler(PROCESS, {"scenetest.level": 2})


@pytest.mark.parametrize("word", ["unknown", "not recorded"])
def test_a_ruler_with_an_unknown_condition_is_unknown(word: str) -> None:
    assert ruler({**PROCESS, "host.arch": word}, {}) == "unknown"
    assert ruler(PROCESS, {"scenetest.platform": word}) == "unknown"


def test_pressure_is_unknown_without_a_figure_or_a_duration() -> None:
    assert at_end(None, 10)["scenetest.cpu.pressure"] == "unknown"
    assert at_end(0, 0)["scenetest.cpu.pressure"] == "unknown"

"""The figure of rounds over time draws what an eye can tell apart, and says how much it leaves out."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest

from opentelemetry.instrumentation.scenetest.analyse.compare.repetitions import Round, Rounds
from opentelemetry.instrumentation.scenetest.analyse.compare.series import USES, Series
from opentelemetry.instrumentation.scenetest.analyse.stats.order import Arm
from opentelemetry.instrumentation.scenetest.render.comparison_document import CaseDocument
from opentelemetry.instrumentation.scenetest.render.html.figures import Figure, over_time

MS = 1_000_000


def figure(rounds: int, time_of: Callable[[int], int]) -> Figure:
    of = Rounds.of(Round(one * MS, one * MS + time_of(one), "pass", False, {}) for one in range(rounds))
    used = np.full(rounds, USES.index("used"), np.int8)
    series = {Arm.BASE: (Series("base-1", of, of.ends - of.starts, used, 0),), Arm.MEASURE: ()}
    return over_time(CaseDocument({}, "S::c", {}, "", {}, "", [], ("dispatch",), series))


def drawn(found: Figure) -> int:
    return sum(len(trace["x"]) for trace in found.data)


def title(found: Figure) -> str:
    return found.layout["xaxis"]["title"]["text"]


def test_every_round_of_a_run_of_usual_length_is_drawn() -> None:
    found = figure(5_000, lambda number: MS)
    assert drawn(found) == 5_000
    assert title(found) == "seconds since the first round"


@pytest.mark.parametrize("factor", [1, 10], ids=["linear", "logarithmic"])
def test_of_many_rounds_one_is_drawn_in_each_place_with_the_slowest_and_the_fastest(factor: int) -> None:
    def time_of(number: int) -> int:
        return 20 * MS * factor if number == 77_777 else MS // 2 if number == 55_555 else MS + 1000 * (number % 100)

    found = figure(100_000, time_of)
    assert drawn(found) < 20_000
    left_out = 100_000 - drawn(found)
    assert title(found).endswith(f"({left_out:,} of 100,000 rounds are not drawn: another one lies in the same place)")
    (trace,) = found.data
    # In us, the unit of the median.
    assert (min(trace["y"]), max(trace["y"])) == pytest.approx((0.5, 20 * factor))
    assert len(json.dumps(found.data)) < 3_000_000

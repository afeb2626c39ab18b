"""How many rounds a process should measure, on made processes whose scatter is known."""

from __future__ import annotations

from math import log1p

import numpy as np
import pytest
from numpy.typing import NDArray

from opentelemetry.instrumentation.scenetest.analyse.stats.effort import effort, scatter_at, share_within
from opentelemetry.instrumentation.scenetest.analyse.stats.order import Arm

ARMS = [Arm.BASE, Arm.MEASURE, Arm.MEASURE, Arm.BASE] * 50


def made(between: float, within: float, rounds: int, processes: int = 200) -> NDArray[np.float64]:
    random = np.random.default_rng(3)
    logs = random.normal(0, between, (processes, 1)) + random.normal(0, within, (processes, rounds))
    return 1e6 * np.exp(logs)


@pytest.mark.parametrize("number", [1, 3, 10, 19, 20])
def test_the_scatter_at_fewer_rounds_is_that_of_processes_with_fewer_rounds(number: int) -> None:
    logs = np.sort(np.log(made(0.03, 0.05, 20)), axis=1)
    fresh = np.log(made(0.03, 0.05, 20)[:, :number].min(axis=1))
    assert scatter_at(logs, ARMS, number) == pytest.approx(fresh.std(), rel=0.12)


def test_the_share_within_processes_is_told() -> None:
    assert share_within(np.log(made(0.0, 0.05, 20)), ARMS) > 0.9
    assert share_within(np.log(made(0.05, 0.001, 20)), ARMS) < 0.01
    halves = np.log(made(0.0, 0.05, 10)).min(axis=1).std() ** 2
    assert share_within(np.log(made(0.03, 0.05, 21)), ARMS) == pytest.approx(halves / (halves + 0.03**2), abs=0.1)


def test_where_processes_differ_and_rounds_do_not_few_rounds_cost_least() -> None:
    found = effort(made(0.05, 0.001, 30, 16), ARMS[:16], start=1.0, each=0.5, cold=1, log_shift=log1p(0.05))
    assert found is not None
    assert found.best_rounds <= 2
    assert found.best_seconds < 0.3 * found.seconds


def test_where_the_start_is_dear_and_rounds_scatter_all_rounds_are_worth_it() -> None:
    found = effort(made(0.002, 0.08, 30, 40), ARMS[:40], start=20.0, each=0.01, cold=1, log_shift=log1p(0.02))
    assert found is not None
    assert found.best_rounds >= 20
    assert found.within > 0.5


def test_nothing_is_said_of_few_rounds_few_processes_or_a_shift_beyond_reach() -> None:
    for rounds, processes, shift in ((3, 16, 0.05), (20, 6, 0.05), (20, 16, 1e-6)):
        made_ones = made(0.05, 0.01, rounds, processes)
        assert effort(made_ones, ARMS[:processes], 1.0, 0.1, 1, log1p(shift)) is None

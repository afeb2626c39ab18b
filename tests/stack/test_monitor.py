"""Jaeger's Monitor tab shows durations by autoload outcome, from a real Prometheus."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from support import runner
from support.scripts import clean_environment, only_run
from support.stack import Endpoints, Jaeger, Stack, eventually

# What the tab sends, but for the span kind, which is chosen there; times in milliseconds.
ASKED = {
    "service": "scenetest",
    "groupByOperation": "true",
    "step": "60000",
    "ratePer": "600000",
    "lookback": "3600000",
}
# As collector-config.yaml has them, in milliseconds.
BUCKETS = (0, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 30000)
DISPATCH = """
    import time, torch
    with case("Suite", "name"), dispatch():
        time.sleep(0.003)
"""


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Where a stack with Prometheus can be reached."""
    own = Stack(tmp_path_factory.mktemp("stack"))
    try:
        yield own.start("jaeger", "collector", "prometheus")
    finally:
        own.stop()


@pytest.fixture(scope="module")
def jaeger(at: dict[str, Any]) -> Jaeger:
    return Jaeger(at["ui"], Endpoints(**at["jaeger"]))


@pytest.fixture(scope="module")
def durations(at: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> dict[str, float]:
    """How long the one dispatch of a run took, in milliseconds, for a run with autoload and one without."""
    took: dict[str, float] = {}
    for effective, setting in {"enabled": "1", "disabled": "0"}.items():
        store = tmp_path_factory.mktemp(effective)
        endpoint = at["collector"]["http"]
        settings = {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "TORCH_DEVICE_BACKEND_AUTOLOAD": setting}
        runner.run(store, runner.recording(DISPATCH), env=clean_environment(**settings), timeout=120)
        (dispatch,) = only_run(store).processes[0].cases[0].dispatches
        took[effective] = (dispatch.duration_ns or 0) / 1e6
    return took


def rows(jaeger: Jaeger, metric: str, **query: str) -> dict[str, float]:
    """The newest point of each row that is a dispatch."""
    found: dict[str, float] = {}
    for row in jaeger.get(f"/api/metrics/{metric}", **ASKED, **query)["metrics"]:
        (name,) = (label["value"] for label in row["labels"] if label["name"] == "operation")
        if name.startswith("dispatch "):
            found[name] = row["metricPoints"][-1]["gaugeValue"]["doubleValue"]
    return found


def middle_of_its_bucket(milliseconds: float) -> float:
    """The median of one duration, as Prometheus gives it: it knows the bucket alone."""
    (bucket,) = (bucket for bucket in pairwise(BUCKETS) if bucket[0] < milliseconds <= bucket[1])
    return sum(bucket) / 2


def test_the_first_run_of_each_state_of_autoload_has_a_row_of_durations(
    jaeger: Jaeger, durations: dict[str, float]
) -> None:
    expected = {
        f"dispatch Suite::name | autoload {effective}": pytest.approx(middle_of_its_bucket(took))
        for effective, took in durations.items()
    }

    def medians() -> dict[str, float]:
        return rows(jaeger, "latencies", quantile="0.5", spanKind="internal")

    assert eventually(medians, expected.__eq__, 60) == expected


def test_the_rows_are_of_the_kind_internal_and_not_of_the_one_that_the_tab_begins_with(
    jaeger: Jaeger, durations: dict[str, float]
) -> None:
    names = {f"dispatch Suite::name | autoload {effective}" for effective in durations}
    assert eventually(lambda: set(rows(jaeger, "calls", spanKind="internal")), names.__eq__, 60) == names
    assert rows(jaeger, "calls", spanKind="server") == {}

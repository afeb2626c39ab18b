"""Records a run that is larger than one batch, and delivers it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from opentelemetry.instrumentation.scenetest.deliver import delivery
from opentelemetry.instrumentation.scenetest.deliver.endpoint import Endpoint
from opentelemetry.instrumentation.scenetest.rundir import run_file
from opentelemetry.instrumentation.scenetest.sources import stores
from support.scripts import record

DISPATCHES = 1500
SPANS = DISPATCHES + 1  # and the case


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("recorded")
    record(
        f"instrument()\nwith case('S', 'c'):\n    for _ in range({DISPATCHES}):\n        with dispatch(): pass", store
    )
    (directory,) = stores.all_runs(str(store))
    return directory


@pytest.fixture
def run_directory(recorded: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(recorded, tmp_path / "store" / "run"))


def deliver(
    directory: Path,
    to: Endpoint,
    max_elapsed_time: float = 0,
    on_progress: Callable[[delivery.Tally], None] = lambda tally: None,
) -> delivery.Tally:
    """Deliver a run to a backend, and close the connection."""
    exporter = delivery.exporter_for(to)
    try:
        return delivery.Delivery(directory, run_file.read(directory), exporter, max_elapsed_time, on_progress).deliver()
    finally:
        exporter.shutdown()

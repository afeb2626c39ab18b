"""A recorded run that nobody has delivered, larger than one batch."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from opentelemetry.instrumentation.scenetest.deliver import ship
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
    directory: Path, to: Endpoint, patience: float = 0, told: Callable[[ship.Tally], None] = lambda tally: None
) -> ship.Tally:
    """Deliver a run to a backend and let go of the connection."""
    sender = ship.sender_for(to)
    try:
        return ship.Shipment(directory, run_file.read(directory), sender, patience, told).deliver()
    finally:
        sender.close()

"""A store whose runs are delivered to the test's backend, and the processes that deliver them."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from opentelemetry.instrumentation.scenetest.deliver import delivery
from opentelemetry.instrumentation.scenetest.rundir import layout, reader
from opentelemetry.instrumentation.scenetest.sources import stores
from support.backends import Backend, serving
from support.stack import eventually


@pytest.fixture
def backend() -> Iterator[Backend]:
    with serving(Backend()) as serves:
        yield serves


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "store"
    # The port is reused soon, so no process may still deliver to it.
    end_workers(tmp_path)


def settings(backend: Backend, store: Path, **more: str) -> dict[str, str]:
    return {"OTEL_EXPORTER_OTLP_ENDPOINT": backend.url, "SCENETEST_OTEL_DIR": str(store), **more}


def run_of(store: Path) -> Path:
    (directory,) = stores.all_runs(str(store))
    return directory


def recorded(directory: Path) -> set[bytes]:
    """Return the ids of all spans in the journals of a run."""
    journals = [reader.Journal(path) for path in directory.glob(f"*{layout.JOURNAL_SUFFIX}")]
    return {bytes.fromhex(span.span_id) for each in journals for span in each.spans()}


def delivered(backend: Backend, store: Path, count: int) -> Path:
    """Wait until a run is delivered. Check that every span was accepted exactly once, and that no process is left."""
    directory = run_of(store)
    assert eventually(lambda: delivery.is_delivered(directory))
    assert len(recorded(directory)) == count
    assert set(backend.taken) == recorded(directory)
    assert backend.repeats == 0
    assert eventually(lambda: not workers(directory))
    return directory


def workers(directory: Path) -> list[int]:
    """Return the processes that wait for the end of a run or deliver it. Each has its directory in its arguments."""
    found: list[int] = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if str(directory) in (process / "cmdline").read_text():
                found.append(int(process.name))
    return found


def end_workers(directory: Path) -> None:
    for worker in workers(directory):
        with suppress(ProcessLookupError):
            os.kill(worker, signal.SIGKILL)
    assert eventually(lambda: not workers(directory))

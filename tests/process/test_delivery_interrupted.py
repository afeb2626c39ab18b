"""Killed deliveries and restarting backends: everything arrives, and duplicates are counted."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from support.backends import Backend
from support.scripts import clean_environment, record
from support.stack import Collector, Endpoints, Stack, eventually
from support.watched import recorded, settings

from opentelemetry.instrumentation.scenetest.deliver import delivery, spans
from opentelemetry.instrumentation.scenetest.rundir import checkpoint, layout


def record_dispatches(store: Path, count: int) -> Path:
    script = f"instrument()\nwith case('S', 'c'):\n    for _ in range({count}):\n        with dispatch(): pass"
    return record(script, store).path


def start_delivery(directory: Path, env: dict[str, str]) -> subprocess.Popen[bytes]:
    """Start what a watcher becomes when a run has ended."""
    module = "opentelemetry.instrumentation.scenetest.deliver"
    command = [sys.executable, "-m", module, str(directory)]
    return subprocess.Popen(command, env=clean_environment(**env), stderr=subprocess.DEVNULL)


def count_acknowledged(directory: Path) -> int:
    (path,) = directory.glob(f"*{layout.JOURNAL_SUFFIX}")
    return checkpoint.read(checkpoint.stem(path)).spans


def test_a_delivery_that_is_killed_at_any_moment_repeats_only_the_batch_without_an_answer(
    backend: Backend, store: Path
) -> None:
    directory = record_dispatches(store, 60 * spans.BATCH)
    without_answer = 0
    for seed in range(5):
        moment = random.Random(seed)
        requests = backend.requests + moment.randint(1, 4)
        with start_delivery(directory, settings(backend, store)) as deliverer:
            while backend.requests < requests:
                assert deliverer.poll() is None
                time.sleep(0.001)
            time.sleep(moment.uniform(0, 0.02))
            deliverer.kill()
            deliverer.wait()
        time.sleep(0.2)  # what it had sent is taken
        in_flight = len(backend.taken) - count_acknowledged(directory)
        assert 0 <= in_flight <= spans.BATCH
        without_answer += in_flight
    assert not delivery.is_delivered(directory)
    with start_delivery(directory, settings(backend, store)) as deliverer:
        assert deliverer.wait() == 0
    assert delivery.is_delivered(directory)
    assert set(backend.taken) == recorded(directory)
    assert backend.repeats == without_answer


@pytest.mark.parametrize(("protocol", "port"), [("http/protobuf", "http"), ("grpc", "grpc")])
def test_a_collector_that_restarts_during_a_delivery_has_everything_in_the_end(
    protocol: str, port: str, tmp_path: Path
) -> None:
    directory = record_dispatches(tmp_path / "store", 60 * spans.BATCH)
    own = Stack(tmp_path / "stack")
    at = own.start("collector")
    collector = Collector(Endpoints(**at["collector"]), Path(at["spans"]), at["metrics"])
    env = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": getattr(collector.otlp, port),
        "OTEL_EXPORTER_OTLP_PROTOCOL": protocol,
    }
    try:
        with start_delivery(directory, env) as deliverer:
            assert eventually(lambda: count_acknowledged(directory) >= spans.BATCH)
            own.stop("collector")
            before = count_acknowledged(directory)
            own.start("collector")
            assert deliverer.wait() == 0
    finally:
        own.stop()
    assert spans.BATCH <= before < 60 * spans.BATCH
    copies = Counter(bytes.fromhex(span["spanId"]) for span in collector.spans())
    assert set(copies) == recorded(directory)
    assert copies.total() - len(copies) in (0, spans.BATCH)

"""`push` takes over a run from the process that delivers it in the background."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.backends import Backend, serving
from support.runner import CLI
from support.scripts import clean_environment, run_script
from support.stack import eventually
from support.watched import recorded, run_of, settings, workers

from opentelemetry.instrumentation.scenetest.deliver import delivery, spans
from opentelemetry.instrumentation.scenetest.rundir import delivery_state, layout

DISPATCHES = 3 * spans.BATCH
SCENE = f"instrument()\nwith case('S', 'c'):\n    for _ in range({DISPATCHES}):\n        with dispatch(): pass"


@pytest.fixture
def second() -> Iterator[Backend]:
    with serving(Backend()) as serves:
        yield serves


def record(backend: Backend, store: Path) -> Path:
    run_script(SCENE, env=settings(backend, store, SCENETEST_OTEL_EXIT_WAIT="0"))
    return run_of(store)


def push(directory: Path, backend: Backend) -> subprocess.CompletedProcess[str]:
    env = clean_environment(OTEL_EXPORTER_OTLP_ENDPOINT=backend.url)
    return subprocess.run([CLI, "push", str(directory)], env=env, capture_output=True, text=True, check=False)


def test_push_takes_over_from_a_delivery_that_waits_for_its_next_attempt(
    backend: Backend, second: Backend, store: Path
) -> None:
    backend.answer, backend.more_headers = "503", {"Retry-After": "100"}
    directory = record(backend, store)
    assert eventually(lambda: backend.requests) == 1
    done = push(directory, second)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{DISPATCHES + 1} spans of 1 run delivered to {second.url}/v1/traces\n"
    assert set(second.taken) == recorded(directory)
    assert (second.repeats, backend.requests) == (0, 1)
    assert eventually(lambda: not workers(directory))
    assert "push delivers the run from here" in (directory / layout.DELIVERY_LOG).read_text()


def test_push_lets_a_delivery_that_sends_have_the_answer_to_the_batch_in_hand(
    backend: Backend, second: Backend, store: Path
) -> None:
    backend.answer = "accept later"
    directory = record(backend, store)
    assert eventually(lambda: backend.requests) == 1

    def answer_when_push_waits() -> None:
        eventually(lambda: delivery_state.is_pushed(directory))
        backend.go_on.set()

    thread = threading.Thread(target=answer_when_push_waits)
    thread.start()
    done = push(directory, second)
    thread.join()
    assert (done.returncode, done.stderr) == (0, "")
    assert len(backend.taken) == spans.BATCH
    assert backend.taken.keys() | second.taken.keys() == recorded(directory)
    assert not backend.taken.keys() & second.taken.keys()


def test_one_push_leaves_another_alone(backend: Backend, store: Path) -> None:
    run_script(SCENE, env={"SCENETEST_OTEL_DIR": str(store)})
    directory = run_of(store)
    with delivery_state.DeliveryRole(directory, layout.PUSH_LOCK) as role:
        assert role.held
        done = push(directory, backend)
    assert (done.returncode, backend.requests) == (3, 0)
    assert done.stderr == f"scenetest-otel: {directory.name}: another push delivers it\n"


def test_the_file_that_a_push_leaves_behind_stops_no_delivery(backend: Backend, store: Path) -> None:
    backend.answer = "503"
    directory = record(backend, store)
    (directory / layout.PUSH_LOCK).touch()
    backend.answer = "accept"
    assert eventually(lambda: delivery.is_delivered(directory))
    assert set(backend.taken) == recorded(directory)

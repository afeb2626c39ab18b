"""A delivery in the background stops for the next run of its store."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.backends import Backend
from support.runner import CLI
from support.scripts import PREAMBLE, clean_environment, program, run_script
from support.stack import eventually
from support.watched import recorded, settings, workers

from opentelemetry.instrumentation.scenetest.deliver import delivery, spans
from opentelemetry.instrumentation.scenetest.rundir import layout

SCENE = f"instrument()\nwith case('S', 'c'):\n    for _ in range({3 * spans.BATCH}):\n        with dispatch(): pass"


@contextmanager
def measuring(command: list[str], env: dict[str, str]) -> Generator[None]:
    """Run a program that measures until this ends."""
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=env, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "measures\n"
        yield
        process.stdin.write("end\n")
        process.stdin.close()


def begin_delivery(backend: Backend, store: Path) -> Path:
    """Return a run whose first batch has reached the backend, which does not answer yet."""
    backend.answer = "accept later"
    run_script(SCENE, env=settings(backend, store, SCENETEST_OTEL_EXIT_WAIT="0"))
    assert eventually(lambda: backend.requests) == 1
    (directory,) = store.glob("*/")
    return directory


def told(directory: Path) -> Any:
    path = directory / layout.DELIVERY_STATE
    return json.loads(path.read_text())["problem"] if path.exists() else ""


def test_a_run_that_begins_stops_the_delivery_of_another_one_until_it_has_ended(backend: Backend, store: Path) -> None:
    first = begin_delivery(backend, store)
    env = clean_environment(SCENETEST_OTEL_DIR=str(store))
    with measuring(program("measures_until_told.py"), env):
        backend.go_on.set()
        assert eventually(lambda: told(first)).endswith("has begun: the rest is sent when it has ended")
        time.sleep(0.5)
        assert backend.requests == 1
    assert eventually(lambda: delivery.is_delivered(first))
    assert set(backend.taken) == recorded(first)
    assert backend.repeats == 0
    assert eventually(lambda: not workers(first))


def test_a_delivery_that_was_stopped_waits_for_every_run_that_began_meanwhile(backend: Backend, store: Path) -> None:
    first = begin_delivery(backend, store)
    env = clean_environment()
    run = [CLI, "run", "--dir", str(store), "--name"]
    with measuring([*run, "third", "--", *program("measures_until_told.py")], env):
        with measuring([*run, "second", "--", *program("measures_until_told.py")], env):
            backend.go_on.set()
            assert eventually(lambda: told(first))
        time.sleep(0.5)
        assert backend.requests == 1
    assert eventually(lambda: delivery.is_delivered(first))


def test_a_program_that_records_nothing_stops_no_delivery(backend: Backend, store: Path) -> None:
    first = begin_delivery(backend, store)
    idle = "print('measures', flush=True)\ninput()"
    env = clean_environment(SCENETEST_OTEL_DIR=str(store))
    with measuring([sys.executable, "-c", f"{PREAMBLE}instrument()\n{idle}"], env):
        assert len(list(store.glob("*/"))) == 2
        backend.go_on.set()
        assert eventually(lambda: delivery.is_delivered(first))


def test_a_run_that_was_measured_already_stops_no_delivery(backend: Backend, store: Path) -> None:
    env = clean_environment(SCENETEST_OTEL_DIR=str(store))
    with measuring(program("measures_until_told.py"), env):
        run_script(SCENE, env=settings(backend, store, SCENETEST_OTEL_EXIT_WAIT="60"))
        first = next(path for path in store.glob("*/") if (path / layout.DELIVERY_LOCK).exists())
        assert delivery.is_delivered(first)

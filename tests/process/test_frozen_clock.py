"""A program that freezes the clock is still timed with the real clock."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest
from support.backends import Backend
from support.scripts import clean_environment, only_process, only_run, program
from support.watched import delivered, settings


@pytest.mark.parametrize("when", ["before", "after", "within"])
def test_durations_and_times_are_real_when_the_clock_is_frozen(when: str, tmp_path: Path) -> None:
    began = time.time_ns()
    env = clean_environment(SCENETEST_OTEL_DIR=str(tmp_path))
    subprocess.run(program("freezes_time.py", when), env=env, check=True)
    run = only_run(tmp_path)
    process = only_process(run)
    (recorded,) = process.cases
    assert all((one.duration_ns or 0) >= 10_000_000 for one in recorded.dispatches)
    assert began < run.facts["started_unix_ns"] < time.time_ns()
    assert began < process.record.unix_ns(recorded.span.start_ns) < time.time_ns()


def test_a_frozen_clock_keeps_no_program_from_ending(backend: Backend, store: Path) -> None:
    command = program("freezes_time.py", "before")
    subprocess.run(command, env=clean_environment(**settings(backend, store)), check=True, timeout=60)
    delivered(backend, store, 4)

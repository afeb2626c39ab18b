"""Rounds of pytest-benchmark and measurements of torch.utils.benchmark become dispatches, as they timed them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.scripts import clean_environment, only_process, only_run

from opentelemetry.instrumentation.scenetest.analyse.runs import Case

PROGRAMS = Path(__file__).resolve().parents[1] / "programs"


def measured(store: Path, *command: str, expect: int = 0) -> tuple[dict[str, Case], str]:
    """The cases by name, and what was printed."""
    program = [str(Path(sys.executable).with_name("scenetest-otel")), "run", "--dir", str(store), "--", sys.executable]
    done = subprocess.run(
        [*program, *command], env=clean_environment(), capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == expect, done.stdout + done.stderr
    return {case.span.name: case for case in only_process(only_run(store)).cases}, done.stdout


def assert_same(case: Case, seconds: list[float]) -> None:
    """Hold the dispatches of a case against what the library timed, to the nanosecond that rounding leaves."""
    found = [one.duration_ns for one in case.dispatches]
    assert found == [pytest.approx(1e9 * one, abs=1.5) for one in seconds]


def test_a_measurement_of_torch_is_a_case_with_its_times(tmp_path: Path) -> None:
    cases, printed = measured(tmp_path, str(PROGRAMS / "timed_by_torch.py"))
    said: dict[str, Any] = json.loads(printed)
    loaded = only_process(only_run(tmp_path))
    once, many = loaded.cases
    assert list(cases) == ["1000"]
    assert [case.span.suite for case in (once, many)] == ["Sum", "Sum"]
    assert [case.span.attributes["scenetest.iterations"] for case in (once, many)] == [50, said["number"]]
    assert_same(once, said["once"])
    assert_same(many, said["many"])
    assert loaded.record.conditions["torch.imported"] is True


def test_the_rounds_of_pytest_benchmark_are_the_dispatches_of_a_case(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    options = (
        "-c",
        "/dev/null",
        "--noconftest",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
        f"--benchmark-json={figures}",
    )
    speed = ("--benchmark-max-time=0.05", "--benchmark-save-data")
    program = str(PROGRAMS / "timed_by_pytest_benchmark.py")
    cases, _ = measured(tmp_path / "store", "-m", "pytest", *options, *speed, program, expect=1)
    kept = {one["name"]: one["stats"] for one in json.loads(figures.read_text())["benchmarks"]}
    assert set(cases) == {"test_calibrated", "test_pedantic", "test_fails"}
    for name in ("test_calibrated", "test_pedantic"):
        iterations = kept[name]["iterations"]
        assert cases[name].span.attributes["scenetest.iterations"] == iterations
        assert_same(cases[name], [iterations * one for one in kept[name]["data"]])
    assert len(cases["test_pedantic"].dispatches) == 7
    failed = cases["test_fails"]
    assert (failed.span.outcome, failed.span.error_type, len(list(failed.dispatches))) == ("error", "ValueError", 0)
    (event,) = failed.span.added.events
    assert event.attributes["exception.message"].startswith("invalid literal for int()")
    assert "ValueError: invalid literal" in event.attributes["exception.stacktrace"]


def test_without_a_run_the_libraries_are_untouched(tmp_path: Path) -> None:
    source = (
        "import torch.utils.benchmark.utils.timer as timer\n"
        "assert not hasattr(timer.Timer.timeit, '__wrapped__')\n"
        "from opentelemetry.instrumentation.scenetest import instrument, uninstrument\n"
        "original = timer.Timer.timeit\n"
        "instrument()\n"
        "assert timer.Timer.timeit.__wrapped__ is original\n"
        "uninstrument()\n"
        "assert timer.Timer.timeit is original\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", source],
        env=clean_environment(SCENETEST_OTEL_DIR=str(tmp_path)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr

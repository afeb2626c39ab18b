"""`SceneTestInstrumentor`, alone and mixed with the plain functions."""

from __future__ import annotations

from pathlib import Path

from support.scripts import PROGRAMS, record

from opentelemetry.instrumentation.scenetest.analyse.runs import Run


def suites(run: Run) -> list[str]:
    return [case.span.suite for process in run.processes for case in process.cases]


def test_both_ways_to_instrument_may_be_mixed(tmp_path: Path) -> None:
    run = record(PROGRAMS / "otel/instrumentor.py", tmp_path)
    assert suites(run) == ["again"]

"""OpenTelemetry parts of the program: propagators, id generators, several providers."""

from __future__ import annotations

from pathlib import Path

from support.scripts import PROGRAMS, only_process, only_run, record, run_script


def test_traces_have_ids_of_the_programs_own_generator(tmp_path: Path) -> None:
    run = record(PROGRAMS / "otel/own_ids.py", tmp_path)
    cases = only_process(run).cases
    assert len({case.span.trace_id for case in cases}) == 2
    for case in cases:
        assert case.span.trace_id.startswith("6543210f")
        assert case.span.carried.flags == 1
        assert [one.carried.flags for one in case.dispatches] == [1]


def test_a_generator_that_fails_costs_no_case(tmp_path: Path) -> None:
    done = run_script(PROGRAMS / "otel/own_ids.py", "fails", env={"SCENETEST_OTEL_DIR": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    assert "could not draw a trace id by the program's own generator" in done.stderr
    assert [case.span.name for case in only_process(only_run(tmp_path)).cases] == ["a", "b"]

"""Scenes of the harness, run by its own entry points: standalone and by the module runner, at levels 2 and 3."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.harness import HARNESS, OF_WORKER, cases, run_harness
from support.scripts import only_process

from opentelemetry.instrumentation.scenetest.analyse.runs import Run
from opentelemetry.instrumentation.scenetest.conditions.table import CONDITIONS

CASE_OF_VECTOR = {
    "code.file.path": str(HARNESS / "scenes" / "test_vector.py"),
    **OF_WORKER,
    "scenetest.rounds": 2,
    "scenetest.aicpu_threads": 4,
    "scenetest.ring.task_window": "0",
    "scenetest.ring.heap": "4096",
    "scenetest.ring.dep_pool": "0",
    "scenetest.golden_skipped": False,
    "scenetest.diagnostics": "off",
}


@pytest.fixture(scope="module")
def vector(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, str]:
    """Two rounds of two cases at level 2, with a diagnostic that is off when a case runs more than once."""
    command = ("scenes/test_vector.py", "-p", "a2a3sim", "--manual", "include", "--rounds", "2", "--enable-dep-gen")
    return run_harness(tmp_path_factory.mktemp("store"), *command)


@pytest.fixture(scope="module")
def group(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, str]:
    """Level 3 on two devices, by the module runner."""
    return run_harness(tmp_path_factory.mktemp("store"), "scenes/test_group.py", "-p", "a2a3sim", "-d", "0-1")


def test_every_case_is_recorded_with_its_rounds(vector: tuple[Run, str]) -> None:
    process = only_process(vector[0])
    recorded = [(one.span.suite, one.span.name, one.span.outcome) for one in process.cases]
    assert recorded == [("TestVector", "default", "pass"), ("TestVector", "no_golden", "pass")]
    assert [[one.round for one in case.dispatches] for case in process.cases] == [[0, 1], [0, 1]]
    assert not list(process.dispatches)
    assert process.record.ended == "clean"


def test_a_case_carries_how_it_ran_as_effective(vector: tuple[Run, str]) -> None:
    default, no_golden = (dict(one.span.attributes) for one in only_process(vector[0]).cases)
    measured = {name for name in default if name in CONDITIONS and CONDITIONS[name].measured}
    assert {"scenetest.cpu.pressure", "scenetest.load.average", "scenetest.memory.peak"} <= measured
    assert {name: value for name, value in default.items() if name not in measured} == CASE_OF_VECTOR
    assert no_golden["scenetest.golden_skipped"] is True


def test_the_phases_of_a_case_are_recorded_beside_its_dispatches(vector: tuple[Run, str]) -> None:
    default, no_golden = only_process(vector[0]).cases
    assert [one.name for one in default.phases] == ["args", "args", "golden", "compare", "compare"]
    assert [one.name for one in no_golden.phases] == ["args", "args"]


def test_a_variable_set_around_a_run_only_is_not_taken_for_one_of_the_process(vector: tuple[Run, str]) -> None:
    dispatch = only_process(vector[0]).cases[0].dispatches[0]
    assert "scenetest.env.pto2_ring_heap" not in dispatch.conditions


def test_the_log_line_comes_once_before_the_first_dispatch(vector: tuple[Run, str]) -> None:
    output = vector[1]
    line = (
        "torch_backend_autoload setting=unset raw=null raw_truncated=false effective=enabled torch_imported=true "
        "torch_npu_loaded=false"
    )
    assert output.count(line) == 1
    assert output.index("TestVector::default ...") < output.index(line) < output.index("[STRACE]")


def test_a_wrong_result_fails_the_case_and_its_comparison_but_not_the_dispatch(tmp_path: Path) -> None:
    run, output = run_harness(
        tmp_path, "scenes/test_mismatch.py", "-p", "a2a3sim", "--enable-dep-gen", expect=1, OMP_NUM_THREADS="1"
    )
    assert "TestMismatch::default FAILED: Golden mismatch on 'out'" in output
    (case,) = only_process(run).cases
    assert (case.span.outcome, case.span.error_type) == ("fail", "AssertionError")
    assert [(one.name, one.outcome) for one in case.phases][-1] == ("compare", "fail")
    assert [one.outcome for one in case.dispatches] == ["pass"]
    assert case.span.attributes["scenetest.diagnostics"] == "dep_gen=1"


def test_the_children_of_the_module_runner_join_the_run_although_their_output_is_captured(
    group: tuple[Run, str],
) -> None:
    run, output = group
    parent, process = run.processes
    assert (parent.cases, list(parent.dispatches)) == ([], [])
    assert "--level" in process.record.facts["command"]
    assert process.record.conditions["scenetest.stderr"] == "pipe"
    assert "STRACE" not in output


def test_level_3_counts_the_devices_and_the_workers_that_poll_beside_it(group: tuple[Run, str]) -> None:
    _, case = cases(group[0])["TestGroup::default"]
    attributes = case.span.attributes
    assert (attributes["scenetest.level"], attributes["scenetest.devices"]) == (3, 2)
    assert (attributes["scenetest.workers.chip"], attributes["scenetest.workers.sub"]) == (2, 1)
    assert attributes["scenetest.device.id"] == "0,1"
    assert [one.name for one in case.phases] == ["args", "golden", "rehost", "compare"]
    assert [one.outcome for one in case.dispatches] == ["pass"]

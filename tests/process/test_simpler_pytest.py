"""The harness under pytest: inline, one child per class, xdist workers; items that dispatch by themselves."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.harness import cases, run_harness
from support.scripts import only_process

from opentelemetry.instrumentation.scenetest.analyse.runs import Run

ITEMS = """
import pytest
from simpler.task_interface import ChipCallable
from simpler.worker import Worker


@pytest.fixture(scope="module")
def worker():
    made = Worker(level=2, device_id=3, platform="a2a3sim", runtime="host_build_graph")
    made.init()
    yield made
    made.close()


def run(worker):
    worker.run(worker.register(ChipCallable("nothing", lambda: None, [])))


def test_passes(worker):
    run(worker)
    run(worker)


def test_fails(worker):
    run(worker)
    pytest.fail("on purpose")


def test_skips(worker):
    run(worker)
    pytest.skip("on purpose")


def test_forks():
    node = Worker(level=3, device_ids=[], num_sub_workers=1, platform="a2a3sim", runtime="host_build_graph")
    sub = node.register(lambda args: None)
    network = Worker(level=4, platform="a2a3sim", runtime="host_build_graph")
    network.add_worker(node)
    graph = network.register(lambda orch, args, config: orch.submit_sub(sub, args))
    network.init()
    network.run(lambda orch, args, config: orch.submit_next_level(graph, args))
    network.close()


def test_does_not_dispatch(worker):
    assert worker.level == 2
"""


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Every kind of child that a pytest session of the harness starts."""
    scenes = ("scenes/test_node.py", "scenes/test_own_dispatch.py")
    options = ("--platform", "a2a3sim", "--device", "0-1", "--max-parallel", "2")
    return run_harness(tmp_path_factory.mktemp("store"), "-m", "pytest", *scenes, *options)[0]


def test_cases_of_every_child_are_in_the_run(session: Run) -> None:
    assert sorted(cases(session)) == [
        "TestNativeLifecycle::default",
        "TestNode::default",
        "scenes/test_own_dispatch.py::TestOwnRun::test_run",
        "scenes/test_own_dispatch.py::test_plain_function",
    ]
    assert {one.span.outcome for _, one in cases(session).values()} == {"pass"}
    assert {process.record.ended for process in session.processes} == {"clean"}


def test_a_class_runs_in_a_child_and_level_2_in_xdist_workers(session: Run) -> None:
    recorded = cases(session)
    child, worker = (recorded[name][0].record for name in ("TestNode::default", "TestNativeLifecycle::default"))
    assert "--level" in child.facts["command"]
    assert child.pid != worker.pid
    assert worker.facts["command"][1:3] == ["-u", "-c"]  # as execnet starts it


def test_torch_is_observed_as_it_is_at_the_dispatch_though_imported_within_the_case(session: Run) -> None:
    _, case = cases(session)["TestNode::default"]
    assert [one.name for one in case.phases] == ["args", "rehost"]
    assert case.dispatches[0].conditions["torch.imported"] is True
    assert case.dispatches[0].conditions["torch.backend_autoload.captured"] == "at_import"


def test_a_test_that_overrides_test_run_is_a_case_named_by_its_node_id(session: Run) -> None:
    _, case = cases(session)["scenes/test_own_dispatch.py::TestOwnRun::test_run"]
    assert [one.round for one in case.dispatches] == [0, 1]
    assert case.span.attributes["scenetest.runtime"] == "tensormap_and_ringbuffer"


def test_a_case_that_never_calls_run_is_recorded_without_dispatches(session: Run) -> None:
    _, case = cases(session)["TestNativeLifecycle::default"]
    assert not list(case.dispatches)


def test_scene_test_is_hooked_although_pytest_loads_it_past_import_hooks(tmp_path: Path) -> None:
    run, _ = run_harness(
        tmp_path, "-m", "pytest", "scenes/test_mismatch.py", "--platform", "a2a3sim", "--rounds", "3", expect=1
    )
    (case,) = only_process(run).cases
    assert (case.span.suite, case.span.name) == ("TestMismatch", "default")
    assert (case.span.outcome, case.span.error_type) == ("fail", "AssertionError")
    assert case.span.attributes["scenetest.rounds"] == 3


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Items that are no scenes, in a session to which a warning is an error."""
    tmp_path = tmp_path_factory.mktemp("items")
    (tmp_path / "test_items.py").write_text(ITEMS)
    options = (f"--rootdir={tmp_path}", "-c", "/dev/null", "-p", "no:cacheprovider", "-W", "error")
    return run_harness(tmp_path / "store", "-m", "pytest", *options, str(tmp_path / "test_items.py"), expect=1)[0]


def test_an_item_is_a_case_when_it_dispatches_by_itself_with_the_outcome_of_the_item(items: Run) -> None:
    process, _ = cases(items)["test_items.py::test_passes"]
    assert not list(process.dispatches)
    assert [(one.span.name, one.span.outcome, len(one.dispatches)) for one in process.cases] == [
        ("test_passes", "pass", 2),
        ("test_fails", "fail", 1),
        ("test_skips", "skipped", 1),
        ("test_forks", "pass", 1),
    ]
    assert {one.span.suite for one in process.cases} == {"test_items.py"}
    assert process.cases[0].span.attributes["scenetest.device.id"] == "3"


def test_a_child_forked_by_an_item_has_no_part_in_the_case_of_the_item(items: Run) -> None:
    parent, child = items.processes
    assert child.record.facts["parent_pid"] == parent.record.pid
    assert child.cases == []
    assert [one.attributes["scenetest.level"] for one in child.dispatches] == [3]

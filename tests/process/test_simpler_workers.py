"""Hooks on the harness's Worker in drivers that create one: synchronous, asynchronous, forked."""

from __future__ import annotations

from pathlib import Path

from support.harness import HARNESS, OF_WORKER, run_harness
from support.scripts import only_process, record, run_script

OF_DISPATCH = {
    "scenetest.callable": "CallableHandle",
    **OF_WORKER,
}
SETUP = """
    instrument()
    from simpler.task_interface import ChipCallable, TaskArgs
    from simpler.worker import Worker
    def worker():
        made = Worker(level=2, device_id=0, platform="a2a3sim", runtime="host_build_graph")
        made.init()
        return made, made.register(ChipCallable("nothing", lambda: None, []))
    """


def test_a_driver_without_cases_records_its_runs_with_what_its_worker_tells(tmp_path: Path) -> None:
    run, _ = run_harness(tmp_path, "scenes/driver.py", "run")
    process = only_process(run)
    assert process.cases == []
    assert [one.round for one in process.dispatches] == [0, 1, 2]
    assert [one.attributes for one in process.dispatches] == [OF_DISPATCH] * 3
    assert process.record.ended == "clean"


def test_an_asynchronous_dispatch_is_recorded_once_however_often_it_is_waited_for(tmp_path: Path) -> None:
    run, output = run_harness(tmp_path, "scenes/driver.py", "submit")
    first, drained = only_process(run).dispatches
    assert "not yet" in output
    assert first.attributes == {**OF_DISPATCH, "scenetest.async": True, "scenetest.run_id": 1}
    assert first.outcome == "pass"
    # Worker.close waits for what nobody waited for
    assert (drained.attributes["scenetest.run_id"], drained.outcome) == (2, "pass")


def test_a_dispatch_that_nobody_waits_for_is_recorded_with_an_unknown_end(tmp_path: Path) -> None:
    run, _ = run_harness(tmp_path, "scenes/driver.py", "never-waited")
    process = only_process(run)
    (only,) = process.dispatches
    assert process.record.ended == "clean"
    assert (only.outcome, only.end_ns, only.attributes["scenetest.async"]) == ("unknown", None, True)


def test_dispatches_outside_any_case_have_different_rulers_where_their_workers_differ(tmp_path: Path) -> None:
    run = record(
        SETUP
        + """
    made, handle = worker()
    made.run(handle)
    made.run(handle)
    other = Worker(level=2, device_id=1, platform="a5sim", runtime="host_build_graph")
    other.init()
    other.run(other.register(ChipCallable("nothing", lambda: None, [])))
    """,
        tmp_path,
        env={"PYTHONPATH": str(HARNESS)},
    )
    first, second, other = (one.ruler for one in only_process(run).dispatches)
    assert first == second != other


def test_a_failing_run_reaches_the_caller_and_is_recorded(tmp_path: Path) -> None:
    run = record(
        SETUP
        + """
    made, _ = worker()
    def broken():
        raise ZeroDivisionError("as it was")
    handle = made.register(ChipCallable("broken", broken, []))
    for call in (made.run, lambda handle: made.submit(handle).result()):
        try:
            call(handle)
        except ZeroDivisionError as error:
            assert str(error) == "as it was"
    """,
        tmp_path,
        env={"PYTHONPATH": str(HARNESS)},
    )
    ends = [(one.outcome, one.error_type) for one in only_process(run).dispatches]
    assert ends == [("error", "ZeroDivisionError")] * 2


def test_a_run_within_a_dispatch_of_the_caller_is_recorded_once(tmp_path: Path) -> None:
    run = record(
        SETUP
        + """
    made, handle = worker()
    with case("Mine", "c"), dispatch(round=5):
        made.run(handle)
    """,
        tmp_path,
        env={"PYTHONPATH": str(HARNESS)},
    )
    process = only_process(run)
    assert [one.round for one in process.cases[0].dispatches] == [5]
    assert not list(process.dispatches)


def test_what_holds_at_worker_init_is_what_is_recorded(tmp_path: Path) -> None:
    run = record(
        SETUP
        + """
    import logging, os
    logging.getLogger("simpler").setLevel("ERROR")
    os.environ["PTO2_RING_HEAP"] = "4096"
    made, handle = worker()
    logging.getLogger("simpler").setLevel("DEBUG")
    del os.environ["PTO2_RING_HEAP"]
    made.run(handle)
    os.environ["PTO2_RING_DEP_POOL"] = "7"
    again, handle = worker()
    again.run(handle)
    """,
        tmp_path,
        env={"PYTHONPATH": str(HARNESS)},
    )
    first, second = only_process(run).dispatches
    assert first.conditions["scenetest.log_level"] == "error"
    assert first.conditions["scenetest.env.pto2_ring_heap"] == "4096"
    assert second.conditions["scenetest.log_level"] == "debug"
    assert second.conditions["scenetest.env.pto2_ring_dep_pool"] == "7"
    assert "scenetest.env.pto2_ring_heap" not in second.conditions


def test_device_files_are_those_open_before_the_first_worker_opened_its_own(tmp_path: Path) -> None:
    run = record(
        SETUP
        + """
    made, handle = worker()
    made.run(handle)
    """,
        tmp_path,
        env={"PYTHONPATH": str(HARNESS)},
    )
    assert only_process(run).dispatches[0].conditions["scenetest.device_files"] == ""


def test_a_forked_child_that_dispatches_records_it_in_a_journal_of_its_own_and_ends_cleanly(tmp_path: Path) -> None:
    run, _ = run_harness(tmp_path, "scenes/driver_l4.py")
    network, node = run.processes
    assert node.record.facts["parent_pid"] == network.record.pid
    assert [process.record.ended for process in run.processes] == ["clean", "clean"]
    assert [one.attributes["scenetest.level"] for one in network.dispatches] == [4, 4]
    assert [one.attributes["scenetest.level"] for one in node.dispatches] == [3, 3]
    assert [one.attributes["scenetest.callable"] for one in node.dispatches] == ["main.<locals>.run_node"] * 2
    for outer, inner in zip(network.dispatches, node.dispatches, strict=True):
        assert outer.end_ns is not None
        assert inner.end_ns is not None
        assert outer.start_ns < inner.start_ns < inner.end_ns < outer.end_ns


def test_a_harness_whose_submit_and_wait_have_other_parameters_is_recorded_alike(tmp_path: Path) -> None:
    run = record(
        """
    import simpler.worker
    submit, wait = simpler.worker.Worker.submit, simpler.worker.RunHandle.wait
    simpler.worker.Worker.submit = lambda self, target, **keywords: submit(self, target, **keywords)
    simpler.worker.RunHandle.wait = lambda self, *args: wait(self, *args)
    """
        + SETUP
        + """
    made, handle = worker()
    made.run(handle)
    made.submit(handle, args=TaskArgs()).wait()
    """,
        tmp_path,
        env={"PYTHONPATH": str(HARNESS)},
    )
    ran, submitted = only_process(run).dispatches
    assert (ran.attributes.get("scenetest.async"), submitted.attributes["scenetest.async"]) == (None, True)
    assert (ran.outcome, submitted.outcome) == ("pass", "pass")


def test_hooks_keep_the_signature_and_the_messages_of_what_they_wrap(tmp_path: Path) -> None:
    source = """
    import inspect, simpler.worker
    def signatures():
        return [inspect.signature(one) for one in (simpler.worker.Worker.submit, simpler.worker.RunHandle.wait)]
    before = signatures()
    instrument()
    assert signatures() == before
    worker = simpler.worker.Worker(level=2, device_id=0)
    try:
        worker.submit()
    except TypeError as error:
        assert "Worker.submit() missing 1 required positional argument: 'callable'" in str(error), error
    """
    assert run_script(source, env={"PYTHONPATH": str(HARNESS), "SCENETEST_OTEL_DIR": str(tmp_path)}).returncode == 0


def test_a_child_that_is_forked_where_a_dispatch_has_ended_elsewhere_records_what_it_submits(tmp_path: Path) -> None:
    run = record(
        SETUP
        + """
    import contextvars, os
    made, handle = worker()
    inside = dispatch()
    with case("S", "parent"):
        inside.__enter__()
        contextvars.Context().run(inside.__exit__, None, None, None)
    if os.fork() == 0:
        made.submit(handle)  # the thread that would run it is the parent's
        os._exit(0)
    os.wait()
    """,
        tmp_path,
        env={"PYTHONPATH": str(HARNESS)},
    )
    (child,) = (one for one in run.processes if not one.cases)
    assert [one.attributes["scenetest.async"] for one in child.dispatches] == [True]

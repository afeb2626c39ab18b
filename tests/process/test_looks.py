"""When conditions are observed, and how a dispatch is recorded during which they change."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from click.testing import CliRunner
from support.scripts import only_process, record

from opentelemetry.instrumentation.scenetest.analyse import contamination
from opentelemetry.instrumentation.scenetest.cli import main


def rulers(run_directory: Path) -> list[str]:
    document = json.loads(CliRunner().invoke(main, ["show", str(run_directory), "--json"]).output)
    (process,) = document["processes"]
    spans = [*(one for case in process["cases"] for one in case["dispatches"]), *process["dispatches"]]
    return [one["attributes"]["scenetest.ruler"] for one in spans]


def test_threads_that_are_set_between_two_cases_give_two_rulers(tmp_path: Path) -> None:
    run = record(
        """
        import torch
        instrument()
        for number in (2, 1):
            torch.set_num_threads(number)
            with case("S", str(number)), dispatch(): pass
        """,
        tmp_path,
    )
    cases = only_process(run).cases
    assert [one.span.conditions["torch.num_threads"] for one in cases] == [2, 1]
    first, second = rulers(run.path)
    assert "unknown" not in (first, second)
    assert first != second


def test_cpus_that_are_taken_in_a_forked_child_are_those_of_the_child(tmp_path: Path) -> None:
    run = record(
        """
        import os
        instrument()
        with case("S", "parent"), dispatch(): pass
        if os.fork() == 0:
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
            with case("S", "child"), dispatch(): pass
            os._exit(0)
        os.wait()
        """,
        tmp_path,
    )
    cpus = {one.cases[0].span.name: one.cases[0].span.conditions["scenetest.cpus"] for one in run.processes}
    assert cpus["parent"] != cpus["child"]


def test_a_change_inside_a_dispatch_makes_its_ruler_unknown_and_show_says_what_changed(tmp_path: Path) -> None:
    run = record(
        """
        import torch
        torch.set_num_threads(2)
        instrument()
        with case("S", "c"):
            with dispatch(): torch.set_num_threads(1)
        with case("S", "after"), dispatch(): pass
        """,
        tmp_path,
    )
    changed, after = only_process(run).cases
    assert changed.span.ruler == changed.dispatches[0].ruler == "unknown"
    assert changed.dispatches[0].conditions["torch.num_threads"] == "unknown"
    assert after.dispatches[0].ruler != "unknown"
    output = CliRunner().invoke(main, ["show", str(run.path)]).output
    assert "the ruler of 1 of 1 dispatches is unknown: torch.num_threads 2 -> 1" in output


def test_torch_that_is_imported_between_two_dispatches_touches_neither(tmp_path: Path) -> None:
    run = record(
        """
        instrument()
        with case("S", "c"):
            with dispatch(): pass
            import torch
            with dispatch(): pass
        """,
        tmp_path,
    )
    (recorded,) = only_process(run).cases
    before, after = recorded.dispatches
    assert (before.conditions["torch.imported"], after.conditions["torch.imported"]) == (False, True)
    assert recorded.span.ruler == "unknown"
    assert "unknown" not in (before.ruler, after.ruler)


def test_torch_that_the_last_dispatch_of_a_process_imports_is_seen_at_its_end(tmp_path: Path) -> None:
    run = record("instrument()\nwith dispatch():\n    import torch", tmp_path)
    (only,) = only_process(run).dispatches
    assert only.ruler == "unknown"
    assert "torch.imported false -> true" in only.changed
    verdict = contamination.verdict(run)
    assert verdict.word == "CLEAN"
    assert "no backend is installed" in verdict.reason


def test_a_module_that_is_taken_away_for_a_while_counts_for_the_verdict(tmp_path: Path) -> None:
    run = record(
        """
        import sys, types
        from unittest import mock
        instrument()
        npu = types.ModuleType("torch_npu")
        npu.__version__ = "2.9"
        with mock.patch.dict(sys.modules, torch_npu=npu):
            with case("S", "with"), dispatch(): pass
        with case("S", "without"), dispatch(): pass
        """,
        tmp_path,
    )
    with_npu, without = only_process(run).cases
    assert (with_npu.span.conditions["torch_npu.loaded"], without.span.conditions["torch_npu.loaded"]) == (True, False)
    assert contamination.verdict(run).word == "CONTAMINATED"


def test_a_thread_with_cpus_and_a_nice_value_of_its_own_has_a_ruler_of_its_own(tmp_path: Path) -> None:
    run = record(
        """
        import os, threading
        instrument()
        def work(name):
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
            os.nice(5)
            with dispatch(): pass
            with case("S", name), dispatch(): pass
        with case("S", "main"):
            with dispatch(): pass
            worker = threading.Thread(target=work, args=("worker",))
            worker.start()
            worker.join()
            with dispatch(): pass
        """,
        tmp_path,
    )
    main_case, worker_case = sorted(only_process(run).cases, key=lambda one: one.span.name)
    cpus = [one.conditions["scenetest.cpus"] for one in main_case.dispatches]
    nice = [one.conditions["scenetest.nice"] for one in main_case.dispatches]
    alone, own = main_case.span.conditions["scenetest.nice"], worker_case.span.conditions["scenetest.nice"]
    assert isinstance(alone, int)
    assert nice == [alone, alone + 5, alone]
    assert cpus[0] == cpus[2] == main_case.span.conditions["scenetest.cpus"]
    assert own == worker_case.dispatches[0].conditions["scenetest.nice"] == alone + 5
    before, in_thread, after = (one.ruler for one in main_case.dispatches)
    assert before == after == main_case.span.ruler
    assert in_thread == worker_case.dispatches[0].ruler
    assert in_thread not in (before, "unknown")


def test_a_dispatch_of_a_profiled_thread_is_not_recorded_as_one_without_a_profiler(tmp_path: Path) -> None:
    run = record(
        """
        import sys, threading
        instrument()
        def work():
            sys.setprofile(lambda *_: None)
            with dispatch(): pass
        with case("S", "c"):
            with dispatch(): pass
            worker = threading.Thread(target=work)
            worker.start()
            worker.join()
        """,
        tmp_path,
    )
    own, profiled = only_process(run).cases[0].dispatches
    assert own.conditions["scenetest.python.tracing"] == ""
    assert profiled.conditions["scenetest.python.tracing"] == "profile"


def test_a_change_of_its_thread_inside_a_dispatch_makes_the_ruler_of_this_dispatch_unknown(tmp_path: Path) -> None:
    run = record(
        """
        import os, threading
        instrument()
        def work():
            with dispatch(): pass
            with dispatch(): os.nice(5)
            with dispatch(): pass
            with case("S", "worker"): os.nice(1)
        with case("S", "main"):
            worker = threading.Thread(target=work)
            worker.start()
            worker.join()
        """,
        tmp_path,
    )
    main_case, worker_case = sorted(only_process(run).cases, key=lambda one: one.span.name)
    before, inside, after = main_case.dispatches
    assert inside.ruler == inside.conditions["scenetest.nice"] == "unknown"
    assert worker_case.span.ruler == "unknown"
    assert "unknown" not in (before.ruler, after.ruler, main_case.span.ruler)
    assert after.conditions["scenetest.nice"] == before.conditions["scenetest.nice"] + 5  # type: ignore[operator]


def test_an_imported_backend_that_is_taken_out_of_sys_modules_is_not_called_clean(tmp_path: Path) -> None:
    run = record(
        """
        import sys
        from unittest import mock
        instrument()
        with mock.patch.dict(sys.modules):
            import demo_device
        with case("S", "c"), dispatch(): pass
        """,
        tmp_path,
        env={"PYTHONPATH": str(Path(sys.prefix) / "demo-device"), "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
    )
    verdict = contamination.verdict(run)
    assert verdict.word == "UNKNOWN"
    assert "whether the program loaded demo-device itself is not known" in verdict.reason


def test_nobody_knows_what_a_dispatch_loaded_that_the_process_did_not_survive(tmp_path: Path) -> None:
    run = record("import os\ninstrument()\nwith case('S', 'c'):\n    with dispatch(): os._exit(3)", tmp_path, expect=3)
    assert only_process(run).record.ended == "lost"
    assert contamination.verdict(run).word == "UNKNOWN"
    assert "nobody saw what its last dispatch loaded" in contamination.verdict(run).reason


def test_a_process_that_is_killed_after_its_cases_is_as_clean_as_they_were(tmp_path: Path) -> None:
    run = record("import os\ninstrument()\nwith case('S', 'c'), dispatch(): pass\nos._exit(3)", tmp_path, expect=3)
    assert only_process(run).record.ended == "not_seen"
    assert contamination.verdict(run).word == "CLEAN"
    assert "lost" not in CliRunner().invoke(main, ["show", str(run.path)]).output

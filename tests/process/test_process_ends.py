"""However a process ends, nothing measured is lost, and an unfinished dispatch is `aborted`."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.runner import run
from support.scripts import PREAMBLE, PROGRAMS, clean_environment, only_process, only_run, program, record

import opentelemetry.instrumentation.scenetest as package
from opentelemetry.instrumentation.scenetest.deliver import native, spans
from opentelemetry.instrumentation.scenetest.sources import runs

TEN_ROUNDS = """
import ctypes, os, signal
instrument()
with case("S", "c"):
    for number in range(10):
        with dispatch():
            if number == 6:
                {death}
"""


@pytest.mark.parametrize(
    ("death", "status"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", -9),
        ("ctypes.string_at(0)", -11),
        ("os._exit(3)", 3),
        ("os.execv('/bin/true', ['true'])", 0),
    ],
)
def test_a_death_in_round_7_of_10_leaves_6_ended_dispatches_and_one_aborted(
    death: str, status: int, tmp_path: Path
) -> None:
    process = only_process(record(TEN_ROUNDS.format(death=death), tmp_path, expect=status))
    (recorded,) = process.cases
    assert process.record.ended == "lost"
    assert recorded.span.outcome == "aborted"
    assert [one.outcome for one in recorded.dispatches] == ["pass"] * 6 + ["aborted"]
    assert recorded.dispatches[6].round == 6
    assert recorded.dispatches[6].duration_ns is None


def test_the_open_spans_of_a_killed_process_end_no_earlier_than_what_lies_in_them(tmp_path: Path) -> None:
    run(tmp_path, program("killed_in_a_dispatch.py"), expect=-9)
    recorded = only_run(tmp_path)
    found = [*spans.of_run(recorded.path, recorded.facts), *native.of_run(recorded.path, recorded.facts)]
    ends = {span.name: span.end_time for span in found}
    assert ends["S::c"] == ends["dispatch S::c"] == ends["chip.run.bind"]
    by_id = {span.context.span_id: span for span in found if span.context is not None}
    for span in found:
        above = by_id.get(span.parent.span_id) if span.parent else None
        if above is not None:
            assert (above.start_time or 0) <= (span.start_time or 0)
            assert (span.end_time or 0) <= (above.end_time or 0), (span.name, above.name)
    open_ones = [span.name for span in found if (span.attributes or {}).get("scenetest.end") == "not_seen"]
    assert open_ones == ["S::c", "dispatch S::c"]


def test_a_process_that_still_runs_is_neither_clean_nor_lost(tmp_path: Path) -> None:
    script = PREAMBLE + "instrument()\nwith case('S', 'c'), dispatch():\n    print('in', flush=True); input()\n"
    environment = clean_environment(SCENETEST_OTEL_DIR=str(tmp_path))
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "in\n"
        process = only_process(only_run(tmp_path))
        assert process.record.ended == "running"
        assert process.cases[0].dispatches[0].outcome == "running"
        running.communicate("\n")
    process = only_process(only_run(tmp_path))
    assert process.record.ended == "clean"
    assert process.cases[0].dispatches[0].outcome == "pass"


def test_the_lock_is_free_within_a_moment_of_sigkill(tmp_path: Path) -> None:
    script = PREAMBLE + "instrument()\nwith case('S', 'c'), dispatch():\n    print('in', flush=True); input()\n"
    environment = clean_environment(SCENETEST_OTEL_DIR=str(tmp_path))
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as running:
        assert running.stdout is not None
        running.stdout.readline()
        running.kill()
        running.wait()
        deadline = time.monotonic() + 1
        while only_process(only_run(tmp_path)).record.ended == "running" and time.monotonic() < deadline:
            pass
    assert only_process(only_run(tmp_path)).record.ended == "lost"


def test_a_forked_child_that_dispatches_records_as_a_process_of_its_own(tmp_path: Path) -> None:
    run = record(
        PROGRAMS / "process_ends/forked_child_dispatches.py",
        tmp_path,
    )
    parent, child = run.processes
    assert [one.span.name for one in parent.cases] == ["parent"]
    assert [one.round for one in parent.cases[0].dispatches] == [0, 1]
    assert (parent.record.ended, child.record.ended) == ("clean", "not_seen")
    assert [(one.span.name, one.span.inherited) for one in child.cases] == [("parent", True), ("child", False)]
    assert (parent.cases[0].in_children, len(child.dispatches)) == (1, 0)
    assert child.record.facts["parent_pid"] == parent.record.pid


def test_a_forked_child_that_unwinds_the_parents_case_writes_nothing_of_it(tmp_path: Path) -> None:
    run = record(
        PROGRAMS / "process_ends/forked_child_unwinds.py",
        tmp_path,
    )
    (recorded,) = only_process(run).cases
    assert [one.outcome for one in recorded.dispatches] == ["pass"]


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_multiprocessing_child_that_dispatches_ends_cleanly(method: str, tmp_path: Path) -> None:
    script = tmp_path / "driver.py"
    script.write_text(
        PREAMBLE
        + f"""
import multiprocessing
def work():
    with case("S", "child"), dispatch(): pass
if __name__ == "__main__":
    instrument()
    child = multiprocessing.get_context({method!r}).Process(target=work)
    child.start(); child.join()
    assert child.exitcode == 0
"""
    )
    store = tmp_path / "store"
    subprocess.run([sys.executable, str(script)], env=clean_environment(SCENETEST_OTEL_DIR=str(store)), check=True)
    process = only_process(only_run(store))
    assert process.record.ended == "clean"
    assert [one.span.name for one in process.cases] == ["child"]


def test_the_package_on_pythonpath_only_joins_the_run_when_it_is_imported(tmp_path: Path) -> None:
    # As `pip install --target` leaves it: its .pth file is there, and nobody reads it.
    site, run = tmp_path / "site", tmp_path / "run"
    shutil.copytree(Path(package.__file__).parent, site / "opentelemetry" / "instrumentation" / "scenetest")
    run.mkdir()
    environment = clean_environment(SCENETEST_OTEL_RUN=str(run), PYTHONPATH=str(site))
    torch = (
        "import sys, types; sys.modules['torch'] = types.ModuleType('torch'); sys.modules['torch'].__version__ = '9'\n"
    )
    script = torch + PREAMBLE + "with case('S', 'c'), dispatch(): pass"
    subprocess.run([sys.executable, "-S", "-c", script], env=environment, check=True, cwd=tmp_path)
    process = only_process(runs.load(run))
    assert [(one.span.name, one.span.outcome) for one in process.cases] == [("c", "pass")]
    assert process.record.ended == "clean"
    assert process.record.conditions["torch.imported"] is True
    assert process.record.conditions["torch.backend_autoload.captured"] == "at_launch"

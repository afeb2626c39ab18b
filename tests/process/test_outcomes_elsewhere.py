"""Cases whose outcome or dispatches come from a fixture, another thread or a forked child."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner
from support.scripts import PROGRAMS, clean_environment, only_process, only_run, record

from opentelemetry.instrumentation.scenetest.analyse.runs import Case
from opentelemetry.instrumentation.scenetest.cli import main


def show(directory: Path) -> str:
    return CliRunner().invoke(main, ["show", str(directory)]).output


def rounds(case: Case) -> list[int]:
    return sorted(one.round for one in case.dispatches if one.round is not None)


def held_by_fixtures(folder: Path) -> dict[str, Case]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    environment = clean_environment(SCENETEST_OTEL_DIR=str(folder / "runs"))
    program = str(PROGRAMS / "elsewhere/held_by_fixtures.py")
    done = subprocess.run([*command, program], env=environment, capture_output=True, cwd=folder, check=False, text=True)
    assert done.returncode == 1, done.stdout
    cases = only_process(only_run(folder / "runs")).cases
    return {one.span.name.rpartition(".")[2]: one for one in cases}


def test_a_case_that_a_fixture_holds_ends_as_its_test_does(tmp_path: Path) -> None:
    cases = held_by_fixtures(tmp_path)
    assert {name: (one.span.outcome, one.span.error_type) for name, one in cases.items()} == {
        "test_fails": ("fail", "AssertionError"),
        "test_raises": ("error", "ValueError"),
        "test_skips": ("skipped", None),
        "test_passes": ("pass", None),
        "test_has_a_broken_fixture": ("error", "OSError"),
        "test_fails_as_expected": ("skipped", None),
        "test_passes_unexpectedly": ("fail", None),
        "test_runs_a_failing_test": ("pass", None),
        "TestOneFails": ("fail", "AssertionError"),
        "TestOnePasses": ("pass", None),
    }
    (event,) = cases["test_fails"].span.added.events
    assert event.attributes["exception.message"] == "text of the failure"
    assert event.monotonic_ns is not None
    assert event.monotonic_ns <= (cases["test_fails"].span.end_ns or 0)


def test_a_case_that_the_set_up_of_a_unittest_opens_ends_as_its_test_does(tmp_path: Path) -> None:
    run = record(PROGRAMS / "elsewhere/opened_in_set_up.py", tmp_path, expect=1)
    assert {one.span.name: (one.span.outcome, one.span.error_type) for one in only_process(run).cases} == {
        "all tests": ("pass", None),
        "test_fails": ("fail", "AssertionError"),
        "test_raises": ("error", "ValueError"),
        "test_skips": ("skipped", None),
        "test_passes": ("pass", None),
        "test_fails_as_expected": ("skipped", None),
        "test_fails_in_a_part": ("fail", "AssertionError"),
        "test_fails_in_its_tear_down": ("error", "OSError"),
        "test_awaits_and_fails": ("fail", "AssertionError"),
    }


def test_dispatches_of_a_thread_pool_belong_to_the_case_that_is_open(tmp_path: Path) -> None:
    run = record(PROGRAMS / "elsewhere/thread_pool.py", tmp_path)
    process = only_process(run)
    assert [(one.span.name, rounds(one)) for one in process.cases] == [
        ("first", [0, 1, 2, 3]),
        ("second", [0, 1, 2, 3]),
    ]
    assert {one.parent_id for one in process.cases[0].dispatches} == {process.cases[0].span.span_id}
    assert len(process.dispatches) == 3
    assert "S::second  pass  4 rounds, 4 of them in other threads" in show(run.path)


def test_a_dispatch_belongs_to_no_case_where_it_could_be_of_two(tmp_path: Path) -> None:
    run = record(PROGRAMS / "elsewhere/two_cases.py", tmp_path)
    process = only_process(run)
    assert sorted((one.span.name, len(one.dispatches)) for one in process.cases) == [("a", 1), ("b", 1)]
    assert len(process.dispatches) == 3
    assert "S::a  pass  1 round, 2 more in other threads may be of it" in show(run.path)


def test_dispatches_of_a_forked_pool_belong_to_the_case_until_it_ends(tmp_path: Path) -> None:
    run = record(PROGRAMS / "elsewhere/forked_pool.py", tmp_path)
    parent, *children = run.processes
    (own,) = parent.cases
    assert own.in_children == 4
    inherited = [one for child in children for one in child.cases]
    assert {(one.span.span_id, one.span.outcome) for one in inherited} == {(own.span.span_id, "pass")}
    dispatches = [one for case in inherited for one in case.dispatches]
    assert {one.trace_id for one in dispatches} == {own.span.trace_id}
    assert {one.how["scenetest.level"] for one in dispatches} == {2}
    assert sum(len(child.dispatches) for child in children) == 2
    printed = show(run.path)
    assert "S::c  L2  pass  4 rounds, 4 of them in forked children" in printed
    assert "lost" not in printed
    listed = CliRunner().invoke(main, ["runs", "--dir", str(tmp_path), "--json"]).output
    assert '"cases": 1' in listed


def test_a_forked_child_is_in_the_case_until_it_leaves_it(tmp_path: Path) -> None:
    run = record(PROGRAMS / "elsewhere/raw_fork.py", tmp_path)
    parent, *children = run.processes
    (own,) = parent.cases
    assert (len(own.dispatches), own.in_children) == (1, 3)
    assert sorted((len(child.cases), len(child.dispatches)) for child in children) == [(1, 0), (1, 0), (1, 1)]

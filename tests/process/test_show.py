"""`scenetest-otel show`: the verdict first, then what a reader needs to judge the figures."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from support.runner import CLI
from support.scripts import clean_environment, record

from opentelemetry.instrumentation.scenetest.cli import main


def show(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["show", *arguments])


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


def test_a_clean_run_says_so_first_and_then_name_time_rulers_and_command(store: Path) -> None:
    run = record("instrument()\nwith case('S', 'c', level=2, platform='a2a3sim'), dispatch(): pass", store)
    result = show(str(run.path))
    lines = result.output.splitlines()
    assert result.exit_code == 0
    assert lines[0] == "CLEAN  torch was not imported, 1 of 1 processes"
    started = f"{run.started:%d %b %H:%M}"
    headline, _, overhead = lines[1].partition("  an empty dispatch reads as ")
    assert headline == f"{run.name}  {started}  exit code not known  1 ruler  a2a3sim  stderr: pipe"
    assert re.fullmatch(r"[0-9.]+ us \(p99 [0-9.]+ us\)", overhead)
    assert lines[3] == "S::c  L2  pass  1 round"
    assert re.fullmatch(r"  +first +min +median +max *", lines[4])
    assert re.fullmatch(r"  dispatch +us( +[0-9.]+){4}", lines[5])


def test_of_many_rounds_that_did_not_pass_the_first_are_told_and_the_others_counted(store: Path) -> None:
    script = """
    from contextlib import suppress
    instrument()
    with case("S", "c"):
        for _ in range(13):
            with suppress(ValueError), dispatch(): raise ValueError
    """
    lines = show(str(record(script, store).path)).output.splitlines()
    told = [line for line in lines if line.startswith("  round ")]
    assert told == [f"  round {number} error: ValueError" for number in range(10)]
    assert "  3 more did not pass; --json has them all" in lines


def test_rounds_that_differ_from_what_was_asked_for_and_aborted_ones_are_told(store: Path) -> None:
    script = """
    import os
    instrument()
    with case("S", "c", rounds=10):
        for number in range(3):
            with dispatch():
                if number == 2: os._exit(1)
    """
    run = record(script, store, expect=1)
    output = show(str(run.path)).output
    assert "S::c  aborted  3 rounds of 10 asked for  the process was lost" in output
    assert "round 2 aborted: it never returned" in output


def test_the_newest_run_is_shown_without_a_name(store: Path) -> None:
    record("instrument()\nwith case('S', 'first'): pass", store)
    (first,) = store.iterdir()
    first.rename(store / "a")
    record_second = "instrument()\nwith case('S', 'second'): pass"
    from support.scripts import run_script

    run_script(record_second, env={"SCENETEST_OTEL_DIR": str(store)})
    assert "S::second" in show("--dir", str(store)).output
    assert "S::first" in show("--dir", str(store), "a").output


def test_the_json_object_has_the_fields_that_tools_rely_on(store: Path) -> None:
    script = """
    instrument()
    with case("S", "c", level=2):
        with phase("golden"): pass
        with dispatch(): pass
    with dispatch(callable="add"): pass
    """
    run = record(script, store)
    shown = json.loads(show(str(run.path), "--json").output)
    assert list(shown) == ["run", "processes", "problems"]
    assert list(shown["run"]) == ["id", "name", "command", "exit_code", "started"]
    (process,) = shown["processes"]
    assert list(process) == ["pid", "parent_pid", "ended", "conditions", "cases", "dispatches"]
    assert process["ended"] == "clean"
    assert process["conditions"]["torch.imported"] is False
    (shown_case,) = process["cases"]
    assert list(shown_case) == ["suite", "name", "outcome", "attributes", "phases", "dispatches"]
    assert list(shown_case["phases"][0]) == ["name", "start_unix_ns", "duration_ns"]
    expected = ["round", "outcome", "start_unix_ns", "duration_ns", "attributes", "trace_id", "span_id"]
    assert list(shown_case["dispatches"][0]) == expected
    assert list(process["dispatches"][0]) == expected
    assert shown["problems"]["torn_lines"] == 0


def test_a_torn_last_line_is_skipped_and_counted(store: Path) -> None:
    run = record("instrument()\nwith case('S', 'c'), dispatch(): pass", store)
    (journal,) = run.path.glob("*.jsonl")
    journal.write_bytes(journal.read_bytes() + b'{"kind":"open","span":"disp')
    result = show(str(run.path))
    assert result.exit_code == 0
    assert "1 torn lines" in result.output
    assert json.loads(show(str(run.path), "--json").output)["problems"]["torn_lines"] == 1


def test_every_condition_is_listed_with_its_use_and_how_it_was_observed(store: Path) -> None:
    run = record("instrument()\nwith case('S', 'c'), dispatch(): pass", store)
    output = show(str(run.path), "--conditions").output
    for attribute in run.processes[0].record.conditions:
        assert re.search(rf"^  {re.escape(attribute)} .*(ruler|context)", output, re.MULTILINE), attribute


def test_processes_that_dispatched_at_the_same_time_are_counted(store: Path) -> None:
    script = """
    import os, time
    instrument()
    children = []
    for number in range(3):
        child = os.fork()
        if child == 0:
            with case("S", str(number)):
                if number == 2: time.sleep(0.6)
                with dispatch(): time.sleep(0.4)
            os._exit(0)
        children.append(child)
    for child in children: os.waitpid(child, 0)
    """
    assert "2 processes dispatched at once" in show(str(record(script, store).path)).output


def test_text_that_would_drive_the_terminal_is_shown_as_what_it_is(store: Path) -> None:
    run = record(r"instrument()" + "\n" + r"with case('S\x1b[31m', 'c\n'), dispatch(): pass", store)
    output = show(str(run.path)).output
    assert "\x1b" not in output
    assert r"S\x1b[31m::c\x0a" in output


def test_the_width_of_the_terminal_changes_nothing_that_is_read_by_a_program(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = record("instrument()\nwith case('S', 'c'), dispatch(): pass", store)
    wide = show(str(run.path)).output
    monkeypatch.setenv("COLUMNS", "20")
    assert show(str(run.path)).output == wide


def test_a_name_that_the_terminal_has_no_letters_for_is_shown_by_their_numbers(store: Path) -> None:
    run = record("instrument()\nwith case('S', 'caf\\xe9'), dispatch(): pass", store)
    env = clean_environment(PYTHONIOENCODING="ascii")
    done = subprocess.run([CLI, "show", run.path], env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert r"S::caf\xe9" in done.stdout


@pytest.mark.parametrize("damage", ["unknown", "empty", "damaged"])
def test_what_cannot_be_shown_is_one_sentence_and_exit_code_2(damage: str, store: Path) -> None:
    directory = store / "run"
    directory.mkdir(parents=True)
    (directory / "run.json").write_text("{}")
    if damage == "damaged":
        (directory / "1-abcd.jsonl").write_bytes(b"\x00garbage\n")
    name = "nowhere" if damage == "unknown" else "run"
    result = show("--dir", str(store), name)
    assert result.exit_code == 2
    assert len(result.output.strip().splitlines()) == 1
    assert name in result.output

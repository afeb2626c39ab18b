"""`scenetest-otel ab` with problems: a failing arm, an unusable directory, an interrupt."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.runner import CLI
from support.scripts import clean_environment, program

from opentelemetry.instrumentation.scenetest.rundir import liveness
from opentelemetry.instrumentation.scenetest.sources import stores

SLEEPS = tuple(program("sleeps.py"))


def call(cwd: Path, *arguments: str, command: tuple[str, ...] = SLEEPS, name: str = "x", store: str = "") -> list[str]:
    return [CLI, "ab", "--dir", store or str(cwd / "store"), "--name", name, *arguments, "--", *command]


def ab(
    cwd: Path, *arguments: str, command: tuple[str, ...] = SLEEPS, name: str = "x", store: str = "", **env: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        call(cwd, *arguments, command=command, name=name, store=store),
        env=clean_environment(**env),
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
    )


def recorded(cwd: Path) -> list[str]:
    return [directory.name for directory in stores.all_runs(str(cwd / "store"))]


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (("no-such-program",), "the base can't run 'no-such-program': no such program on its PATH, or it is not exec"),
        (("./no-such-program",), "the base can't run './no-such-program': no such program in "),
        (("./text",), "the base can't run './text': no such program in "),
    ],
)
def test_a_command_that_an_arm_lacks_is_said_before_anything_is_made(
    tmp_path: Path, command: tuple[str, ...], sentence: str
) -> None:
    (tmp_path / "text").write_text("no program")
    done = ab(tmp_path, "--arm", "base=.", command=command)
    assert sentence in done.stderr
    assert done.returncode == 2
    assert not (tmp_path / "store").exists()


def test_what_can_not_be_allowed_is_said_before_anything_is_made(tmp_path: Path) -> None:
    done = ab(tmp_path, "--arm", "base=.", "--allow", "torch.versoin")
    assert (
        "--allow torch.versoin: this is no condition of the ruler and no group of them; do you mean torch.version?"
        in (done.stderr)
    )
    assert done.returncode == 2
    assert not (tmp_path / "store").exists()


def test_with_a_closed_standard_error_it_measures_and_compares(tmp_path: Path) -> None:
    closed = ["sh", "-c", 'exec "$@" 2>&-', "sh", *call(tmp_path, "--no-warm-up", "-n", "1", "--arm", "base=.")]
    done = subprocess.run(closed, env=clean_environment(), stdout=-1, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0
    assert "dispatch: 1 pair" in done.stdout


def test_a_name_that_no_directory_can_have_is_bad_input(tmp_path: Path) -> None:
    done = ab(tmp_path, "--arm", "base=.", name="a/b")
    assert "--name 'a/b' can't be used: it names a directory" in done.stderr
    assert done.returncode == 2


def test_a_store_that_can_not_be_made_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = ab(tmp_path, "--arm", "base=.", store=str(tmp_path / "file" / "store"))
    assert "(Not a directory): name a directory that can be written, by --dir or SCENETEST_OTEL_DIR" in done.stderr
    assert done.returncode == 2


def test_arms_that_fail_again_and_again_end_it_and_what_there_is_is_compared(tmp_path: Path) -> None:
    full = f"mkdir -p {tmp_path}/n; touch $(mktemp -p {tmp_path}/n); test $(ls {tmp_path}/n | wc -l) -lt 3 || exit 1; "
    done = ab(tmp_path, "--no-warm-up", "-n", "20", "--arm", "base=.", command=("sh", "-c", full + " ".join(SLEEPS)))
    assert len(recorded(tmp_path)) < 12
    assert "failed again and again: comparing what there is" in done.stderr
    assert "dispatch: 1 pair" in done.stdout


def test_an_arm_that_fails_now_and_then_is_measured_on(tmp_path: Path) -> None:
    flaky = f"mkdir -p {tmp_path}/n; touch $(mktemp -p {tmp_path}/n); test $(ls {tmp_path}/n | wc -l) -ne 3 || exit 1; "
    done = ab(tmp_path, "--no-warm-up", "-n", "3", "--arm", "base=.", command=("sh", "-c", flaky + " ".join(SLEEPS)))
    assert done.stderr.count("exit 1: left out") == 1
    assert "dispatch: 2 pairs" in done.stdout, done.stderr
    assert "without a partner, not used: x-" in done.stdout


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_preparation_that_is_interrupted_ends_with_all_that_it_started(tmp_path: Path, number: int) -> None:
    who = ("-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "-q", "--allow-empty", "-m", "first")
    for arguments in (("init", "-q", "-b", "main"), who):
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True, capture_output=True)
    told = tmp_path / "pid"
    setup = f"sleep 600 & echo $! > {told}.new; mv {told}.new {told}; wait"
    arguments = ("--arm", "base=main", "--setup", setup)
    process = subprocess.Popen(call(tmp_path, *arguments), env=clean_environment(), cwd=tmp_path, stderr=-1, text=True)
    while not told.exists():
        assert process.poll() is None
        time.sleep(0.02)
    os.kill(process.pid, number)
    _, errors = process.communicate(timeout=60)
    assert liveness.start_ticks(int(told.read_text())) is None
    assert "Traceback" not in errors
    listed = subprocess.run(["git", "worktree", "list"], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert len(listed.stdout.splitlines()) == 1


def test_an_interrupt_with_nothing_to_compare_is_an_error_in_json_too(tmp_path: Path) -> None:
    started = tmp_path / "started"
    command = ("sh", "-c", f"touch {started}; exec sleep 600")
    asked = call(tmp_path, "--json", "--arm", "base=.", command=command)
    process = subprocess.Popen(asked, env=clean_environment(), cwd=tmp_path, stdout=-1, stderr=-1, text=True)
    while not started.exists():
        assert process.poll() is None
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGTERM)
    output, _ = process.communicate(timeout=60)
    error = json.loads(output)["error"]
    assert error["code"] == process.returncode == 7
    assert error["message"].startswith("interrupted before there was anything to compare: the runs are in ")


def test_of_several_cases_the_forecast_says_which_one_scatters_most(tmp_path: Path) -> None:
    limits = ("--find", "0.01", "--max-pairs", "4", "--no-warm-up")
    done = ab(tmp_path, *limits, "--arm", "base=.", ONLY="second third")
    (line,) = [line for line in done.stderr.splitlines() if "scatter" in line]
    assert re.search(r"scatter of Sleep::(default|second|third) +[\d.]+ %: ", line), line
    assert re.search(
        r"4 pairs: that is the limit of --max-pairs; they find [\d.]+ % or more, and \S+ .*pairs? finds? 0.01 %",
        done.stderr,
    )


def test_a_directory_and_a_command_with_spaces_and_quotes_are_taken_as_they_are(tmp_path: Path) -> None:
    odd = tmp_path / "a dir with 'quotes' and $x"
    odd.mkdir()
    script = odd / "my bench.py"
    script.write_text(Path(SLEEPS[1]).read_text())
    arms = ("--arm", f"base={odd}", "--arm", f"measure={odd}", "--arm", "measure:NOTE=a b=c 'd'")
    done = ab(tmp_path, "--no-warm-up", "-n", "1", *arms, command=(sys.executable, "my bench.py", "", "a 'b'"))
    assert "dispatch: 1 pair" in done.stdout, done.stderr

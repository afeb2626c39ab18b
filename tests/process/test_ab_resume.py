"""`scenetest-otel ab --resume`: it continues only with the same command and arms, and says what differs."""

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
from support.scripts import PROGRAMS, clean_environment, program

from opentelemetry.instrumentation.scenetest.rundir import layout
from opentelemetry.instrumentation.scenetest.sources import stores

SLEEPS = tuple(program("sleeps.py"))
OTHER_BOOT = "00000000-1111-2222-3333-444444444444"


def call(cwd: Path, *arguments: str, command: tuple[str, ...] = SLEEPS) -> list[str]:
    return [CLI, "ab", "--dir", str(cwd / "store"), "--name", "x", *arguments, "--", *command]


def ab(
    cwd: Path, *arguments: str, command: tuple[str, ...] = SLEEPS, where: Path | None = None, **env: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        call(cwd, "--no-warm-up", *arguments, command=command),
        env=clean_environment(**env),
        capture_output=True,
        text=True,
        check=False,
        cwd=where or cwd,
    )


def recorded(cwd: Path) -> list[str]:
    return [directory.name for directory in stores.all_runs(str(cwd / "store"))]


def test_after_a_kill_the_run_that_goes_on_is_waited_for_and_counts(tmp_path: Path) -> None:
    arguments = ("--no-warm-up", "-n", "2", "--arm", "measure:FACTOR=100")
    first = subprocess.Popen(call(tmp_path, *arguments), env=clean_environment(), cwd=tmp_path, stderr=-3)
    while not layout.journals(tmp_path / "store" / "x-measure-2"):
        assert first.poll() is None
        time.sleep(0.02)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    resumed = ab(tmp_path, *arguments[1:], "--resume")
    assert "x-measure-2 is still running: waiting for its end" in resumed.stderr
    assert recorded(tmp_path) == ["x-base-1", "x-measure-1", "x-measure-2", "x-base-2"]
    assert "dispatch: 2 pairs" in resumed.stdout, resumed.stderr
    assert not list((tmp_path / "store").glob(f"*/{layout.DELIVERY_LATER}"))


def test_a_run_of_which_the_power_left_only_its_directory_is_made_again(tmp_path: Path) -> None:
    (tmp_path / "store" / "x-base-1").mkdir(parents=True)
    (tmp_path / "store" / "x-measure-1").touch()
    resumed = ab(tmp_path, "-n", "1", "--resume", "--arm", "base=.")
    assert "dispatch: 1 pair" in resumed.stdout, resumed.stderr
    assert recorded(tmp_path) == ["x-base-1-again-1", "x-measure-1-again-1"]


def test_another_boot_is_shown_and_does_not_forbid_a_comparison(tmp_path: Path) -> None:
    assert ab(tmp_path, "-n", "2", "--arm", "base=.").returncode == 0
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    for file in (tmp_path / "store").glob("*/*.json*"):
        text = file.read_text()
        assert boot in text
        file.write_text(text.replace(boot, OTHER_BOOT))
    resumed = ab(tmp_path, "-n", "4", "--resume", "--arm", "base=.")
    assert resumed.returncode == 0, resumed.stderr
    assert len(recorded(tmp_path)) == 8
    assert "dispatch: 4 pairs, order BMMBBMMB" in resumed.stdout
    (note,) = [line for line in resumed.stdout.splitlines() if "scenetest.boot_id" in line]
    assert note.startswith("note: scenetest.boot_id differs: ")
    assert OTHER_BOOT[:8] in note
    assert boot[:8] in note


def test_other_conditions_than_before_end_it_after_the_warm_up(tmp_path: Path) -> None:
    pinned = ("sh", "-c", f"exec taskset -c ${{CPUS:-0-1}} {sys.executable} {PROGRAMS / 'sleeps.py'}")
    assert ab(tmp_path, "-n", "1", "--arm", "base=.", command=pinned).returncode == 0
    resumed = subprocess.run(
        call(tmp_path, "-n", "9", "--resume", "--arm", "base=.", command=pinned),
        env=clean_environment(CPUS="0"),
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert resumed.returncode == 4, resumed.stderr
    assert resumed.stdout.startswith("NOT THE SAME RULER\n")
    assert recorded(tmp_path) == ["x-base-1", "x-measure-1", "x-warm-up-base", "x-warm-up-measure"]


def test_without_a_warm_up_other_conditions_end_it_after_the_first_new_pair(tmp_path: Path) -> None:
    pinned = ("sh", "-c", f"exec taskset -c ${{CPUS:-0-1}} {sys.executable} {PROGRAMS / 'sleeps.py'}")
    assert ab(tmp_path, "-n", "1", "--arm", "base=.", command=pinned).returncode == 0
    resumed = ab(tmp_path, "-n", "9", "--resume", "--arm", "base=.", command=pinned, CPUS="0")
    assert resumed.returncode == 4, resumed.stderr
    assert len(recorded(tmp_path)) == 4


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ("--arm", "base:FACTOR=2"),
            "x-base-1: the base ran with FACTOR=1, and now it is FACTOR=2: --resume continues",
        ),
        (("--arm", "measure:X=1"), "x-measure-1: the measure ran without X, and now it is X=1: "),
        (("--arm", "base=sub"), r"x-base-1: the base ran in \S+, and now it is \S+/sub: "),
    ],
)
def test_other_arms_are_refused(tmp_path: Path, arguments: tuple[str, ...], sentence: str) -> None:
    (tmp_path / "sub").mkdir()
    assert ab(tmp_path, "-n", "1", "--arm", "base:FACTOR=1").returncode == 0
    given = arguments if "FACTOR" in arguments[1] else ("--arm", "base:FACTOR=1", *arguments)
    resumed = ab(tmp_path, "-n", "2", "--resume", *given)
    assert resumed.returncode == 2
    assert re.search(sentence, resumed.stderr), resumed.stderr
    assert len(recorded(tmp_path)) == 2


def test_a_run_that_ab_did_not_make_is_refused(tmp_path: Path) -> None:
    run = [CLI, "run", "--dir", str(tmp_path / "store"), "--name", "x-base-1", "--", *SLEEPS]
    subprocess.run(run, env=clean_environment(), check=True, capture_output=True)
    resumed = ab(tmp_path, "-n", "1", "--resume", "--arm", "base=.")
    assert "x-base-1 was not made by ab, so which arm it ran is not known: " in resumed.stderr
    assert resumed.returncode == 2


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A git checkout with one committed file."""
    path = tmp_path / "checkout"
    path.mkdir()
    (path / "code").write_text("1\n")
    commit = ("-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "--quiet", "-m", "first")
    for arguments in (("init", "--quiet", "-b", "main"), ("add", "."), commit):
        subprocess.run(["git", *arguments], cwd=path, check=True, capture_output=True)
    return path


def test_other_uncommitted_changes_are_refused(tmp_path: Path, checkout: Path) -> None:
    assert ab(tmp_path, "-n", "1", "--arm", "base=.", where=checkout).returncode == 0
    (checkout / "code").write_text("2\n")
    resumed = ab(tmp_path, "-n", "2", "--resume", "--arm", "base=.", where=checkout)
    assert "the base ran with other uncommitted changes than there are now: --resume continues" in resumed.stderr
    assert resumed.returncode == 2


def test_a_revision_goes_on_in_another_worktree_and_another_revision_is_refused(tmp_path: Path, checkout: Path) -> None:
    assert ab(tmp_path, "-n", "1", "--arm", "base=main", where=checkout).returncode == 0
    resumed = ab(tmp_path, "-n", "2", "--resume", "--arm", "base=main", where=checkout)
    assert "dispatch: 2 pairs" in resumed.stdout, resumed.stderr
    commit = ("-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "--quiet", "--allow-empty", "-m", "2nd")
    subprocess.run(["git", *commit], cwd=checkout, check=True, capture_output=True)
    refused = ab(tmp_path, "-n", "3", "--resume", "--arm", "base=main", where=checkout)
    assert re.search(r"the base ran at revision \w{12}, and now it is revision \w{12}: ", refused.stderr)


def test_a_checkout_that_changes_while_it_is_measured_is_said(tmp_path: Path, checkout: Path) -> None:
    changes = ("sh", "-c", f"date +%N >> code; exec {' '.join(SLEEPS)}")
    done = ab(tmp_path, "-n", "2", "--arm", "base=.", command=changes, where=checkout)
    said = "has changed while it is measured: before, it ran with other uncommitted changes than there are now"
    assert [line.split(": ", 1)[1] for line in done.stderr.splitlines() if said in line] == [
        f"the measure {said}",
        f"the base {said}",
    ]


def test_a_budget_counts_what_is_to_be_measured_and_not_what_is_there(tmp_path: Path) -> None:
    assert ab(tmp_path, "-n", "3", "--arm", "base=.").returncode == 0
    resumed = ab(tmp_path, "-n", "3", "--resume", "--budget", "0.001s", "--arm", "base=.")
    assert "dispatch: 3 pairs" in resumed.stdout, resumed.stderr
    assert "the budget" not in resumed.stderr
    more = ab(tmp_path, "-n", "4", "--resume", "--budget", "0.001s", "--arm", "base=.")
    assert "the budget allows no more than 3 pairs" in more.stderr


def test_what_an_arm_is_stands_in_each_run_without_its_secrets(tmp_path: Path) -> None:
    assert ab(tmp_path, "-n", "1", "--arm", "base:API_TOKEN=hunter2", "--arm", "base:FACTOR=1").returncode == 0
    text = (tmp_path / "store" / "x-base-1" / "run.json").read_text()
    assert json.loads(text)["arm"] == {
        "name": "base",
        "directory": str(tmp_path),
        "variable API_TOKEN": "API_TOKEN=****",
        "variable FACTOR": "FACTOR=1",
    }
    assert "hunter2" not in text

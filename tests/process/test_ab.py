"""`scenetest-otel ab`: real runs of a real command in two arms."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.scripts import PROGRAMS, clean_environment

from opentelemetry.instrumentation.scenetest.errors import BadInputError
from opentelemetry.instrumentation.scenetest.runner.arms import NAMES, parse, turns
from opentelemetry.instrumentation.scenetest.sources import runs, stores

AB = [sys.executable, "-m", "opentelemetry.instrumentation.scenetest", "ab"]


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "sleep.py"
    path.write_text((PROGRAMS / "says_where_it_sleeps.py").read_text())
    return path


def ab(store: Path, *arguments: str, command: tuple[str, ...], **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*AB, "--no-warm-up", "--dir", str(store), "--name", "x", *arguments, "--", *command],
        env=clean_environment(**env),
        capture_output=True,
        text=True,
        check=False,
        cwd=store.parent,
    )


def recorded(store: Path) -> list[str]:
    return [directory.name for directory in stores.all_runs(str(store))]


def test_the_arms_take_turns_in_one_store_and_a_slowdown_is_found(tmp_path: Path, script: Path) -> None:
    store = tmp_path / "store"
    python = (sys.executable, str(script))
    done = ab(store, "-n", "4", "--arm", "measure:FACTOR=8", "--fail-slower", "100", "--json", command=python)
    turned = ["base-1", "measure-1", "measure-2", "base-2", "base-3", "measure-3", "measure-4", "base-4"]
    assert recorded(store) == [f"x-{name}" for name in turned], done.stderr
    document = json.loads(done.stdout)
    assert (document["verdict"], done.returncode) == (["slower"], 5)
    progress = [line for line in done.stderr.splitlines() if "x-" in line]
    assert [line.split()[1] for line in progress] == recorded(store)
    assert all("ok, about 0:" in line for line in progress[:-1])
    assert progress[-1].endswith("ok")


def test_each_arm_runs_in_its_directory_with_its_own_programs_first(tmp_path: Path, script: Path) -> None:
    places = {name: tmp_path / name for name in NAMES}
    for name, place in places.items():
        programs = place / ".venv" / "bin"
        programs.mkdir(parents=True)
        (programs / "bench").write_text(f"#!/bin/sh\nPROGRAM={name} exec {sys.executable} {script}\n")
        (programs / "bench").chmod(0o755)
    given = [word for name, place in places.items() for word in ("--arm", f"{name}={place}")]
    done = ab(tmp_path / "store", "-n", "1", *given, command=("bench",))
    # Its case says where it ran, so the arms have no case in common.
    assert done.returncode == 7, done.stderr
    for name, place in places.items():
        run = runs.load(tmp_path / "store" / f"x-{name}-1")
        attributes = run.processes[0].cases[0].span.attributes
        assert (attributes["scenetest.where"], attributes["scenetest.program"]) == (str(place), name)


def test_a_ruler_that_differs_stops_it_after_the_first_pair(tmp_path: Path, script: Path) -> None:
    store = tmp_path / "store"
    pinned = tmp_path / "pinned"
    pinned.write_text(f"#!/bin/sh\nexec taskset -c ${{CPUS:-0-1}} {sys.executable} {script}\n")
    done = ab(store, "-n", "9", "--arm", "measure:CPUS=0", command=("sh", str(pinned)))
    assert recorded(store) == ["x-base-1", "x-measure-1"], done.stderr
    assert done.stdout.startswith("NOT THE SAME RULER\n")
    assert "  scenetest.cpus  0-1       0" in done.stdout
    assert done.returncode == 4


def test_a_run_that_fails_is_shown_and_left_out(tmp_path: Path, script: Path) -> None:
    store = tmp_path / "store"
    broken = f"test -e {tmp_path}/once || {{ touch {tmp_path}/once; exec {sys.executable} {script}; }}; "
    third = f"case $(ls {store} | wc -l) in 3) echo out of memory >&2; exit 3;; esac; exec {sys.executable} {script}"
    done = ab(store, "-n", "2", "--arm", "base=.", command=("sh", "-c", broken + third))
    assert "x-measure-2" in done.stderr
    assert "exit 3: left out" in done.stderr
    assert "  stderr.log: out of memory" in done.stderr
    assert "dispatch: 1 pair, order BM" in done.stdout
    assert done.returncode == 0


def test_an_arm_that_fails_at_once_stops_it(tmp_path: Path, script: Path) -> None:
    done = ab(tmp_path / "store", "-n", "9", "--arm", "base:CODE=1", command=(sys.executable, str(script)))
    assert recorded(tmp_path / "store") == ["x-base-1", "x-measure-1"]
    assert "the base failed in its first run" in done.stderr
    assert done.returncode == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_the_run_and_compares_what_there_is(tmp_path: Path, script: Path, number: int) -> None:
    store = tmp_path / "store"
    waiting = f"test $(ls {store} | wc -l) -lt 3 || sleep 600; exec {sys.executable} {script}"
    command = [
        *AB,
        "--no-warm-up",
        "--dir",
        str(store),
        "--name",
        "x",
        "-n",
        "9",
        "--arm",
        "base=.",
        "--",
        "sh",
        "-c",
        waiting,
    ]
    process = subprocess.Popen(
        command, env=clean_environment(), cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    third = store / "x-measure-2" / "stderr.log"
    while not third.exists():
        assert process.poll() is None
        time.sleep(0.05)
    os.kill(process.pid, number)
    output, errors = process.communicate(timeout=60)
    assert "interrupted: comparing the runs made so far" in errors
    assert "dispatch: 1 pair, order BM" in output
    assert json.loads((third.parent / "run.json").read_text())["exit_code"] == 128 + signal.SIGINT


def test_the_order_is_abba() -> None:
    assert [name[0] for _, name in turns(4)] == ["b", "m", "m", "b", "b", "m", "m", "b"]
    assert [pair for pair, _ in turns(2)] == [1, 1, 2, 2]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            "other=.",
            "--arm other=.: write base=DIR, measure=DIR, base=REV, measure=REV, base:VAR=VALUE or measure:VAR=",
        ),
        ("base", "--arm base: write base=DIR"),
        ("base:=1", "--arm base:=1: write base=DIR"),
        ("base=nowhere", "--arm base=nowhere: there is no directory nowhere, and no git revision"),
    ],
)
def test_an_arm_that_can_not_be_understood_is_bad_input(given: str, sentence: str) -> None:
    with pytest.raises(BadInputError) as raised:
        parse([given])
    assert str(raised.value).startswith(sentence)


@pytest.mark.parametrize("given", [("base=.", "base=/"), ("base:A=1", "base:A=2")])
def test_an_arm_that_is_given_twice_is_bad_input(given: tuple[str, str]) -> None:
    with pytest.raises(BadInputError, match="is given twice"):
        parse(given)


def test_a_value_may_contain_equals_signs_and_colons() -> None:
    assert parse(["base:PATHS=a=b:c"])["base"].variables == {"PATHS": "a=b:c"}

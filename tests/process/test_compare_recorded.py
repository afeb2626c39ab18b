"""Comparisons of runs that real programs recorded."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.scripts import PROGRAMS, clean_environment

SCENETEST_OTEL = [sys.executable, "-m", "opentelemetry.instrumentation.scenetest"]


def call(store: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*SCENETEST_OTEL, *words], env=clean_environment(**env), cwd=store, capture_output=True, text=True, check=False
    )


def run(store: Path, name: str, program: str, **env: str) -> int:
    words = ("run", "--dir", str(store), "--name", name, "--", sys.executable, str(PROGRAMS / program))
    return call(store, *words, **env).returncode


def test_children_at_once_against_children_one_by_one_is_not_the_same_ruler(tmp_path: Path) -> None:
    for name, at_once in (("base-1", "0"), ("meas-1", "1")):
        assert run(tmp_path, name, "compare_children.py", AT_ONCE=at_once) == 0
    done = call(tmp_path, "compare", "base-*", "--", "meas-*", "--dir", str(tmp_path))
    assert done.returncode == 4, done.stdout + done.stderr
    first, titles, row, *_ = done.stdout.splitlines()
    assert (first, titles.split(), row.split()) == (
        "NOT THE SAME RULER",
        ["base-1", "meas-1"],
        ["concurrency", "1", "3"],
    )


def test_a_run_that_ended_with_a_wrong_result_is_left_out_with_its_exit_code(tmp_path: Path) -> None:
    assert run(tmp_path, "base-1", "compare_result.py", WRONG="") == 0
    assert run(tmp_path, "meas-1", "compare_result.py", WRONG="wrong result") == 1
    arms = ("base-*", "--", "meas-*", "--dir", str(tmp_path))
    done = call(tmp_path, "compare", *arms)
    assert done.returncode == 7, done.stdout + done.stderr
    assert done.stdout.startswith("NOTHING COMPARED")
    assert "left out: meas-1: Sleep::default  size=40: its run ended with exit code 1" in done.stdout
    taken = call(tmp_path, "compare", *arms, "--allow", "failed", "--json")
    assert taken.returncode == 0, taken.stdout + taken.stderr
    assert json.loads(taken.stdout)["stamps"] == [
        "ALLOWED  meas-1: Sleep::default  size=40: its run ended with exit code 1"
    ]


def test_show_tells_cases_apart_by_what_the_user_gave_them_and_figures_are_of_what_passed(tmp_path: Path) -> None:
    assert run(tmp_path, "one", "compare_result.py", WRONG="") == 0
    shown = call(tmp_path, "show", "one", "--dir", str(tmp_path)).stdout
    assert "Sleep::default  size=40  pass  6 rounds" in shown
    (figures,) = (line.split() for line in shown.splitlines() if line.strip().startswith("dispatch "))
    assert float(figures[3]) >= 2, shown  # the fastest one that passed; two others raised at once
    assert shown.count("error: ") == 2


@pytest.mark.parametrize("cold", ["1", "6"])
def test_rounds_inside_a_round_are_a_row_of_their_own(tmp_path: Path, cold: str) -> None:
    for name in ("base-1", "meas-1"):
        assert run(tmp_path, name, "compare_result.py", WRONG="") == 0
    done = call(tmp_path, "compare", "base-1", "--", "meas-1", "--dir", str(tmp_path), "--cold", cold, "--json")
    assert done.returncode == (0 if cold == "1" else 7), done.stderr
    rows = {row["name"]: row["rounds"]["warm"] for row in json.loads(done.stdout)["cases"][0]["rows"]}
    assert rows == ({"dispatch": 3, "dispatch.kernel": 3} if cold == "1" else {"dispatch": 0, "dispatch.kernel": 0})

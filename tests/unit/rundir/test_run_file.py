"""`run.json` and the directory that it makes a run."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

import pytest

from opentelemetry.instrumentation.scenetest.rundir import liveness, run_file

if TYPE_CHECKING:
    from pathlib import Path


def test_a_new_run_says_who_made_it_and_what_is_run(tmp_path: Path) -> None:
    directory = run_file.make_run(
        str(tmp_path / "store"), by="run", command=["a", "b"], name="name", dirty={"/c": True}
    )
    known = run_file.read(tmp_path / "store/name")
    assert directory == str(tmp_path / "store/name")
    assert re.fullmatch("[0-9a-f]{32}", known.pop("id"))
    assert known.pop("started_unix_ns") > 0
    assert known == {
        "schema": 2,
        "name": "name",
        "by": "run",
        "command": ["a", "b"],
        "exit_code": None,
        "dirty": {"/c": True},
        **liveness.identity(),
    }
    assert (tmp_path / "store/name").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "store/name/run.json").stat().st_mode & 0o777 == 0o600


def test_runs_of_one_name_are_numbered(tmp_path: Path) -> None:
    made = [run_file.make_run(str(tmp_path), by="run", command=["a"], name="name") for _ in range(3)]
    assert [os.path.basename(path) for path in made] == ["name", "name-2", "name-3"]
    assert {run_file.read(tmp_path / name)["name"] for name in os.listdir(tmp_path)} == {"name"}


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["python", "-u", "tests/test_vector.py", "-p", "a.py"], "test_vector"),
        (["/usr/bin/make", "all"], "make"),
        ([""], "python"),
        ([], "python"),
    ],
)
def test_a_run_without_a_name_is_named_by_its_time_and_script(command: list[str], name: str, tmp_path: Path) -> None:
    directory = run_file.make_run(str(tmp_path), by="instrument", command=command)
    assert re.fullmatch(rf"\d{{8}}-\d{{6}}-{name}", os.path.basename(directory))


def test_only_a_run_without_records_is_removed(tmp_path: Path) -> None:
    directory = run_file.make_run(str(tmp_path), by="run", command=["a"], name="name")
    (tmp_path / "name/1-a.jsonl").touch()
    assert run_file.remove_if_empty(directory) is False
    (tmp_path / "name/1-a.jsonl").unlink()
    assert run_file.remove_if_empty(directory) is True
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["", "{", "[]", "7", "[" * 100_000])
def test_a_damaged_run_file_says_nothing(text: str, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(text)
    assert run_file.read(tmp_path) == {}


def test_a_missing_run_file_says_nothing(tmp_path: Path) -> None:
    assert run_file.read(tmp_path) == {}


def test_an_update_replaces_the_file_and_keeps_it_locked(tmp_path: Path) -> None:
    directory = run_file.make_run(str(tmp_path), by="run", command=["a"], name="name")
    held = run_file.HeldRunFile(directory)
    before = run_file.read(tmp_path / "name")
    held.update(exit_code=3)
    assert run_file.read(tmp_path / "name") == {**before, "exit_code": 3}
    assert liveness.is_locked(tmp_path / "name/run.json") is True
    held.release()
    assert liveness.is_locked(tmp_path / "name/run.json") is False
    assert os.listdir(tmp_path / "name") == ["run.json"]
    assert json.loads((tmp_path / "name/run.json").read_text())["exit_code"] == 3

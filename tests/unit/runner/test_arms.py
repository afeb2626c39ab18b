"""The arms of an experiment."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from opentelemetry.instrumentation.scenetest.errors import BadInputError
from opentelemetry.instrumentation.scenetest.runner import arms

if TYPE_CHECKING:
    from pathlib import Path


def test_the_arms_take_turns_so_that_neither_always_comes_first() -> None:
    assert arms.turns(3) == [
        (1, "base"),
        (1, "measure"),
        (2, "measure"),
        (2, "base"),
        (3, "base"),
        (3, "measure"),
    ]


def test_an_arm_has_a_directory_and_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "main").mkdir()
    monkeypatch.chdir(tmp_path)
    places = arms.parse(["base=main", "measure:A=1", "measure:B=x=y", "measure:C="])
    assert (places["base"].directory, places["base"].variables) == (tmp_path / "main", {})
    assert (places["measure"].directory, places["measure"].variables) == (tmp_path, {"A": "1", "B": "x=y", "C": ""})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "ab needs its arms"),
        (["other=."], "--arm other=.: write base=DIR"),
        (["base"], "--arm base: write base=DIR"),
        (["base:=1"], "--arm base:=1: write base=DIR"),
        (["base=missing"], "--arm base=missing: there is no directory missing"),
        (["base=.", "base=."], "--arm base=.: base is given twice"),
        (["base:A=1", "base:A=2"], "--arm base:A=2: base:A is given twice"),
    ],
)
def test_an_arm_that_cannot_be_understood_is_bad_input(
    given: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInputError) as raised:
        arms.parse(given)
    assert str(raised.value).startswith(message)


def test_an_arm_runs_with_the_virtual_environment_of_its_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin")
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    without = arms.Place(tmp_path, {"A": "1"}).environment()
    assert (without["PATH"], without.get("VIRTUAL_ENV"), without["A"]) == ("/usr/bin", None, "1")
    (tmp_path / ".venv/bin").mkdir(parents=True)
    own = arms.Place(tmp_path, {}).environment()
    assert own["PATH"] == os.pathsep.join([str(tmp_path / ".venv/bin"), "/usr/bin"])
    assert own["VIRTUAL_ENV"] == str(tmp_path / ".venv")
    assert arms.Place(tmp_path, {"PATH": "/mine"}).environment()["PATH"] == "/mine"

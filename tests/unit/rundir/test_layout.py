"""The names of the files in a run directory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from opentelemetry.instrumentation.scenetest.rundir import checkpoint, layout

if TYPE_CHECKING:
    from collections.abc import Iterable

NAMES = ("20-b.jsonl", "100-a.incomplete.jsonl", "run.json", "20-b.ack", "stderr.log", "delivery.json")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    _make(tmp_path, NAMES)
    return tmp_path


def _make(directory: Path, names: Iterable[str]) -> None:
    for name in names:
        (directory / name).touch()


def test_the_journals_of_a_run_are_sorted(run: Path) -> None:
    assert layout.journal_names(run) == ["100-a.incomplete.jsonl", "20-b.jsonl"]
    assert layout.journals(run) == [run / "100-a.incomplete.jsonl", run / "20-b.jsonl"]


def test_a_run_that_is_gone_has_no_journals(tmp_path: Path) -> None:
    assert layout.journals(tmp_path / "gone") == []
    with pytest.raises(FileNotFoundError):
        layout.journal_names(tmp_path / "gone")


def test_checkpoints_are_found_below_a_path_with_glob_characters(tmp_path: Path) -> None:
    run = tmp_path / "run[1]*"
    run.mkdir()
    _make(run, NAMES)
    assert layout.checkpoints(str(run)) == [str(run / "20-b.ack")]


@pytest.mark.parametrize("name", ["20-b.jsonl", "20-b.incomplete.jsonl"])
def test_a_journal_keeps_its_checkpoint_when_it_is_marked_incomplete(name: str) -> None:
    assert checkpoint.stem(Path("/run", name)) == Path("/run/20-b")


@pytest.mark.parametrize(
    ("state", "home", "store"),
    [
        ("/state", "/home/me", "/state/scenetest-otel"),
        ("", "/home/me", "/home/me/.local/state/scenetest-otel"),
        ("~no_such_user", "", None),
    ],
)
def test_the_store_in_the_state_directory(
    state: str, home: str, store: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", state)
    monkeypatch.setenv("HOME", home)
    assert layout.state_store() == store


def test_private_files_are_read_by_their_owner_only(tmp_path: Path) -> None:
    with open(tmp_path / "file", "w", encoding="ascii", opener=layout.private):
        pass
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o600

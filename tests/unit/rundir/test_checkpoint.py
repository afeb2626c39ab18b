"""How much of a journal was delivered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from opentelemetry.instrumentation.scenetest.rundir import checkpoint
from opentelemetry.instrumentation.scenetest.rundir.checkpoint import Checkpoint

if TYPE_CHECKING:
    from pathlib import Path


def test_what_is_written_is_read(tmp_path: Path) -> None:
    known = Checkpoint(spans=7, rejected=2, set_aside=1, complete=True)
    checkpoint.write(tmp_path / "20-b", known)
    assert checkpoint.read(tmp_path / "20-b") == known
    assert [path.name for path in tmp_path.iterdir()] == ["20-b.ack"]
    assert (tmp_path / "20-b.ack").stat().st_mode & 0o777 == 0o600


def test_nothing_is_delivered_without_a_file(tmp_path: Path) -> None:
    assert checkpoint.read(tmp_path / "20-b") == Checkpoint()
    assert checkpoint.forget(tmp_path / "20-b") is False


def test_a_forgotten_checkpoint_has_everything_sent_again(tmp_path: Path) -> None:
    checkpoint.write(tmp_path / "20-b", Checkpoint(spans=7))
    assert checkpoint.forget(tmp_path / "20-b") is True
    assert checkpoint.read(tmp_path / "20-b") == Checkpoint()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "[" * 100_000,
        '{"spans": "7"}',
        '{"spans": -1}',
        '{"spans": 0.5}',
        '{"spans": 99999999999999999999}',
        '{"spans": 7, "complete": 1}',
        '{"spans": 7, "of_a_later_version": 1}',
    ],
)
def test_a_damaged_checkpoint_counts_as_nothing_delivered(text: str, tmp_path: Path) -> None:
    (tmp_path / "20-b.ack").write_text(text)
    assert checkpoint.read(tmp_path / "20-b") == Checkpoint()

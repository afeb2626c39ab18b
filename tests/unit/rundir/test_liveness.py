"""Whether the writer of a file lives."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from opentelemetry.instrumentation.scenetest.rundir import liveness

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def without_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system without locks, as some network mounts are."""

    def is_locked(path: str | os.PathLike[str]) -> bool | None:
        return None

    def never(descriptor: int) -> bool:
        return False

    monkeypatch.setattr(liveness, "is_locked", is_locked)
    monkeypatch.setattr(liveness, "try_lock", never)
    monkeypatch.setattr(liveness, "has_locks", never)


def test_this_process_is_alive() -> None:
    assert liveness.is_alive(liveness.identity()) is True
    assert liveness.identity()["pid"] == os.getpid()


@pytest.mark.parametrize(
    "changed",
    [
        {"pid": None},
        {"pid": str(os.getpid())},
        {"start_ticks": None},
        {"start_ticks": 1},
        {"host": "another"},
        {"host": None},
        {"boot_id": "another"},
    ],
)
def test_a_process_of_another_start_host_or_boot_is_not_alive(changed: dict[str, Any]) -> None:
    assert liveness.is_alive({**liveness.identity(), **changed}) is False


def test_a_record_without_a_boot_is_compared_by_the_rest() -> None:
    known = liveness.identity()
    del known["boot_id"]
    assert liveness.is_alive(known) is True


def test_start_ticks_are_field_22_of_the_process_and_missing_for_a_dead_one() -> None:
    with open("/proc/self/stat", encoding="utf-8") as file:
        fields = file.read().rpartition(")")[2].split()
    assert liveness.start_ticks(os.getpid()) == int(fields[22 - 3])
    assert liveness.start_ticks(1 << 30) is None


def test_a_file_is_locked_until_its_description_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    assert liveness.is_locked(path) is False
    assert liveness.try_lock(descriptor) is True
    other = os.open(path, os.O_RDWR)
    assert liveness.try_lock(other) is False
    os.close(other)
    assert (liveness.is_locked(path), liveness.is_written(path)) == (True, True)
    os.close(descriptor)
    assert (liveness.is_locked(path), liveness.is_written(path)) == (False, False)


def test_a_missing_file_has_no_state(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        liveness.is_written(tmp_path / "missing")


def test_a_claimed_role_names_its_holder_until_it_is_given_up(tmp_path: Path) -> None:
    path = str(tmp_path / "role")
    descriptor = liveness.claim(path)
    assert descriptor is not None
    assert json.loads((tmp_path / "role").read_text()) == liveness.identity()
    assert liveness.is_locked(path) is True
    liveness.give_up(descriptor)
    assert liveness.is_locked(path) is False
    assert (tmp_path / "role").read_text() == ""
    again = liveness.claim(path)
    assert again is not None
    liveness.give_up(again)


def test_a_process_claims_again_what_it_holds(tmp_path: Path) -> None:
    first, second = liveness.claim(str(tmp_path / "role")), liveness.claim(str(tmp_path / "role"))
    assert first is not None
    assert second is not None
    os.close(first)
    os.close(second)


@pytest.mark.usefixtures("without_locks")
def test_without_locks_a_role_is_held_by_a_process_that_lives(tmp_path: Path) -> None:
    alive = {"pid": os.getppid(), "start_ticks": liveness.start_ticks(os.getppid()), "host": os.uname().nodename}
    (tmp_path / "role").write_text(json.dumps(alive) + "\n")
    assert liveness.claim(str(tmp_path / "role")) is None
    (tmp_path / "role").write_text(json.dumps({**alive, "start_ticks": 1}) + "\n")
    descriptor = liveness.claim(str(tmp_path / "role"))
    assert descriptor is not None
    liveness.give_up(descriptor)


@pytest.mark.usefixtures("without_locks")
@pytest.mark.parametrize("first_line", ["", "{", "[]\n", '"text"\n', "[" * 100_000])
def test_without_locks_a_file_with_a_damaged_first_line_has_no_writer(first_line: str, tmp_path: Path) -> None:
    (tmp_path / "journal").write_text(first_line)
    assert liveness.is_written(tmp_path / "journal") is False


@pytest.mark.usefixtures("without_locks")
def test_without_locks_a_writer_is_known_by_the_first_line(tmp_path: Path) -> None:
    (tmp_path / "journal").write_text(json.dumps(liveness.identity()) + "\n{}\n")
    assert liveness.is_written(tmp_path / "journal") is True

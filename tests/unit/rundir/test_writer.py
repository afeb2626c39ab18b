"""A journal's writer knows its own file, whatever the program does with descriptors, and whatever the kernel offers."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from opentelemetry.instrumentation.scenetest.rundir import writer

LINES = [b'{"kind":"end"}\n', b'{"kind":"end","at":1}\n']


def no_marks(descriptor: int, command: int, argument: int = 0) -> int:
    """Stand for a kernel that keeps no signal number for a file."""
    if command in (fcntl.F_SETSIG, fcntl.F_GETSIG):
        raise OSError(22, "Invalid argument")
    return fcntl.fcntl(descriptor, command, argument)


@pytest.fixture(params=["marked", "not marked"])
def journal(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> writer.Writer:
    if request.param == "not marked":
        monkeypatch.setattr(writer, "control", no_marks)
    return writer.Writer(str(tmp_path))


def descriptor_of(journal: writer.Writer) -> int:
    """Return the descriptor that refers to the journal."""
    return next(int(name) for name in os.listdir("/proc/self/fd") if refers(int(name), journal.path))


def refers(descriptor: int, path: str) -> bool:
    """Tell whether a descriptor refers to a file; the one that listed the directory is gone by now."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except OSError:
        return False


def test_lines_are_appended(journal: writer.Writer) -> None:
    for line in LINES:
        journal.write(line)
    assert Path(journal.path).read_bytes() == b"".join(LINES)


def test_a_closed_journal_is_opened_again(journal: writer.Writer) -> None:
    journal.write(LINES[0])
    os.close(descriptor_of(journal))
    journal.write(LINES[1])
    assert Path(journal.path).read_bytes() == b"".join(LINES)


def test_nothing_is_written_to_a_file_of_the_program_that_has_the_journals_descriptor(
    journal: writer.Writer, tmp_path: Path
) -> None:
    journal.write(LINES[0])
    number = descriptor_of(journal)
    own = os.open(tmp_path / "own", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(own, number)
    journal.write(LINES[1])
    journal.close()
    assert os.fstat(number).st_size == 0
    assert Path(journal.path).read_bytes() == b"".join(LINES)
    os.close(own)
    os.close(number)


def test_a_file_of_the_program_that_got_the_inode_of_a_removed_journal_is_left_alone(tmp_path: Path) -> None:
    for _ in range(20):
        journal = writer.Writer(str(tmp_path))
        number, ours = descriptor_of(journal), os.stat(journal.path).st_ino
        os.remove(journal.path)
        os.close(number)
        own = os.open(tmp_path / "own", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(own, number)
        with pytest.raises(OSError, match="No such file"):
            journal.write(LINES[0])
        journal.close()
        assert os.fstat(number).st_size == 0
        reused = os.fstat(own).st_ino == ours
        os.close(own)
        os.close(number)
        os.remove(tmp_path / "own")
        if reused:
            return


def test_no_signal_is_asked_for(journal: writer.Writer) -> None:
    assert not fcntl.fcntl(descriptor_of(journal), fcntl.F_GETFL) & os.O_ASYNC

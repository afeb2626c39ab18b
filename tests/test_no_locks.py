"""A file system without locks, as some network mounts are: simulated by a call that fails as it does there."""

from __future__ import annotations

import errno
import fcntl
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from support.scripts import PREAMBLE, clean_environment

from opentelemetry.instrumentation.scenetest import journal, replay
from opentelemetry.instrumentation.scenetest.analyse import stores
from opentelemetry.instrumentation.scenetest.deliver import state
from opentelemetry.instrumentation.scenetest.record import watcher

HANGS = PREAMBLE + "instrument()\nwith case('S', 'c'), dispatch():\n    print('hangs', flush=True)\n    input()"


@pytest.fixture
def no_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    def lockf(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "lockf", lockf)


def start(store: Path) -> tuple[subprocess.Popen[str], Path]:
    """Start a process that hangs in a dispatch; return it and its journal."""
    env = clean_environment(SCENETEST_OTEL_DIR=str(store))
    pipe = subprocess.PIPE
    process = subprocess.Popen([sys.executable, "-c", HANGS], env=env, stdin=pipe, stdout=pipe, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    (directory,) = stores.all_runs(str(store))
    (path,) = directory.glob(f"*{journal.SUFFIX}")
    return process, path


@pytest.mark.usefixtures("no_locks")
def test_a_writer_is_known_by_its_pid_and_start(tmp_path: Path) -> None:
    process, path = start(tmp_path)
    with process:
        assert replay.Journal(path).process.ended == "running"
        process.kill()
        process.wait()
    assert replay.Journal(path).process.ended == "lost"


@pytest.mark.usefixtures("no_locks")
@pytest.mark.parametrize("file", ["the journal", journal.RUN_FILE])
def test_the_watcher_waits_for_the_process_that_a_file_names(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watcher, "POLL_SECONDS", 0.05)
    process, path = start(tmp_path)
    with process:
        killer = threading.Timer(0.5, process.kill)
        killer.start()
        began = time.monotonic()
        watcher._wait_for(str(path.parent / file if file == journal.RUN_FILE else path))
        assert time.monotonic() - began > 0.4


@pytest.mark.usefixtures("no_locks")
def test_a_run_is_measured_for_as_long_as_the_process_that_made_it_lives(tmp_path: Path) -> None:
    process, path = start(tmp_path)
    with process:
        assert state.is_measured(path.parent)
        process.kill()
        process.wait()
    assert not state.is_measured(path.parent)


@pytest.mark.usefixtures("no_locks")
def test_one_watcher_only_stays(tmp_path: Path) -> None:
    assert watcher._hold_delivery(str(tmp_path))
    assert not watcher._hold_delivery(str(tmp_path))


@pytest.mark.usefixtures("no_locks")
def test_push_is_kept_from_nothing(tmp_path: Path) -> None:
    with state.Lock(tmp_path) as lock:
        assert lock.held

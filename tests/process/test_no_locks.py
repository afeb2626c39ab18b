"""File systems without locks, such as some network mounts, simulated by a lock call that fails in the same way."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from support.scripts import PREAMBLE, clean_environment

from opentelemetry.instrumentation.scenetest.rundir import delivery_state, layout, liveness, reader
from opentelemetry.instrumentation.scenetest.sources import stores

HANGS = PREAMBLE + "instrument()\nwith case('S', 'c'), dispatch():\n    print('hangs', flush=True)\n    input()"


@pytest.fixture
def no_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    real = fcntl.fcntl

    def without_locks(descriptor: int, command: int, argument: int | bytes = 0) -> int | bytes:
        if command in (fcntl.F_OFD_GETLK, fcntl.F_OFD_SETLK, fcntl.F_OFD_SETLKW):
            raise OSError(errno.ENOLCK, "No locks available")
        return real(descriptor, command, argument)

    monkeypatch.setattr(fcntl, "fcntl", without_locks)


def start(store: Path) -> tuple[subprocess.Popen[str], Path]:
    """Start a process that hangs in a dispatch; return it and its journal."""
    env = clean_environment(SCENETEST_OTEL_DIR=str(store))
    pipe = subprocess.PIPE
    process = subprocess.Popen([sys.executable, "-c", HANGS], env=env, stdin=pipe, stdout=pipe, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    (directory,) = stores.all_runs(str(store))
    (path,) = directory.glob(f"*{layout.JOURNAL_SUFFIX}")
    return process, path


@pytest.mark.usefixtures("no_locks")
def test_a_writer_is_known_by_its_pid_and_start(tmp_path: Path) -> None:
    process, path = start(tmp_path)
    with process:
        assert reader.Journal(path).process.ended == "running"
        process.kill()
        process.wait()
    assert reader.Journal(path).process.ended == "lost"


@pytest.mark.usefixtures("no_locks")
@pytest.mark.parametrize("file", ["the journal", layout.RUN_FILE])
def test_the_watcher_waits_for_the_process_that_a_file_names(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(liveness, "_POLL_SECONDS", 0.05)
    process, path = start(tmp_path)
    with process:
        killer = threading.Timer(0.5, process.kill)
        killer.start()
        began = time.monotonic()
        liveness.wait_until_written(str(path.parent / file if file == layout.RUN_FILE else path))
        assert time.monotonic() - began > 0.4


@pytest.mark.usefixtures("no_locks")
def test_a_run_is_measured_for_as_long_as_the_process_that_made_it_lives(tmp_path: Path) -> None:
    process, path = start(tmp_path)
    with process:
        assert delivery_state.is_measured(path.parent)
        process.kill()
        process.wait()
    assert not delivery_state.is_measured(path.parent)


@pytest.mark.usefixtures("no_locks")
def test_a_process_that_claims_again_after_an_exec_still_has_its_claim(tmp_path: Path) -> None:
    path = str(tmp_path / layout.DELIVERY_LOCK)
    assert liveness.claim(path) is not None
    assert liveness.claim(path) is not None
    child = os.fork()
    if child == 0:
        os._exit(0 if liveness.claim(path) is None else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.usefixtures("no_locks")
def test_the_claim_of_a_process_that_was_killed_is_free(tmp_path: Path) -> None:
    path = str(tmp_path / layout.DELIVERY_LOCK)
    child = os.fork()
    if child == 0:
        liveness.claim(path)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    with delivery_state.DeliveryRole(tmp_path, layout.DELIVERY_LOCK) as role:
        assert role.held
    assert not liveness.is_written(path)

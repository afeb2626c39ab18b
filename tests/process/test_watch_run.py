"""Which process delivers a run: the watcher that `scenetest-otel run` starts, and no other."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from support.backends import Backend
from support.live import run_live
from support.runner import CLI, recording
from support.scripts import PREAMBLE, clean_environment, folders, run_script
from support.stack import eventually
from support.watched import delivered, end_workers, recorded, run_of, settings, workers

from opentelemetry.instrumentation.scenetest.deliver import delivery, spans
from opentelemetry.instrumentation.scenetest.rundir import layout

SCENE = "with case('S', 'c'):\n    with dispatch(): pass"


def run(command: list[str], backend: Backend, store: Path) -> subprocess.CompletedProcess[str]:
    call = [CLI, "run", "--dir", str(store), "--", *command]
    env = clean_environment(**settings(backend, store))
    return subprocess.run(call, env=env, capture_output=True, text=True, timeout=60, check=False)


def test_run_watches_before_the_command_begins_so_that_no_process_of_it_has_to(backend: Backend, store: Path) -> None:
    watched = (
        "import fcntl, os\nwith open(os.environ['SCENETEST_OTEL_RUN'] + '/delivery.lock', 'r+') as file:\n    try:"
    )
    watched += "\n        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)\n    except OSError: print('watched')\n"
    done = run(recording(watched), backend, store)
    assert done.stdout == "watched\n", done.stderr


def test_a_run_whose_supervisor_is_killed_is_delivered_when_its_command_has_ended(
    backend: Backend, store: Path
) -> None:
    command = recording(SCENE + "\nprint('recorded', flush=True)\ninput()")
    call = [CLI, "run", "--dir", str(store), "--", *command]
    env = clean_environment(**settings(backend, store))
    pipe = subprocess.PIPE
    with subprocess.Popen(call, env=env, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "recorded\n"
        process.kill()
        process.wait()
        time.sleep(0.5)
        assert backend.requests == 0
        process.stdin.write("end\n")
        process.stdin.close()
    delivered(backend, store, 2)


def test_an_interrupt_from_the_keyboard_reaches_the_command_and_not_the_delivery(backend: Backend, store: Path) -> None:
    command = recording(SCENE + "\nimport time\nprint('recorded', flush=True)\ntime.sleep(60)")
    call = [CLI, "run", "--dir", str(store), "--", *command]
    env = clean_environment(**settings(backend, store))
    group = subprocess.Popen(call, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
    with group as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"recorded\n"
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait() == -signal.SIGINT
    directory = run_of(store)
    assert eventually(lambda: delivery.is_delivered(directory))
    assert recorded(directory) < set(backend.taken)
    assert len(backend.taken) == 3  # and the run itself


def test_a_command_that_cannot_be_started_leaves_no_run_and_no_process(backend: Backend, store: Path) -> None:
    assert run(["no-such-command"], backend, store).returncode == 127
    assert folders(store) == []
    assert eventually(lambda: not workers(store))
    assert backend.requests == 0


def test_a_run_that_recorded_nothing_is_not_delivered(backend: Backend, store: Path) -> None:
    done = run(["true"], backend, store)
    assert "nothing was recorded" in done.stderr
    assert eventually(lambda: not workers(store))
    assert backend.requests == 0


def test_a_process_that_begins_to_measure_stops_a_delivery_until_it_has_ended(backend: Backend, store: Path) -> None:
    backend.answer = "accept later"
    source = (
        f"instrument()\nwith case('S', 'c'):\n    for _ in range({3 * spans.BATCH}):\n        with dispatch(): pass"
    )
    run_script(source, env=settings(backend, store, SCENETEST_OTEL_EXIT_WAIT="0"))
    directory = run_of(store)
    assert eventually(lambda: backend.requests) == 1

    late = PREAMBLE + "with case('S', 'late'):\n    print('measures', flush=True)\n    input()"
    env = clean_environment(**settings(backend, store), **{layout.RUN_VARIABLE: str(directory)})
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", late], env=env, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "measures\n"
        backend.go_on.set()
        time.sleep(1)
        assert backend.requests == 1
        process.stdin.write("end\n")
        process.stdin.close()
    delivered(backend, store, 3 * spans.BATCH + 2)


def test_the_watcher_is_tied_to_nothing_of_the_process_that_started_it(backend: Backend, store: Path) -> None:
    source = "instrument()\nwith case('S', 'c'), dispatch():\n    print('measures', flush=True)\n    input()"
    instrumented = "/x/opentelemetry/instrumentation/auto_instrumentation"
    env = clean_environment(**settings(backend, store, PYTHONPATH=f"{instrumented}:/kept"))
    command = [sys.executable, "-c", PREAMBLE + source]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=env, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "measures\n"
        (watcher,) = workers(run_of(store))
        of = Path(f"/proc/{watcher}")
        assert {os.readlink(of / "fd" / str(number)) for number in range(3)} == {os.devnull}
        assert {Path(os.readlink(fd)).name for fd in (of / "fd").iterdir()} <= {
            "null",
            "delivery.lock",
            layout.RUN_FILE,
        }
        assert os.readlink(of / "cwd") == "/"
        variables = (of / "environ").read_text().split("\0")
        assert "PYTHONPATH=/kept" in variables
        assert not [variable for variable in variables if variable.startswith(layout.RUN_VARIABLE)]
        assert os.getsid(watcher) not in (os.getsid(0), os.getsid(process.pid))
        assert len(list((of / "task").iterdir())) == 1
        process.communicate("end\n")
    delivered(backend, store, 2)


@pytest.mark.parametrize("answer", ["accept", "silence"])
def test_a_process_that_joined_a_run_waits_for_no_delivery(answer: str, backend: Backend, store: Path) -> None:
    backend.answer = answer
    child = PREAMBLE + textwrap.dedent(
        """
        import atexit, time
        atexit.register(lambda: print(time.monotonic() - ended))
        with case("S", "c"):
            with dispatch(): pass
        ended = time.monotonic()
        """
    )
    source = f"import subprocess, sys\ninstrument()\nsubprocess.run([sys.executable, '-c', {child!r}], check=True)"
    done = run_script(source, env=settings(backend, store, SCENETEST_OTEL_EXIT_WAIT="0"))
    # What was registered before instrument() runs last; the child was instrumented before its program began.
    assert float(done.stdout) < 0.3
    end_workers(store)


def test_a_given_provider_exports_for_itself_and_nobody_watches_or_waits(backend: Backend, store: Path) -> None:
    source = "instrument(tracer_provider=make_provider())\n" + SCENE
    exported, done = run_live(source, store.parent, env=settings(backend, store))
    assert len(exported) == 2
    assert done.stderr == ""
    assert not (run_of(store) / layout.DELIVERY_LOCK).exists()
    assert backend.requests == 0

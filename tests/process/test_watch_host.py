"""Programs that change their own process (daemons, closed files, signals) are still recorded and delivered."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.backends import Backend
from support.scripts import PREAMBLE, clean_environment, run_script
from support.stack import eventually
from support.watched import delivered, run_of, settings, workers

from opentelemetry.instrumentation.scenetest.rundir import run_file

SCENE = "instrument()\nwith case('S', 'c'):\n    with dispatch(): pass\n"


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)])
def test_what_is_printed_to_a_closed_stream_lands_in_no_file_of_the_run(closed: tuple[int], tmp_path: Path) -> None:
    source = f"""
    import os
    from contextlib import suppress
    for stream in {closed}:
        os.close(stream)
    instrument()
    with case("S", "c"), dispatch():
        for stream in {closed}:
            with suppress(OSError):
                os.write(stream, b"printed")
    """
    assert run_script(source, env={"SCENETEST_OTEL_DIR": str(tmp_path)}).returncode == 0
    lines = [line for path in run_of(tmp_path).iterdir() for line in path.read_text().splitlines()]
    assert {type(json.loads(line)) for line in lines} == {dict}


def test_a_host_that_blocks_all_signals_takes_none_from_the_watcher(backend: Backend, store: Path) -> None:
    source = "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals))\n" + SCENE + "input()"
    command = [sys.executable, "-c", PREAMBLE + source.replace("pass", "print('measures', flush=True)")]
    env, pipe = clean_environment(**settings(backend, store)), subprocess.PIPE
    with subprocess.Popen(command, env=env, stdin=pipe, stdout=pipe) as process:
        assert process.stdout is not None
        process.stdout.readline()
        (watcher,) = workers(run_of(store))
        assert "SigBlk:\t0000000000000000\n" in Path(f"/proc/{watcher}/status").read_text()
        process.communicate(b"\n")
    delivered(backend, store, 2)


def test_a_package_on_a_relative_path_is_found_by_the_process_that_delivers(backend: Backend, store: Path) -> None:
    here = Path.cwd()
    path = os.pathsep.join(os.path.relpath(entry) for entry in sys.path if entry)
    bare = [os.path.realpath(sys.executable), "-c", PREAMBLE + SCENE]
    subprocess.run(bare, env=clean_environment(**settings(backend, store, PYTHONPATH=path)), cwd=here, check=True)
    delivered(backend, store, 2)


@pytest.mark.parametrize(
    ("option", "variables"), [("-E", {"PYTHONHOME": "/nowhere"}), ("-I", {"PYTHONPATH": "{broken}"})]
)
def test_variables_that_the_host_was_told_to_ignore_are_ignored_by_the_process_that_delivers(
    option: str, variables: dict[str, str], backend: Backend, store: Path, tmp_path: Path
) -> None:
    (tmp_path / "requests.py").write_text("raise ValueError")
    env = {name: value.format(broken=tmp_path) for name, value in variables.items()}
    done = run_script(SCENE, env=settings(backend, store, **env), options=(option,))
    assert done.returncode == 0
    delivered(backend, store, 2)


def test_a_process_that_records_when_the_maker_of_its_run_has_ended_has_a_run(backend: Backend, store: Path) -> None:
    child = PREAMBLE + "input()\nwith case('S', 'c'):\n    with dispatch(): pass"
    source = f"import subprocess, sys\ninstrument()\nsubprocess.Popen([sys.executable, '-c', {child!r}])"
    command, pipe = [sys.executable, "-c", PREAMBLE + source], subprocess.PIPE
    with subprocess.Popen(command, env=clean_environment(**settings(backend, store)), stdin=pipe) as maker:
        assert maker.wait() == 0
        assert not list(store.iterdir())
        assert maker.stdin is not None
        maker.stdin.write(b"\n")
        maker.stdin.close()
        assert eventually(lambda: backend.resources)
    directory = delivered(backend, store, 2)
    assert backend.resources[0]["scenetest.run.id"] == run_file.read(directory)["id"]
    assert backend.resources[0]["scenetest.run.name"] == directory.name


@pytest.mark.parametrize("what", ["never ends", "is the program itself"])
def test_an_executable_that_is_no_python_holds_nothing_up_and_records_nothing(what: str, tmp_path: Path) -> None:
    program, executable = tmp_path / "program.py", tmp_path / "embedded"
    program.write_text(f"import sys\nsys.executable = {str(executable)!r}\n" + PREAMBLE + SCENE)
    again = f"exec {sys.executable} {program}" if what == "is the program itself" else "exec sleep 60"
    executable.write_text(f"#!/bin/sh\necho started >>{tmp_path / 'starts'}\n{again}\n")
    executable.chmod(0o700)
    env = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "SCENETEST_OTEL_DIR": str(tmp_path / "store")}
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, str(program)], env=clean_environment(**env), capture_output=True, text=True, check=True
    )
    assert time.monotonic() - began < 30
    assert (tmp_path / "starts").read_text() == "started\n"
    directory = run_of(tmp_path / "store")
    assert done.stderr.endswith(f"not delivered yet; to send what is left: scenetest-otel push {directory}\n")


def test_a_user_without_a_home_directory_is_told_where_to_name_one(tmp_path: Path) -> None:
    env = {"HOME": "", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "XDG_STATE_HOME": ""}
    source = "import os, pwd\ndel os.environ['HOME']\npwd.getpwuid = lambda uid: {}[uid]\n" + SCENE + "print('went on')"
    done = run_script(f"import os\nos.chdir({str(tmp_path)!r})\n" + source, env=env)
    assert done.stdout == "went on\n"
    assert done.stderr == "nothing is recorded: this user has no home directory; set SCENETEST_OTEL_DIR\n"
    assert list(tmp_path.iterdir()) == []

"""Hosts that do to their process what a host may do: what they measure is recorded, and delivered, all the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.backends import Backend
from support.scripts import PREAMBLE, clean_environment, run_script
from support.stack import eventually
from support.watched import delivered, run_of, settings, workers

from opentelemetry.instrumentation.scenetest import replay

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
    assert backend.resources[0]["scenetest.run.id"] == replay.read_facts(directory)["id"]
    assert backend.resources[0]["scenetest.run.name"] == directory.name

"""`scenetest-otel push`, and what `run` reports about its delivery."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shlex
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from support.backends import Backend
from support.runner import CLI, recording
from support.scripts import clean_environment, program, run_script

from opentelemetry.instrumentation.scenetest.rundir import layout

SCENE = "instrument()\nwith case('S', 'c'):\n    with dispatch(): pass"
DEAD = "http://127.0.0.1:9"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with two runs that nobody has delivered."""
    for _ in range(2):
        run_script(SCENE, env={"SCENETEST_OTEL_DIR": str(tmp_path)})
    return tmp_path


def scenetest_otel(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([CLI, *words], env=clean_environment(**env), capture_output=True, text=True, check=False)


def push(store: Path, endpoint: str, *runs: str, **env: str) -> subprocess.CompletedProcess[str]:
    return scenetest_otel("push", *runs, "--dir", str(store), OTEL_EXPORTER_OTLP_ENDPOINT=endpoint, **env)


def test_without_a_name_everything_that_is_left_is_delivered(store: Path, backend: Backend) -> None:
    done = push(store, backend.url)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"4 spans of 2 runs delivered to {backend.url}/v1/traces\n"
    assert (len(backend.taken), backend.repeats) == (4, 0)
    assert push(store, backend.url).stdout == "nothing is left to deliver\n"


def test_a_named_run_is_delivered_alone(store: Path, backend: Backend) -> None:
    first = min(path.name for path in store.iterdir())
    done = push(store, backend.url, first)
    assert done.stdout == f"2 spans of 1 run delivered to {backend.url}/v1/traces\n"


def test_a_backend_that_is_down_is_said_once_with_what_is_left(store: Path) -> None:
    done = push(store, DEAD, OTEL_EXPORTER_OTLP_TIMEOUT="1")
    assert done.returncode == 3
    assert done.stderr == (
        f"scenetest-otel: no answer from {DEAD}/v1/traces: Connection refused; "
        "is it running, and is this its address?; 2 runs not delivered\n"
    )


def test_the_progress_bar_counts_spans_without_a_total_that_it_may_exceed(
    run_directory: Path, backend: Backend
) -> None:
    terminal, end = os.openpty()
    env = clean_environment(OTEL_EXPORTER_OTLP_ENDPOINT=backend.url, TERM="xterm", COLUMNS="100")
    with subprocess.Popen([CLI, "push", str(run_directory)], env=env, stdout=subprocess.DEVNULL, stderr=end) as process:
        os.close(end)
        shown = b""
        with suppress(OSError):  # the other side is closed
            while data := os.read(terminal, 4096):
                shown += data
        assert process.wait() == 0
    os.close(terminal)
    assert re.search(rb"\d+ spans", shown)
    assert not re.search(rb"\d+/\d+", shown)


def test_rejected_spans_are_not_delivered(store: Path, backend: Backend) -> None:
    backend.answer = "reject"
    done = push(store, backend.url, min(path.name for path in store.iterdir()))
    assert done.returncode == 3
    assert done.stderr.endswith("2 spans were rejected by the backend: too old\n")


def test_a_run_that_is_still_measured_is_left_alone(store: Path, backend: Backend) -> None:
    run = min(store.iterdir())
    with (run / layout.RUN_FILE).open("r+") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        done = push(store, backend.url, str(run))
    assert (done.returncode, backend.requests) == (3, 0)
    assert done.stderr == f"scenetest-otel: {run.name}: it is still being measured, and nothing is sent meanwhile\n"


def test_a_run_that_another_process_delivers_is_left_alone(store: Path, backend: Backend) -> None:
    run = min(store.iterdir())
    with (run / layout.DELIVERY_LOCK).open("w") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        done = push(store, backend.url, str(run), OTEL_EXPORTER_OTLP_TIMEOUT="0.1")
    assert (done.returncode, backend.requests) == (3, 0)
    assert done.stderr.endswith("another process delivers it, or waits for its end to do so\n")


def test_without_an_endpoint_push_says_how_to_name_one(store: Path) -> None:
    done = push(store, "")
    assert done.returncode == 2
    assert "set OTEL_EXPORTER_OTLP_ENDPOINT, as to http://localhost:4318" in done.stderr


def test_the_console_gets_every_span_as_json(store: Path) -> None:
    done = push(store, "", min(path.name for path in store.iterdir()), OTEL_TRACES_EXPORTER="console")
    assert done.returncode == 0
    names: list[str] = []
    rest = done.stdout
    while rest.strip():
        span, end = json.JSONDecoder().raw_decode(rest)
        names.append(span["name"])
        rest = rest[end:].lstrip()
    assert names == ["dispatch S::c", "S::c"]


def test_run_says_where_its_spans_went(tmp_path: Path, backend: Backend) -> None:
    env = {"OTEL_EXPORTER_OTLP_ENDPOINT": backend.url, "SCENETEST_OTEL_EXIT_WAIT": "60"}
    done = scenetest_otel("run", "--dir", str(tmp_path), "--", *recording(SCENE), **env)
    assert done.returncode == 0
    assert done.stderr.splitlines()[-1] == f"scenetest-otel: 3 spans delivered to {backend.url}/v1/traces"
    assert (len(backend.taken), backend.repeats) == (3, 0)


def test_two_exporters_get_the_same_spans(tmp_path: Path, backend: Backend) -> None:
    env = {"OTEL_EXPORTER_OTLP_ENDPOINT": backend.url, "OTEL_TRACES_EXPORTER": "console,otlp"}
    call = [CLI, "run", "--dir", str(tmp_path), "--name", "both", "--", *program("recorder/nested.py")]
    env |= {"SCENETEST_OTEL_EXIT_WAIT": "60"}
    done = subprocess.run(call, env=clean_environment(**env), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    printed = {bytes.fromhex(found) for found in re.findall(r'"span_id": "0x([0-9a-f]{16})"', done.stdout)}
    assert printed == set(backend.taken)
    assert len(printed) > 2
    (tmp_path / "both" / "run.ack").unlink()
    push = [CLI, "push", "--dir", str(tmp_path), "both"]
    again = subprocess.run(push, env=clean_environment(**env), capture_output=True, text=True, check=True)
    assert '"name": "run both"' in again.stdout
    assert again.stdout.endswith(f"1 spans of 1 run delivered to {backend.url}/v1/traces\n")


def test_run_says_what_to_do_with_spans_that_are_left(tmp_path: Path, backend: Backend) -> None:
    backend.answer = "404"
    env = {"OTEL_EXPORTER_OTLP_ENDPOINT": backend.url, "SCENETEST_OTEL_EXIT_WAIT": "60"}
    done = scenetest_otel("run", "--name", "x", "--dir", str(tmp_path), "--", *recording(SCENE + "\nexit(9)"), **env)
    assert done.returncode == 9
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"scenetest-otel: {backend.url}/v1/traces answered 404 Not Found; ")
    assert last.endswith(f"to send what is left: scenetest-otel push {tmp_path / 'x'}")


def test_the_command_that_sends_what_is_left_can_be_pasted_into_a_shell(tmp_path: Path, backend: Backend) -> None:
    backend.answer = "404"
    env = {"OTEL_EXPORTER_OTLP_ENDPOINT": backend.url, "SCENETEST_OTEL_EXIT_WAIT": "60"}
    name = "two words, $(false) and 'quotes'"
    done = scenetest_otel("run", "--name", name, "--dir", str(tmp_path), "--", *recording(SCENE), **env)
    *_, command = shlex.split(done.stderr.splitlines()[-1].rpartition(": ")[2])
    assert command == str(tmp_path / name)


def test_run_says_at_its_start_that_its_spans_cannot_be_sent_as_things_are(tmp_path: Path) -> None:
    env = {"OTEL_EXPORTER_OTLP_ENDPOINT": DEAD, "OTEL_EXPORTER_OTLP_TIMEOUT": "10s"}
    command = recording("import sys\nprint('begins', file=sys.stderr)\n" + SCENE)
    done = scenetest_otel("run", "--dir", str(tmp_path), "--", *command, **env)
    assert done.returncode == 0
    first, second, *_ = done.stderr.splitlines()
    assert first == (
        "scenetest-otel: OTEL_EXPORTER_OTLP_TIMEOUT='10s' is not a number of seconds above 0 and up to 86400; "
        "what is recorded stays in the run directory until it is sent by push"
    )
    assert second == "begins"

"""However a run ends, the backend gets its spans: checked span by span."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from support.backends import Backend
from support.scripts import PREAMBLE, clean_environment, run_script
from support.stack import eventually
from support.watched import delivered, end_workers, recorded, run_of, settings

from opentelemetry.instrumentation.scenetest.deliver import delivery
from opentelemetry.instrumentation.scenetest.deliver import watcher as watcher_script
from opentelemetry.instrumentation.scenetest.deliver.endpoint import Endpoint
from opentelemetry.instrumentation.scenetest.rundir import layout, run_file

SLOW = 3
"""The factor by which a time may be longer here than it has to be on an idle machine."""

PRINTS_ITS_EXIT_TIME = """
import atexit, time
ended = []
atexit.register(lambda: print(time.monotonic() - ended[0]))
instrument()
with case("S", "c"):
    with dispatch(): pass
ended.append(time.monotonic())
"""


def run(source: str, backend: Backend, store: Path, **more: str) -> subprocess.CompletedProcess[str]:
    return run_script(source, env=settings(backend, store, **more))


def push(directory: Path, backend: Backend) -> None:
    exporter = delivery.exporter_for(Endpoint(f"{backend.url}/v1/traces", "http/protobuf"))
    delivery.Delivery(directory, run_file.read(directory), exporter, 0).deliver()
    exporter.shutdown()


DEATHS = {
    "SIGTERM": ("os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
    "SIGKILL": ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
    "SIGSEGV": ("os.kill(os.getpid(), signal.SIGSEGV)", -signal.SIGSEGV),
    "_exit": ("os._exit(7)", 7),
    "exec": ("os.execv('/bin/true', ['true'])", 0),
    "exception": ("raise ValueError", 1),
    "interrupt": ("raise KeyboardInterrupt", -signal.SIGINT),
    "exit": ("sys.exit(5)", 5),
}


@pytest.mark.parametrize("death", DEATHS)
def test_a_death_in_the_first_case_loses_nothing(death: str, backend: Backend, store: Path) -> None:
    deadly, code = DEATHS[death]
    done = run(
        f"""
        import os, signal, sys
        instrument()
        with case("S", "c"):
            for _ in range(3):
                with dispatch(): pass
            with dispatch(): {deadly}
        """,
        backend,
        store,
    )
    assert done.returncode == code
    delivered(backend, store, 5)


@pytest.mark.parametrize("death", DEATHS)
def test_a_death_in_a_driver_without_cases_loses_nothing(death: str, backend: Backend, store: Path) -> None:
    deadly, code = DEATHS[death]
    done = run(
        f"""
        import os, signal, sys
        instrument()
        for _ in range(3):
            with dispatch(): pass
        with dispatch(): {deadly}
        """,
        backend,
        store,
    )
    assert done.returncode == code
    delivered(backend, store, 5)


@pytest.mark.parametrize("around", ["case('S', 'c')", "nullcontext()"], ids=["in a case", "in a driver"])
def test_a_hang_that_is_killed_loses_nothing(around: str, backend: Backend, store: Path) -> None:
    source = f"""
    import time
    from contextlib import nullcontext
    instrument()
    with {around}:
        with dispatch():
            print("hangs", flush=True)
            time.sleep(60)
    """
    command = [sys.executable, "-c", PREAMBLE + textwrap.dedent(source)]
    env = clean_environment(**settings(backend, store))
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.3)
        assert backend.requests == 0
        process.kill()
    delivered(backend, store, 2)


def test_children_forked_in_a_dispatch_are_all_delivered(backend: Backend, store: Path) -> None:
    done = run(
        """
        import os
        instrument()
        with case("S", "parent"):
            with dispatch():
                children = []
                for number in range(80):
                    child = os.fork()
                    if not child:
                        with case("S", f"child{number}"):
                            with dispatch(): pass
                        os._exit(0)
                    children.append(child)
                for child in children:
                    os.waitpid(child, 0)
        """,
        backend,
        store,
    )
    assert done.returncode == 0
    delivered(backend, store, 2 + 80 * 2)


def test_children_of_a_parent_without_a_case_are_delivered_by_one_process(backend: Backend, store: Path) -> None:
    run(
        """
        import os
        instrument()
        children = [os.fork() for _ in range(4)]
        if not all(children):
            with case("S", "child"):
                with dispatch(): pass
            os._exit(0)
        for child in children:
            os.waitpid(child, 0)
        """,
        backend,
        store,
    )
    delivered(backend, store, 15 * 2)


def test_a_program_that_another_one_replaces_is_delivered_with_it(backend: Backend, store: Path) -> None:
    second = PREAMBLE + "import time; time.sleep(1)\nwith case('S', 'second'):\n    time.sleep(1)"
    done = run(
        f"""
        import os, sys
        instrument()
        with case("S", "first"):
            with dispatch(): pass
        os.execv(sys.executable, [sys.executable, "-c", {second!r}])
        """,
        backend,
        store,
    )
    assert done.returncode == 0
    delivered(backend, store, 3)


def test_nothing_is_sent_while_a_process_of_the_run_lives(backend: Backend, store: Path) -> None:
    source = """
    import os
    instrument()
    with case("S", "c"):
        with dispatch(): pass
    is_in, tell = os.pipe()
    if not os.fork():
        with case("S", "child"):
            os.write(tell, b"!")
            os.read(0, 1)
        os._exit(0)
    os.read(is_in, 1)
    """
    command = [sys.executable, "-c", PREAMBLE + textwrap.dedent(source)]
    env = clean_environment(**settings(backend, store), SCENETEST_OTEL_EXIT_WAIT="0")
    with subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.wait()
        time.sleep(1)
        assert backend.requests == 0
        process.stdin.write(b"x")
        process.stdin.close()
    delivered(backend, store, 3)


def test_stragglers_hold_back_only_what_they_still_measure(backend: Backend, store: Path) -> None:
    source = """
    import os
    instrument()
    with case("S", "c"):
        with dispatch(): pass
    if not os.fork():
        with case("S", "child"):
            with dispatch(): pass
            os.read(0, 1)
        os._exit(0)
    """
    command = [sys.executable, "-c", PREAMBLE + textwrap.dedent(source)]
    # Without an endpoint nobody watches, so the watcher can be given a max_elapsed_time of its own here.
    env = clean_environment(SCENETEST_OTEL_DIR=str(store))
    with subprocess.Popen(command, env=env, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.wait()
        script = Path(watcher_script.__file__)
        watcher = [sys.executable, "-I", "-S", str(script), str(run_of(store)), "0.5"]
        subprocess.run(watcher, env=clean_environment(**settings(backend, store)), check=True)
        assert eventually(lambda: len(backend.taken), (3).__eq__) == 3
        time.sleep(0.5)
        assert len(backend.taken) == 3
        process.stdin.write(b"x")
        process.stdin.close()
    delivered(backend, store, 4)


@pytest.mark.parametrize("answer", ["accept", "silence"])
def test_a_capturing_parent_does_not_wait_for_the_delivery(answer: str, backend: Backend, store: Path) -> None:
    backend.answer = answer
    source = "import time\ninstrument()\nwith case('S', 'c'): pass\nstart = time.monotonic()"
    began = time.monotonic()
    done = run(source, backend, store, SCENETEST_OTEL_EXIT_WAIT="0", OTEL_EXPORTER_OTLP_TIMEOUT="30")
    assert time.monotonic() - began < SLOW
    assert done.returncode == 0


def test_a_host_that_waits_for_any_child_meets_its_own_only(backend: Backend, store: Path) -> None:
    done = run(
        """
        import os
        instrument()
        own = os.fork()
        if not own:
            os._exit(3)
        with case("S", "c"):
            with dispatch(): pass
        assert os.wait()[0] == own
        try:
            os.wait()
        except ChildProcessError:
            print("no other child")
        """,
        backend,
        store,
    )
    assert done.stdout == "no other child\n", done.stderr
    delivered(backend, store, 2)


def test_the_first_process_of_a_container_waits_until_all_is_delivered(backend: Backend, store: Path) -> None:
    source = "import os\nassert os.getpid() == 1\ninstrument()\nwith case('S', 'c'):\n    with dispatch(): pass"
    namespace = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child"]
    command = [*namespace, sys.executable, "-c", PREAMBLE + source]
    env = clean_environment(**settings(backend, store), SCENETEST_OTEL_EXIT_WAIT="0")
    subprocess.run(command, env=env, check=True, timeout=60)
    assert len(backend.taken) == 2
    assert delivery.is_delivered(run_of(store))


@pytest.mark.parametrize("answer", ["503", "silence"])
def test_a_dead_backend_costs_a_moment_at_exit_and_one_line(answer: str, backend: Backend, store: Path) -> None:
    backend.answer = answer
    done = run(
        PRINTS_ITS_EXIT_TIME,
        backend,
        store,
    )
    directory = run_of(store)
    assert done.returncode == 0
    assert float(done.stdout) < 1.1 * SLOW
    (line,) = done.stderr.splitlines()
    assert line.endswith(f"to send what is left: scenetest-otel push {directory}")
    end_workers(directory)
    backend.answer = "accept"
    push(directory, backend)
    delivered(backend, store, 2)


def test_a_live_backend_costs_little_at_exit_and_no_word(backend: Backend, store: Path) -> None:
    done = run(
        PRINTS_ITS_EXIT_TIME,
        backend,
        store,
        SCENETEST_OTEL_EXIT_WAIT="20",
    )
    assert float(done.stdout) < max(0.6 * SLOW, 2 * seconds_to_start_a_delivery())
    assert done.stderr == ""
    delivered(backend, store, 2)


def test_a_delivery_that_is_killed_is_taken_up_by_the_next(backend: Backend, store: Path) -> None:
    backend.answer = "take and hang up"
    run("instrument()\nwith case('S', 'c'):\n    with dispatch(): pass", backend, store)
    directory = run_of(store)
    assert eventually(lambda: backend.requests)
    end_workers(directory)
    backend.answer = "accept"
    push(directory, backend)
    assert set(backend.taken) == recorded(directory)


def seconds_to_start_a_delivery() -> float:
    """How long the imports of a delivery take on this machine now, which may have better things to do."""
    began = time.monotonic()
    module = "opentelemetry.instrumentation.scenetest.deliver.http_exporter"
    subprocess.run([sys.executable, "-c", f"import {module}"], check=True)
    return time.monotonic() - began


def test_no_endpoint_means_no_process(store: Path) -> None:
    run_script("instrument()\nwith case('S', 'c'): pass", env={"SCENETEST_OTEL_DIR": str(store)})
    assert not (run_of(store) / layout.DELIVERY_LOCK).exists()


def test_an_exporter_of_none_means_no_process(backend: Backend, store: Path) -> None:
    run("instrument()\nwith case('S', 'c'): pass", backend, store, OTEL_TRACES_EXPORTER="none")
    assert not (run_of(store) / layout.DELIVERY_LOCK).exists()

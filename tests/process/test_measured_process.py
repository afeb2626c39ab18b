"""The measured process is not disturbed: its imports, files, threads and environment."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.scripts import PROGRAMS, clean_environment, only_process, only_run, record, run_script

FORBIDDEN = ("opentelemetry.sdk", "opentelemetry.exporter", "opentelemetry.trace", "wrapt", "torch", "simpler", "click")


def test_a_recording_process_imports_the_standard_library_and_ours_only(tmp_path: Path) -> None:
    record(
        f"""
        import sys
        before = set(sys.modules)
        instrument()
        with case("S", "c"):
            with phase("p"), dispatch(): pass
        new = set(sys.modules) - before
        assert not [name for name in new if name.startswith({FORBIDDEN!r})]
        foreign = {{name.partition(".")[0] for name in new}} - set(sys.stdlib_module_names) - {{"opentelemetry"}}
        assert not foreign, foreign
        """,
        tmp_path,
    )


def test_it_starts_no_thread_opens_no_socket_and_keeps_its_journal_and_the_run_open(tmp_path: Path) -> None:
    record(
        PROGRAMS / "measured_process/threads_and_descriptors.py",
        tmp_path,
    )


def test_it_sets_one_environment_variable_and_takes_it_back(tmp_path: Path) -> None:
    record(
        PROGRAMS / "measured_process/environment.py",
        tmp_path,
    )


def test_the_global_random_state_is_not_touched(tmp_path: Path) -> None:
    record(
        """
        import random
        random.seed(1)
        expected = random.Random(1).random()
        instrument()
        with case("S", "c"), dispatch(): pass
        assert random.random() == expected
        """,
        tmp_path,
    )


def test_without_instrument_nothing_is_recorded_or_logged(tmp_path: Path) -> None:
    done = run_script(
        """
        import logging
        logging.basicConfig(level=1)
        with case("S", "c"), dispatch(): pass
        """,
        env={"SCENETEST_OTEL_DIR": str(tmp_path)},
    )
    assert (done.returncode, done.stderr, list(tmp_path.iterdir())) == (0, "", [])


@pytest.mark.parametrize(
    "switch",
    [
        {"OTEL_SDK_DISABLED": "True"},
        {"OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": "flask, scenetest"},
        {"OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": "*"},
    ],
)
def test_opentelemetrys_own_switches_are_honoured(switch: dict[str, str], tmp_path: Path) -> None:
    done = run_script(
        """
        import logging, os, sys
        logging.basicConfig(level=1)
        before = list(sys.meta_path)
        instrument()
        with case("S", "c"), dispatch(): pass
        assert sys.meta_path == before and "SCENETEST_OTEL_RUN" not in os.environ
        """,
        env={"SCENETEST_OTEL_DIR": str(tmp_path), **switch},
    )
    assert (done.returncode, done.stderr, list(tmp_path.iterdir())) == (0, "", [])


def test_with_no_endpoint_and_no_directory_there_is_nothing_but_the_log_line(tmp_path: Path) -> None:
    done = run_script(
        PROGRAMS / "measured_process/nowhere_to_record.py",
        env={"XDG_STATE_HOME": str(tmp_path)},
    )
    assert done.returncode == 0
    assert done.stderr == (
        "25 simpler torch_backend_autoload setting=unset raw=null raw_truncated=false effective=enabled"
        " torch_imported=false torch_npu_loaded=false\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_the_log_line_comes_before_the_first_dispatch_and_at_the_end_of_a_case_without_one(tmp_path: Path) -> None:
    done = run_script(PROGRAMS / "measured_process/log_lines.py")
    assert done.stderr.splitlines() == ["case", "torch_backend_autoload", "after", "dispatch"]


def test_instrument_is_idempotent_and_quick(tmp_path: Path) -> None:
    record(
        PROGRAMS / "measured_process/instrument_twice.py",
        tmp_path,
    )


def test_a_run_in_which_nothing_was_recorded_leaves_no_directory(tmp_path: Path) -> None:
    done = run_script("instrument()", env={"SCENETEST_OTEL_DIR": str(tmp_path)})
    assert (done.returncode, list(tmp_path.iterdir())) == (0, [])


def test_an_endpoint_alone_records_to_the_state_directory(tmp_path: Path) -> None:
    done = run_script(
        "instrument()\nwith case('S', 'c'), dispatch(): pass",
        env={"XDG_STATE_HOME": str(tmp_path), "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"},
    )
    assert done.returncode == 0
    assert only_process(only_run(tmp_path / "scenetest-otel")).cases[0].span.outcome == "pass"


def test_processes_below_join_the_run_isolated_ones_too(tmp_path: Path) -> None:
    run = record(
        """
        import subprocess, sys
        instrument()
        child = "from opentelemetry.instrumentation.scenetest import dispatch\\nwith dispatch(callable=%r): pass"
        for option in ("-E", "-I", "-B"):
            subprocess.run([sys.executable, option, "-c", child % option], check=True)
        """,
        tmp_path,
    )
    names = [dispatch.attributes["scenetest.callable"] for one in run.processes for dispatch in one.dispatches]
    assert names == ["-E", "-I", "-B"]


def test_pytest_runs_without_a_warning_of_ours(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_it(): pass\n")
    run = tmp_path / "run"
    run.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", str(tmp_path)],
        env=clean_environment(SCENETEST_OTEL_RUN=str(run)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in done.stdout


def test_pytest_items_that_run_pytest_in_their_own_process_pass(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("pytest_plugins = ['pytester']\n", encoding="utf-8")
    (tmp_path / "test_outer.py").write_text(
        "from opentelemetry.instrumentation.scenetest import instrument\n"
        "instrument()\n"
        "def test_it(pytester):\n"
        "    pytester.makepyfile('def test_inner(): pass')\n"
        "    pytester.runpytest_inprocess().assert_outcomes(passed=1)\n",
        encoding="utf-8",
    )
    command = (sys.executable, "-m", "pytest", "-q", str(tmp_path))
    done = subprocess.run(command, cwd=tmp_path, env=clean_environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("name", "stand_in"),
    [
        ("torch", "types.SimpleNamespace(__version__='1')"),
        ("torch_npu", "object()"),
        ("torch_npu", "types.SimpleNamespace(npu=object())"),
        ("simpler.worker", "object()"),
        ("opentelemetry.trace", "None"),
    ],
)
def test_a_stand_in_for_a_module_costs_no_dispatch(name: str, stand_in: str, tmp_path: Path) -> None:
    run = record(
        f"""
        import sys, types
        sys.modules[{name!r}] = {stand_in}
        instrument()
        with case("S", "c"), dispatch():
            pass
        """,
        tmp_path,
    )
    (recorded,) = only_process(run).cases
    assert (recorded.span.outcome, len(recorded.dispatches)) == ("pass", 1)


def test_a_handler_that_makes_warnings_errors_does_not_have_ours_reach_the_program(tmp_path: Path) -> None:
    run = record(
        PROGRAMS / "measured_process/warnings_are_errors.py",
        tmp_path,
    )
    assert len(only_process(run).cases[0].dispatches) == 1


def test_an_exception_of_the_programs_signal_handler_reaches_it_though_our_code_ran(tmp_path: Path) -> None:
    done = run_script(
        PROGRAMS / "measured_process/signal_handler_raises.py",
        env={"SCENETEST_OTEL_DIR": str(tmp_path)},
    )
    assert (done.stdout, done.stderr) == ("timed out\n", "")


def test_a_program_that_closes_all_files_finds_nothing_of_ours_in_those_that_it_opens(tmp_path: Path) -> None:
    run = record(
        f"""
        import os
        instrument()
        with case("S", "c"):
            with dispatch(): pass
            for highest in (100, os.sysconf("SC_OPEN_MAX")):
                os.closerange(3, highest)
                own = [open({str(tmp_path / "own")!r}, "a") for _ in range(8)]
                with dispatch(): pass
        own = [open({str(tmp_path / "own")!r}, "a") for _ in range(300)]
        with case("S", "later"): pass
        """,
        tmp_path / "store",
    )
    recorded, later = only_process(run).cases
    assert (tmp_path / "own").read_bytes() == b""
    assert [one.outcome for one in recorded.dispatches] == ["pass", "pass", "pass"]
    assert later.span.outcome == "pass"
    assert run.problems == {}


def test_a_program_without_a_descriptor_left_is_not_told_by_an_exception(tmp_path: Path) -> None:
    done = run_script(
        """
        import resource
        instrument()
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
        with case("S", "c"), dispatch(): pass
        print("done")
        """,
        env={"SCENETEST_OTEL_DIR": str(tmp_path)},
    )
    assert (done.returncode, done.stdout) == (0, "done\n")


@pytest.mark.parametrize("first", ["", "import opentelemetry.trace"])
def test_recording_leaves_nothing_to_the_garbage_collector(first: str, tmp_path: Path) -> None:
    done = run_script(
        f"""
        import gc
        {first}
        instrument()
        def record():
            for _ in range(10):
                with case("S", "c"), phase("golden"):
                    pass
                for _ in range(500):
                    with dispatch():
                        pass
        with case("S", "outer"):
            record()
            gc.collect()
            gc.set_debug(gc.DEBUG_SAVEALL)
            record()
            gc.collect()
        ours = [one for one in gc.garbage if "scenetest" in type(one).__module__]
        assert not ours, (len(ours), ours[:3])
        """,
        env={"SCENETEST_OTEL_DIR": str(tmp_path)},
    )
    assert (done.returncode, done.stderr) == (0, "")

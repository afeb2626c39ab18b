"""The pytest plugin alone: when it records, what it prints, and what it doesn't change."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.backends import Backend, serving
from support.scripts import clean_environment, folders, only_run

TESTS = Path(__file__).resolve().parents[1] / "programs" / "records_under_pytest.py"


def session(folder: Path, *options: str, expect: int = 0, tests: Path = TESTS, **extra: str) -> str:
    """What a session prints."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", str(folder)]
    done = subprocess.run(
        [*command, *options, str(tests)],
        cwd=folder,
        env=clean_environment(XDG_STATE_HOME=str(folder / "state"), **extra),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == expect, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_it_does_nothing_unless_asked(tmp_path: Path) -> None:
    assert "scenetest-otel" not in session(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_option_records_into_the_local_store_under_a_name(tmp_path: Path) -> None:
    printed = session(tmp_path, "--scenetest-otel", "--scenetest-otel-name", "mine")
    run = tmp_path / "scenetest-runs" / "mine"
    assert json.loads((run / "run.json").read_text())["name"] == "mine"
    assert (run.parent / ".gitignore").read_text() == "*\n"
    assert f"scenetest-otel: {run}; TORCH_DEVICE_BACKEND_AUTOLOAD unset; no backend is registered" in printed
    assert "CLEAN  torch was not imported, 1 of 1 processes; ruler " in printed
    assert printed.count(str(run)) == 2


def test_a_store_in_the_environment_switches_it_on(tmp_path: Path) -> None:
    printed = session(tmp_path, SCENETEST_OTEL_DIR=str(tmp_path / "store"))
    (process,) = only_run(tmp_path / "store").processes
    assert [case.span.name for case in process.cases] == ["name"]
    assert "CLEAN  torch was not imported" in printed


def test_an_endpoint_switches_it_on_and_gets_the_run(tmp_path: Path) -> None:
    with serving(Backend()) as backend:
        session(tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT=backend.url, SCENETEST_OTEL_EXIT_WAIT="20")
        assert len(backend.taken) == 2


def test_workers_of_xdist_join_the_run_and_only_the_controller_prints(tmp_path: Path) -> None:
    printed = session(tmp_path, "-n", "2", SCENETEST_OTEL_DIR=str(tmp_path / "store"))
    assert len(only_run(tmp_path / "store").processes) == 1
    assert printed.count("CLEAN  torch was not imported") == 1


def test_a_session_without_a_case_leaves_no_run(tmp_path: Path) -> None:
    printed = session(tmp_path, "--scenetest-otel", "-k", "without")
    assert "scenetest-otel: nothing was recorded" in printed
    assert folders(tmp_path / "scenetest-runs") == []


def test_a_conftest_that_imports_torch_is_observed(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text(TESTS.read_text())
    (tmp_path / "conftest.py").write_text("import torch\n")
    printed = session(tmp_path, "--scenetest-otel", tests=tmp_path)
    assert "CLEAN  autoload was enabled and no backend is installed" in printed


def test_sessions_of_its_own_are_switched_off_as_everything_else(tmp_path: Path) -> None:
    printed = session(tmp_path, SCENETEST_OTEL_DIR=str(tmp_path / "store"), OTEL_SDK_DISABLED="true")
    assert "scenetest-otel" not in printed
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("name", ["a/b", ".."])
def test_a_name_that_is_none_is_a_usage_error(tmp_path: Path, name: str) -> None:
    printed = session(tmp_path, "--scenetest-otel", "--scenetest-otel-name", name, expect=4)
    assert f"--scenetest-otel-name {name!r} can't be used" in printed

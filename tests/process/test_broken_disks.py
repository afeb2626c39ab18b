"""A failing directory or disk gives one warning. The program continues, and missing lines don't look like a crash."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import runner
from support.scripts import PROGRAMS, clean_environment, only_process, only_run, run_script
from support.watched import end_workers

TWO_DISPATCHES = """
import logging
logging.basicConfig(format="%(levelname)s %(message)s")
instrument()
with case("S", "c"):
    with dispatch(): pass
    with dispatch(): pass
print("done")
"""


def test_a_missing_store_is_made(tmp_path: Path) -> None:
    store = tmp_path / "a" / "b"
    done = run_script(TWO_DISPATCHES, env={"SCENETEST_OTEL_DIR": str(store)})
    assert (done.returncode, done.stderr) == (0, "")
    assert len(only_process(only_run(store)).cases[0].dispatches) == 2
    (run,) = store.iterdir()
    assert {path.stat().st_mode & 0o777 for path in run.iterdir()} == {0o600}
    assert run.stat().st_mode & 0o777 == 0o700


def test_a_store_that_cannot_be_made_is_one_warning(tmp_path: Path) -> None:
    occupied = tmp_path / "file"
    occupied.touch()
    done = run_script(TWO_DISPATCHES, env={"SCENETEST_OTEL_DIR": str(occupied / "store")})
    assert (done.returncode, done.stdout) == (0, "done\n")
    (warning,) = done.stderr.splitlines()
    assert warning.startswith("WARNING could not make a run directory")


def test_a_run_directory_that_cannot_be_written_is_one_warning(tmp_path: Path) -> None:
    occupied = tmp_path / "file"
    occupied.touch()
    done = run_script(TWO_DISPATCHES, env={"SCENETEST_OTEL_RUN": str(occupied)})
    assert (done.returncode, done.stdout) == (0, "done\n")
    (warning,) = done.stderr.splitlines()
    assert warning.startswith(f"WARNING could not write a journal in {occupied}")


def test_a_write_that_fails_is_one_warning_and_leaves_no_false_death(tmp_path: Path) -> None:
    done = run_script(
        PROGRAMS / "broken_disks/a_full_disk.py",
        env={"SCENETEST_OTEL_DIR": str(tmp_path)},
    )
    assert (done.returncode, done.stdout) == (0, "done\n")
    (warning,) = done.stderr.splitlines()
    assert warning.startswith("WARNING could not record everything, the run goes on without it: OSError")
    run = only_run(tmp_path)
    (recorded,) = only_process(run).cases
    assert [one.outcome for one in recorded.dispatches] == ["pass"] * 9 + ["unknown"]
    assert recorded.span.outcome == "unknown"
    assert run.problems["incomplete_journals"] == 1


def test_conditions_that_could_not_be_written_are_written_before_the_next_dispatch(tmp_path: Path) -> None:
    done = run_script(
        PROGRAMS / "broken_disks/conditions_on_a_full_disk.py",
        env={"SCENETEST_OTEL_DIR": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
    (recorded,) = only_process(only_run(tmp_path)).cases
    # Nobody saw when the module came: it may have been there in the first dispatch.
    assert [one.conditions["torch_npu.loaded"] for one in recorded.dispatches] == ["unknown", True]


@pytest.mark.parametrize("remove", ["shutil.rmtree(directory)", "os.rename(directory, directory + '-moved')"])
def test_a_command_that_removes_its_run_goes_on_to_its_own_end(remove: str, tmp_path: Path) -> None:
    command = runner.recording(
        f"""
        import os, shutil, time
        with case("S", "c"): pass
        directory = os.environ["SCENETEST_OTEL_RUN"]
        {remove}
        time.sleep(0.5)
        print("done")
        exit(4)
        """
    )
    done = runner.run(tmp_path, command, expect=4)
    assert done.stdout == b"done\n"
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith("scenetest-otel: the exit code 4 is not in ")


def test_a_delivery_of_which_nothing_can_be_read_leaves_the_exit_code_of_the_command(tmp_path: Path) -> None:
    command = runner.recording(
        """
        import os
        with case("S", "c"): pass
        open(os.path.join(os.environ["SCENETEST_OTEL_RUN"], "delivery.json"), "w").close()
        exit(4)
        """
    )
    env = clean_environment(OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9")
    done = runner.run(tmp_path, command, expect=4, env=env)
    assert done.stderr.splitlines()[-1].startswith(b"scenetest-otel: not delivered yet; to send what is left: ")
    end_workers(tmp_path)

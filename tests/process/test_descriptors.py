"""A descriptor number that the program closed and reused is the program's: we neither write to it nor close it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from support.backends import Backend
from support.scripts import clean_environment, only_run, program, run_script
from support.watched import delivered, settings


@pytest.mark.parametrize("files", [0, 10, 300, 600])
def test_a_program_that_closes_all_descriptors_keeps_its_files_and_its_record(files: int, tmp_path: Path) -> None:
    store, folder = tmp_path / "store", tmp_path / "own"
    folder.mkdir()
    env = clean_environment(SCENETEST_OTEL_DIR=str(store))
    done = subprocess.run(
        program("closes_everything.py", str(folder), str(files)), env=env, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert {path.stat().st_size for path in folder.iterdir()} <= {0}
    found = {one.span.name: len(one.dispatches) for each in only_run(store).processes for one in each.cases}
    assert found == {"before": 1, "child": 1, "after": 10}
    assert not only_run(store).problems


def test_all_of_it_is_delivered(backend: Backend, store: Path, tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    env = clean_environment(**settings(backend, store))
    subprocess.run(program("closes_everything.py", str(folder), "300"), env=env, check=True, capture_output=True)
    delivered(backend, store, 15)


def test_a_journal_that_is_closed_and_gone_costs_one_warning_and_no_file_of_the_program(tmp_path: Path) -> None:
    done = run_script(
        f"""
        import os, shutil
        instrument()
        with case("S", "c"), dispatch(): pass
        shutil.rmtree(os.environ["SCENETEST_OTEL_RUN"])
        os.closerange(3, 10000)
        own = [os.open("{tmp_path}/own", os.O_RDWR | os.O_CREAT | os.O_APPEND) for _ in range(300)]
        for _ in range(3):
            with case("S", "c"), dispatch(): pass
        assert os.fstat(own[0]).st_size == 0
        """,
        env={"SCENETEST_OTEL_DIR": str(tmp_path / "store")},
    )
    assert done.returncode == 0
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("could not record everything, the run goes on without it: ")

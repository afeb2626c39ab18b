"""`scenetest-otel run`: every Python process below the command joins the run, however it was started."""

from __future__ import annotations

import site
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from support.runner import CLI, facts, only_directory, run
from support.scripts import PREAMBLE, clean_environment, only_process, only_run

SCRIPT = PREAMBLE + "with case('S', 'c'), dispatch(): pass\n"
INSTRUMENT = str(Path(sys.executable).with_name("opentelemetry-instrument"))


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A driver with one case, which does not call `instrument()`, where `python -m driver` finds it."""
    file = tmp_path / "driver.py"
    file.write_text(SCRIPT)
    return file


@pytest.mark.parametrize(
    "command",
    [
        ["{python}", "driver.py"],
        ["{python}", "-E", "driver.py"],
        ["{python}", "-I", "driver.py"],
        ["{python}", "-s", "-B", "driver.py"],
        ["{python}", "-m", "driver"],
        ["{python}", "-c", SCRIPT],
        ["{instrument}", "--traces_exporter", "none", "{python}", "driver.py"],
        ["{instrument}", "--traces_exporter", "none", "{python}", "-m", "driver"],
        ["sh", "-c", "cd / && env {python} $OLDPWD/driver.py"],
        ["{python}", "-c", "import os; os.execv('{python}', ['{python}', 'driver.py'])"],
        ["{python}", "-c", "import subprocess; subprocess.run(['{python}', 'driver.py'], capture_output=True)"],
    ],
    ids=lambda words: " ".join(words).replace(SCRIPT, "SCRIPT")[:60],
)
@pytest.mark.usefixtures("script")
def test_a_python_process_joins(command: list[str], tmp_path: Path) -> None:
    words = [word.replace("{python}", sys.executable).replace("{instrument}", INSTRUMENT) for word in command]
    run(tmp_path / "store", words, cwd=tmp_path)
    process = only_process(only_run(tmp_path / "store"))
    assert process.record.ended == "clean"
    assert [one.span.name for one in process.cases] == ["c"]


def test_a_process_in_another_venv_that_has_the_package_joins(tmp_path: Path, script: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=False)
    python = tmp_path / "venv" / "bin" / "python"
    query = [python, "-c", "import site; print(site.getsitepackages()[0])"]
    theirs = Path(subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip())
    ours = Path(site.getsitepackages()[0])
    (theirs / "ours.pth").write_text(f"import site; site.addsitedir({str(ours)!r})\n")
    run(tmp_path / "store", [str(python), str(script)])
    process = only_process(only_run(tmp_path / "store"))
    assert process.record.facts["executable"] == str(python)


def test_every_process_of_a_tree_has_a_journal_of_its_own(tmp_path: Path, script: Path) -> None:
    tree = f"import subprocess, sys\nfor _ in range(3): subprocess.run([sys.executable, {str(script)!r}], check=True)\n"
    run(tmp_path / "store", [sys.executable, "-c", SCRIPT + tree])
    processes = only_run(tmp_path / "store").processes
    assert len({process.record.pid for process in processes}) == 4
    assert [len(process.cases) for process in processes] == [1, 1, 1, 1]


def test_a_process_that_calls_instrument_itself_makes_no_run_of_its_own(tmp_path: Path, script: Path) -> None:
    script.write_text(PREAMBLE + f"instrument(journal_dir={str(tmp_path / 'own')!r})\n" + SCRIPT)
    run(tmp_path / "store", [sys.executable, str(script)])
    assert len(only_process(only_run(tmp_path / "store")).cases) == 1
    assert not (tmp_path / "own").exists()


def test_a_run_inside_a_run_is_a_run_of_its_own(tmp_path: Path, script: Path) -> None:
    inner = [CLI, "run", "--dir", str(tmp_path / "inner"), "--", sys.executable, str(script)]
    run(
        tmp_path / "outer", [sys.executable, "-c", SCRIPT + f"import subprocess; subprocess.run({inner!r}, check=True)"]
    )
    assert len(only_process(only_run(tmp_path / "inner")).cases) == 1
    assert len(only_process(only_run(tmp_path / "outer")).cases) == 1
    assert only_directory(tmp_path / "inner").parent == tmp_path / "inner"
    assert facts(tmp_path / "inner")["id"] != facts(tmp_path / "outer")["id"]


def test_without_a_run_the_package_does_nothing_at_the_start_of_a_process() -> None:
    script = "import sys; print(any('scenetest' in name for name in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], env=clean_environment(), capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"

"""`scenetest-otel report` and `export -o`: their messages, and that the file is complete or unchanged."""

from __future__ import annotations

import os
import resource
import subprocess
from pathlib import Path

import pytest
from support.arms import CLEAN, write_run
from support.runner import CLI
from support.scripts import clean_environment

MS = 1_000_000
ENABLED = {**CLEAN, "torch.backend_autoload.effective": "enabled", "torch.backend_autoload.setting": "unset"}
SMALL = 100_000
"""Bytes that a file may have in `limited`: fewer than a page or a trace of many rounds."""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "store"
    for place, turn in enumerate("BMMBBMMB"):
        name = f"{'base' if turn == 'B' else 'meas'}-{place}"
        write_run(path, name, place, [300 * MS, *[(100 if turn == "B" else 120) * MS + place] * 2])
    write_run(path, "dirty", 9, [300 * MS, *[101 * MS] * 2000], ENABLED)
    return path


def call(store: Path, *words: str, limited: bool = False) -> subprocess.CompletedProcess[str]:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (SMALL, SMALL))

    environment = clean_environment(SCENETEST_OTEL_DIR=str(store))
    return subprocess.run(
        [CLI, *words],
        env=environment,
        cwd=store.parent,
        capture_output=True,
        text=True,
        preexec_fn=limit if limited else None,
        check=False,
    )


def test_runs_with_other_rulers_beside_each_other_are_a_page_and_a_sentence_with_the_way_out(store: Path) -> None:
    done = call(store, "report", "base-0", "dirty")
    assert (done.returncode, done.stdout) == (4, "report.html\n")
    assert done.stderr == (
        "scenetest-otel: NOT THE SAME RULER, so no verdict: torch.backend_autoload.effective differs or is unknown. "
        "The page shows them; to accept it, add --allow KEY. (exit 4)\n"
    )
    assert (store.parent / "report.html").exists()


def test_a_slowdown_is_said_beside_the_page(store: Path) -> None:
    done = call(store, "report", "base-*", "--", "meas-*", "--fail-slower", "5")
    assert (done.returncode, done.stdout) == (5, "report.html\n")
    assert done.stderr == "scenetest-otel: Slower by at least 5 %. (exit 5)\n"


def test_a_page_without_a_fault_needs_no_words(store: Path) -> None:
    done = call(store, "report", "base-*", "--", "meas-*")
    assert (done.returncode, done.stdout, done.stderr) == (0, "report.html\n", "")


WRITE = {"report": ("report", "dirty", "-o"), "export": ("export", "dirty", "--format", "perfetto", "-o")}


@pytest.mark.parametrize("words", WRITE.values(), ids=WRITE)
@pytest.mark.parametrize("before", [None, "as before"])
def test_a_disk_that_is_full_leaves_no_part_of_a_file(words: tuple[str, ...], before: str | None, store: Path) -> None:
    output = store.parent / "out" / "file"
    output.parent.mkdir()
    if before:
        output.write_text(before)
    done = call(store, *words, str(output), limited=True)
    assert done.stderr == f"scenetest-otel: {output} can't be written (File too large); name another file with -o\n"
    assert done.returncode == 2
    assert [path.read_text() for path in output.parent.iterdir()] == ([before] if before else [])


@pytest.mark.parametrize("words", WRITE.values(), ids=WRITE)
def test_a_file_that_is_replaced_keeps_its_mode_and_a_link_to_it_stays_a_link(
    words: tuple[str, ...], store: Path
) -> None:
    real, link = store.parent / "real", store.parent / "link"
    real.touch()
    real.chmod(0o640)
    link.symlink_to(real)
    assert call(store, *words, str(link)).returncode == 0
    assert (link.is_symlink(), real.stat().st_mode & 0o777, real.stat().st_size > SMALL) == (True, 0o640, True)


@pytest.mark.parametrize("words", WRITE.values(), ids=WRITE)
def test_a_new_file_has_the_mode_that_the_shell_would_give_it(words: tuple[str, ...], store: Path) -> None:
    output = store.parent / "new"
    assert call(store, *words, str(output)).returncode == 0
    mask = os.umask(0)
    os.umask(mask)
    assert output.stat().st_mode & 0o777 == 0o666 & ~mask


def test_a_device_is_written_to(store: Path) -> None:
    done = call(store, "export", "base-0", "--format", "perfetto", "-o", "/dev/stdout")
    assert done.returncode == 0
    assert '"traceEvents"' in done.stdout


def test_a_directory_that_does_not_exist_is_one_sentence(store: Path) -> None:
    done = call(store, "report", "base-0", "-o", "nowhere/page.html")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "scenetest-otel: nowhere/page.html can't be written (No such file or directory); name another file with -o\n"
    )

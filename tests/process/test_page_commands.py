"""Runs the commands of the documentation, as a reader types them.

A block of commands after `<!-- run: FOLDER -->` is run by bash; `<!-- run: FOLDER exit N -->` says how it must end. The
blocks of a page run in their order, those of one FOLDER in the same working directory:

- `demo` has the programs of `examples/`;
- `harness` has a small harness with simpler's interfaces, and `test_vector_example.py`;
- `none` is empty.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.scripts import clean_environment

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
MARKED = re.compile(r"^<!-- run: (demo|harness|none)(?: exit (\d+))? -->\n\n((?: {4}.*\n)+)", re.MULTILINE)
MARK = re.compile(r"^<!-- run:", re.MULTILINE)


def blocks(page: Path) -> list[tuple[str, int, str]]:
    """Folder, exit code and commands of every marked block."""
    return [
        (folder, int(code or 0), re.sub("^ {4}", "", commands, flags=re.MULTILINE).strip())
        for folder, code, commands in MARKED.findall(page.read_text("utf-8"))
    ]


def make(folder: str, place: Path) -> Path:
    """The working directory of a kind of block."""
    place = place / folder
    if not place.exists():
        if folder == "demo":
            shutil.copytree(ROOT / "examples", place)
        elif folder == "harness":
            shutil.copytree(ROOT / "tests" / "harness", place)
            shutil.copy(place / "scenes" / "test_vector.py", place / "test_vector_example.py")
        else:
            place.mkdir()
    return place


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=lambda page: page.stem)
def test_the_commands_of_a_page_do_what_the_page_says(page: Path, tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for folder, code, commands in blocks(page):
        place = make(folder, tmp_path)
        environment = clean_environment(PATH=path, XDG_STATE_HOME=str(tmp_path / "state"))
        if folder == "harness":
            environment["PYTHONPATH"] = str(place)
        done = subprocess.run(
            ["bash", "-ec", commands], cwd=place, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, f"{commands}\n{done.stdout}{done.stderr}"


def test_every_mark_stands_before_a_block() -> None:
    wrong = [page.name for page in PAGES if len(MARK.findall(page.read_text("utf-8"))) != len(blocks(page))]
    assert wrong == []


def test_the_guides_that_need_no_server_have_commands_that_are_run() -> None:
    needed = {"tutorial", "i-want", "run", "ci", "compare", "dead-process", "native", "pytest", "driver"}
    assert needed - {page.stem for page in PAGES if blocks(page)} == set()

"""Finds and runs the commands of the documentation.

Each block of commands has a mark above it. `<!-- run: FOLDER -->` has it run by bash, `<!-- run: FOLDER exit N -->`
says how it must end, `<!-- run: FOLDER with WORDS -->` adds words to `ab`, which would take too long, and
`<!-- not run: REASON -->` says why it is not run. The blocks of a page run in their order, those of one FOLDER in the
same working directory:

- `demo` has the programs of `examples/`;
- `harness` has a small harness with simpler's interfaces, in a git checkout with tests;
- `plain` has tests for plain pytest and benchmarks of other libraries;
- `none` is empty;
- `stack` is `harness` with `examples/`, and a collector and a Jaeger run;
- `clone` is the clone of this repository.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from support.scripts import PROGRAMS, clean_environment

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
_FOLDERS = "demo|harness|plain|none|stack|clone"
_MARKED = re.compile(rf"^<!-- run: ({_FOLDERS})(?: exit (\d+))?(?: with (.+?))? -->\n\n((?: {{4}}.*\n)+)", re.MULTILINE)
_COMMAND = re.compile(
    r"(?:^|(?<=\n\n)) {4}(?:[A-Z_0-9]+=\S* )*"
    r"(?:scenetest-otel|make|python3?|pytest|docker|export|curl|pip|git|opentelemetry-instrument) .*"
)
_MARK = re.compile(r"^<!-- (?:run: .*|not run: .+) -->$", re.MULTILINE)
_SYNOPSES = "cli.md"
"""Its blocks show the syntax of commands, and are not run."""


@dataclass(frozen=True)
class Block:
    """A block of commands on a page.

    Attributes:
        folder: the directory that they run in.
        code: the expected exit code.
        commands: the text for bash.
    """

    folder: str
    code: int
    commands: str


def blocks(page: Path, *folders: str) -> list[Block]:
    """Return the blocks of a page that run in these folders."""
    found: list[Block] = []
    for folder, code, words, text in _MARKED.findall(page.read_text("utf-8")):
        commands = re.sub("^ {4}", "", text, flags=re.MULTILINE).strip()
        if words:
            commands = commands.replace("scenetest-otel ab ", f"scenetest-otel ab {words} ")
        found.append(Block(folder, int(code or 0), commands))
    return [block for block in found if block.folder in folders]


def without_a_mark(page: Path) -> list[str]:
    """Return the first lines of the blocks without a mark that says whether they are run, or why not."""
    if page.name == _SYNOPSES:
        return []
    text = page.read_text("utf-8")
    return [
        found[0].strip()
        for found in _COMMAND.finditer(text)
        if not _MARK.search(text[: found.start()].rstrip().rpartition("\n")[2])
    ]


def marks(page: Path) -> int:
    """Return the number of marks on a page that ask for a run."""
    return len(re.findall(r"^<!-- run:", page.read_text("utf-8"), re.MULTILINE))


def make(folder: str, place: Path) -> Path:
    """Return the working directory for a kind of block. It is created for the first block."""
    if folder == "clone":
        return ROOT
    place = place / folder
    if place.exists():
        return place
    if folder == "demo":
        shutil.copytree(ROOT / "examples", place)
        (place.parent / ".venv").mkdir(exist_ok=True)
        (place.parent / ".venv" / "demo-device").symlink_to(Path(sys.prefix) / "demo-device")
    elif folder == "plain":
        (place / "tests").mkdir(parents=True)
        shutil.copy(PROGRAMS / "timed_by_torch.py", place / "my_timer.py")
        timed = "def test_sum(benchmark):\n    benchmark.pedantic(sum, args=(range(1000),), rounds=5)\n"
        (place / "tests" / "test_timed.py").write_text(timed)
    elif folder == "none":
        place.mkdir()
    else:
        _make_checkout(place)
    return place


def _make_checkout(place: Path) -> None:
    shutil.copytree(ROOT / "tests" / "harness", place)
    scenes = place / "scenes"
    vector, group, driver = (scenes / f"{name}.py" for name in ("test_vector", "test_group", "driver"))
    for source, copy in (
        (vector, "test_vector_example.py"),
        (vector, "tests/st/test_vector.py"),
        (group, "tests/st/a2a3/tensormap_and_ringbuffer/test_l3_group.py"),
        (driver, "main.py"),
        (ROOT / "examples" / "matmul.py", "matmul.py"),
        (ROOT / "examples" / "matmul.py", "your_benchmark.py"),
        (ROOT / "examples" / "matmul.py", "test_x.py"),
    ):
        (place / copy).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, place / copy)
    for scene in scenes.glob("test_*.py"):  # some of them are there to fail
        scene.unlink()
    logged = [sys.executable, "test_vector_example.py", "-p", "a2a3sim", "--manual", "include"]
    done = subprocess.run(logged, cwd=place, env=environment("harness", place), stderr=subprocess.PIPE, check=True)
    for name in ("test.log", "old.log", "other.log"):
        (place / name).write_bytes(done.stderr)
    for words in (
        ("init", "--quiet", "--initial-branch", "main"),
        ("config", "user.email", "reader@example.com"),
        ("config", "user.name", "Reader"),
        ("add", "--all"),
        ("commit", "--quiet", "--message", "The harness"),
    ):
        subprocess.run(["git", *words], cwd=place, check=True)


def environment(folder: str, place: Path) -> dict[str, str]:
    """Return the environment of the commands of a folder."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    own = {"PYTHONPATH": "."} if folder in ("harness", "stack") else {}
    summary = str(place.parent / "summary.md")  # of the job, as GitHub sets it
    return clean_environment(PATH=path, XDG_STATE_HOME=str(place.parent / "state"), GITHUB_STEP_SUMMARY=summary, **own)


def run(block: Block, place: Path, variables: Mapping[str, str] = {}) -> subprocess.CompletedProcess[str]:
    """Run the commands of a block.

    Args:
        block: the block.
        place: the parent of the working directories.
        variables: additional environment variables.
    """
    folder = make(block.folder, place)
    return subprocess.run(
        ["bash", "-ec", block.commands],
        cwd=folder,
        env={**environment(block.folder, folder), **variables},
        capture_output=True,
        text=True,
        check=False,
    )

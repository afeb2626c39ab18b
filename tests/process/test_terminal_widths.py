"""On terminals of 60, 80 and 200 columns the commands print everything, and it is readable."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from support.journals import CLEAN, CONTAMINATED, HARNESS_CASE, Case, Dispatch, Process, write
from support.runner import CLI, Console, python
from support.scripts import PREAMBLE, clean_environment

MS = 1_000_000
WIDTHS = (60, 80, 200)
STYLES = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten pairs, and a run under other conditions; one name is longer than the narrowest terminal."""
    path = tmp_path_factory.mktemp("store")
    for place, turn in enumerate("BMMBBMMBBMMBBMMBBMMB"):
        name = f"{'base' if turn == 'B' else 'measure'}-{place}"
        times = [300 * MS, *(time * MS + place * MS // 3 for time in (101, 100, 103))]
        case = Case("TestVector", "default", [Dispatch(time) for time in times], attributes=HARNESS_CASE)
        write(path, name, [Process([case], conditions=CLEAN, pid=1000 + place)], at=place * 10.0)
    case = Case("TestVector", "default", [Dispatch(300 * MS), Dispatch(100 * MS)], attributes=HARNESS_CASE)
    for name, conditions in (("dirty", CONTAMINATED), ("a-run-with-a-name-of-" + "x" * 60, CLEAN)):
        write(path, name, [Process([case], conditions=conditions, pid=2000)], at=900.0)
    return path


def seen(width: int, *words: str) -> list[str]:
    """The lines that a person sees at a terminal."""
    console = Console([CLI, *words], columns=width)
    console.end()
    return STYLES.sub("", console.seen.decode()).splitlines()


COMMANDS = {
    "show": ("show", "dirty"),
    "show --conditions": ("show", "dirty", "--conditions"),
    "show of a long name": ("show", "a-run-with-a-name-of-" + "x" * 60),
    "compare": ("compare", "base-*", "--", "measure-*"),
    "compare --allow": ("compare", "base-*", "--", "dirty", "--allow", "autoload"),
    "a refusal": ("compare", "base-*", "--", "dirty"),
    "runs": ("runs", "-n", "0"),
    "doctor": ("doctor", "--", "python", "-c", ""),
}


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("command", COMMANDS)
def test_no_word_is_cut_or_lost_and_no_line_is_longer_than_the_terminal(command: str, width: int, store: Path) -> None:
    name, *rest = COMMANDS[command]
    words = [name, "--dir", str(store), *rest]
    environment = clean_environment()
    expected = subprocess.run([CLI, *words], env=environment, capture_output=True, text=True, check=False)
    lines = seen(width, *words)
    words_seen = {word.rstrip(":") for line in lines for word in line.split()}
    of_first_column = {"condition", "name"}  # a list needs no word for it
    output = re.sub(r"\S+ GB free", "GB free", expected.stdout)  # other processes write to the disk
    assert {word.rstrip(":") for word in output.split()} - words_seen - of_first_column == set()
    assert [line for line in lines if len(line) > width and len(line.split()) > 1] == []


def test_pairs_are_as_many_on_a_line_as_fit(store: Path) -> None:
    words = ("compare", "--dir", str(store), "base-*", "--", "measure-*")

    def rows(width: int) -> list[int]:
        return [len(line.split()) - 1 for line in seen(width, *words) if line.startswith("    delta")]

    assert (rows(60), rows(200)) == ([5, 5], [8, 2])


@pytest.mark.parametrize("width", WIDTHS)
def test_ab_folds_what_it_tells_and_its_comparison(width: int, tmp_path: Path) -> None:
    script = PREAMBLE + "with case('S', 'c'):\n    for _ in range(3):\n        with dispatch(): sum(range(9999))"
    lines = seen(width, "ab", "-n", "1", "--dir", str(tmp_path), "--arm", "base:A=1", "--", *python(script))
    told = [line for line in lines if not line.startswith(" ")]
    assert any(line.startswith("SAME RULER") for line in told)
    assert [line for line in lines if len(line) > width and len(line.split()) > 1] == []

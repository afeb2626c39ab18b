"""Lines and tables at every width: folded between words, a list where a table is too wide, and nothing is lost."""

from __future__ import annotations

import io

import pytest
from rich.text import Text

from opentelemetry.instrumentation.scenetest.render.folding import TableRow, print_line, print_table
from opentelemetry.instrumentation.scenetest.render.plain_console import PlainConsole

LINE = "  python tests/st/test_vector.py --platform a2a3sim --rounds 12 --golden"
TITLES = ("", "", "first", "min", "median")
ROWS = [
    TableRow(["dispatch", "ms", "104.7", "107.5", "118.5"]),
    TableRow(["control plane/pass", "us", "22.4", "22.4", "1.0"]),
]


def at(width: int) -> tuple[PlainConsole, io.StringIO]:
    file = io.StringIO()
    return PlainConsole(file=file, width=width, soft_wrap=True, highlight=False, markup=False), file


@pytest.mark.parametrize("width", [20, 40, 60, 200])
def test_a_line_is_folded_between_words_and_keeps_all_of_them(width: int) -> None:
    console, file = at(width)
    print_line(console, LINE, indent=4)
    lines = file.getvalue().splitlines()
    assert file.getvalue().split() == LINE.split()
    assert [line for line in lines if len(line) > width and len(line.split()) > 1] == []
    assert all(line.startswith("    ") for line in lines[1:])


def test_a_line_that_fits_stays_as_it_is() -> None:
    console, file = at(len(LINE))
    print_line(console, LINE)
    assert file.getvalue() == f"{LINE}\n"


def test_a_word_longer_than_the_terminal_is_whole() -> None:
    console, file = at(20)
    print_line(console, f"in {'x' * 50} it is", indent=2)
    assert file.getvalue().splitlines() == ["in", f"  {'x' * 50}", "  it is"]


def test_a_folded_command_can_be_pasted_into_a_shell() -> None:
    console, file = at(30)
    print_line(console, LINE, indent=4, end=" \\")
    assert file.getvalue().replace(" \\\n", " ").split() == LINE.split()


def test_wide_characters_count_twice() -> None:
    console, file = at(10)
    print_line(console, "\u6d4b\u8bd5\u6d4b \u6d4b\u8bd5\u6d4b", indent=1)
    assert file.getvalue() == "\u6d4b\u8bd5\u6d4b\n \u6d4b\u8bd5\u6d4b\n"


def test_a_table_that_fits_has_its_numbers_below_each_other() -> None:
    console, file = at(60)
    print_table(console, TITLES, ROWS, indent=2, numbers=(2, 3, 4))
    assert file.getvalue().splitlines() == [
        "                          first    min  median",
        "  dispatch            ms  104.7  107.5   118.5",
        "  control plane/pass  us   22.4   22.4     1.0",
    ]


def test_a_table_that_is_too_wide_is_a_list_with_every_cell() -> None:
    console, file = at(40)
    print_table(console, TITLES, ROWS, indent=2, numbers=(2, 3, 4))
    assert file.getvalue().splitlines() == [
        "  dispatch",
        "    ms  first 104.7  min 107.5",
        "    median 118.5",
        "  control plane/pass",
        "    us  first 22.4  min 22.4  median 1.0",
    ]


def test_long_texts_have_a_line_each_in_a_list() -> None:
    console, file = at(30)
    rows = [TableRow(["torch.imported", "yes", Text("no, it was not imported")], note="it matters")]
    print_table(console, ("", "base-1..6", "dirty"), rows, stacked=True)
    assert file.getvalue().splitlines() == [
        "torch.imported",
        "  base-1..6: yes",
        "  dirty: no, it was not",
        "    imported",
        "  it matters",
    ]


def test_a_long_cell_does_not_push_the_others_away() -> None:
    console, file = at(200)
    print_table(console, ("a", "b", "c"), [TableRow(["x", "y" * 30, "z"]), TableRow(["x", "y", "z"])], widest=10)
    assert file.getvalue().splitlines() == ["a  b  c", f"x  {'y' * 30}  z", "x  y  z"]

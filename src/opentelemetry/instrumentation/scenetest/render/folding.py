"""Prints lines and tables that fit the terminal. Nothing is cut off, because a shortened number looks like another one.

A line that is too long is folded between words. A table that is too wide is printed as a list.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

_GAP = 2
_DEEPER = 2
"""Additional indent of the cells of a row that is printed as a list."""
_WORD = re.compile(r"\s*\S+(?: %\S*)?\s*")


_UNLIMITED = 10_000


@dataclass(frozen=True)
class TableRow:
    """A row of a table.

    Attributes:
        cells: one cell for each column.
        style: style of the row.
        note: a line below the row; empty for none.
    """

    cells: Sequence[str | Text]
    style: str = ""
    note: str = ""


def print_line(console: Console, line: str | Text, *, indent: int = 0, style: str = "", end: str = "") -> None:
    """Print a line, folded between words if the terminal is too narrow.

    Args:
        console: the console.
        line: the text.
        indent: indent of the continuation lines.
        style: style of the whole text.
        end: end of each line except the last, such as the backslash of a shell.
    """
    text = line.copy() if isinstance(line, Text) else Text(line)
    if style:
        text.stylize_before(style)
    if text.cell_len <= console.width:
        console.print(text)
        return
    first, *others = text.divide(list(_folds(text.plain, console.width - cell_len(end), indent)))
    lines = [first, *(Text(" " * indent) + other for other in others)]
    for each in lines:
        each.rstrip()
        console.print(each if each is lines[-1] else each + end)


def _folds(line: str, width: int, indent: int) -> Iterator[int]:
    """Yield the positions of the words that begin a continuation line. A word is never divided."""
    at, begins = 0, True
    for word in _WORD.finditer(line):
        if not begins and at + cell_len(word[0].rstrip()) > width:
            yield word.start()
            at = indent
        at, begins = at + cell_len(word[0]), False


def print_table(
    console: Console,
    titles: Sequence[str],
    rows: Sequence[TableRow],
    *,
    indent: int = 0,
    numbers: Sequence[int] = (),
    title_style: str = "dim",
    stacked: bool = False,
    widest: int = _UNLIMITED,
) -> None:
    """Print a table, or a list if the table is wider than the terminal.

    Args:
        console: the console.
        titles: titles of the columns; "" for a column without a title.
        rows: the rows. The first column is the name of the row.
        indent: indent of the table, in characters.
        numbers: indexes of the right-aligned columns.
        title_style: style of the titles.
        stacked: whether a list has one line for each cell, for long texts.
        widest: a cell wider than this doesn't widen its column.
    """
    texts = [[Text(cell) if isinstance(cell, str) else cell for cell in row.cells] for row in rows]
    heads = [Text(title) for title in titles]
    columns = zip(heads, *texts, strict=True)
    widths = [max((cell.cell_len for cell in column if cell.cell_len <= widest), default=0) for column in columns]
    lines = [_row(cells, widths, indent, numbers) for cells in (heads, *texts)]
    fits = all(line.cell_len <= console.width for line in lines)
    if fits and any(titles):
        console.print(lines[0], style=title_style)
    for row, cells, line in zip(rows, texts, lines[1:], strict=True):
        if fits:
            console.print(line, style=row.style or None)
        else:
            _print_as_list(console, titles, cells, indent, row.style, stacked=stacked)
        if row.note:
            print_line(console, f"{' ' * (indent + _DEEPER)}{row.note}", indent=indent + _DEEPER, style="dim")


def _row(cells: Sequence[Text], widths: Sequence[int], indent: int, numbers: Sequence[int]) -> Text:
    line = Text(" " * indent)
    for i, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        space = " " * max(0, width - cell.cell_len)
        line += (Text(space) + cell if i in numbers else cell + space) + " " * _GAP
    line.rstrip()
    return line


def _print_as_list(
    console: Console, titles: Sequence[str], cells: Sequence[Text], indent: int, style: str, *, stacked: bool
) -> None:
    print_line(console, Text(" " * indent) + cells[0], indent=indent + 2 * _DEEPER, style=style)
    deeper = indent + _DEEPER
    named = [_named(title, cell, stacked=stacked) for title, cell in zip(titles[1:], cells[1:], strict=True) if cell]
    if stacked:
        for each in named:
            print_line(console, Text(" " * deeper) + each, indent=deeper + _DEEPER, style=style)
        return
    line = Text(" " * deeper)
    for each in named:
        if len(line) > deeper and line.cell_len + each.cell_len > console.width:
            line.rstrip()
            console.print(line, style=style or None)
            line = Text(" " * deeper)
        line += each + " " * _GAP
    line.rstrip()
    if line:
        console.print(line, style=style or None)


def _named(title: str, cell: Text, *, stacked: bool) -> Text:
    colon = ":" if stacked else ""
    return Text(f"{title}{colon} ", style="dim") + cell if title else cell

"""Prints a comparison as text: first the refusal or the verdicts, then the numbers behind them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np
from rich.console import Console
from rich.text import Text

from opentelemetry.instrumentation.scenetest.render.comparison_document import CaseDocument, Document, RowDocument
from opentelemetry.instrumentation.scenetest.render.durations import unit_of
from opentelemetry.instrumentation.scenetest.render.folding import TableRow, print_line, print_table
from opentelemetry.instrumentation.scenetest.render.plain import plain

_HEADLINES = {
    "SAME RULER": "bold green",
    "NOT THE SAME RULER": "bold white on red",
    "NOT THE SAME RULER, AS ALLOWED": "bold black on yellow",
    "NOTHING COMPARED": "bold black on yellow",
}
_VERDICTS = {"faster": "bold green", "slower": "bold red", "same": "bold"}
_NO_ANSWER = "bold yellow"
_PAIRS_A_LINE = 8
_LABEL, _NUMBER = 10, 9
"""Widths of the first column of the pairs, and of the others."""
_DEEPER = 4
"""Indent of the continuation lines of a folded line."""


def print_comparison(console: Console, document: Document) -> None:
    """Print a comparison, or the reasons against one."""
    for warning in document.warnings:
        print_line(console, plain(f"WARNING  {warning}"), indent=_DEEPER, style=_NO_ANSWER)
    beside = f"  {plain(document.summary)}" if document.ruler.comparable else ""
    headline = Text.assemble((document.headline, _HEADLINES[document.headline]), beside)
    print_line(console, headline, indent=_DEEPER)
    _print_refusal(console, document)
    for stamp in document.stamps:
        print_line(console, plain(stamp), indent=_DEEPER, style=_NO_ANSWER)
    for case in document.cases:
        for row in case.rows:
            if row.role == "named":
                beside = f"  ({case.pressure_text})" if case.pressure_text else ""
                line = Text.assemble(plain(f"{case.title}  {row.name}  "), _verdict(row), beside)
                print_line(console, line, indent=_DEEPER)
    for note in document.notes:
        print_line(console, plain(f"note: {note}"), indent=_DEEPER, style="dim")
    for one in document.left_out:
        print_line(console, plain(f"left out: {one.text}"), indent=_DEEPER, style="dim")
    for case in document.cases:
        _print_case(console, case)
    if document.ending:
        print_line(console, document.ending)


def _print_refusal(console: Console, document: Document) -> None:
    sheet = document.refusal
    if sheet.rows:
        rows = [
            TableRow([one.attribute, *map(plain, one.values)], "red", one.why if one is of_reason[-1] else "")
            for _, group in groupby(sheet.rows, key=lambda one: one.why)
            for of_reason in [list(group)]
            for one in of_reason
        ]
        titles = ("", *map(plain, sheet.titles))
        print_table(console, titles, rows, indent=2, title_style="bold", stacked=True)
    for line in document.unrecorded:
        print_line(console, plain(f"  {line}; --allow not-recorded accepts that"), indent=_DEEPER)


def _verdict(row: RowDocument) -> Text:
    return Text(plain(f"-> {row.text}"), style=_VERDICTS.get(row.verdict, _NO_ANSWER))


def _print_case(console: Console, case: CaseDocument) -> None:
    console.print()
    print_line(console, plain(case.title), style="bold")
    if case.overhead_text:
        print_line(console, f"  {case.overhead_text}", style="dim", indent=_DEEPER)
    printed: set[str] = set()
    for row in case.rows:
        print_line(console, plain(f"  {row.head}"), indent=_DEEPER)
        _print_pairs(console, row)
        for line in row.lines:
            print_line(console, plain(f"    {line}"), indent=_DEEPER + 2)
        if row.text not in printed:  # print "too few pairs", which applies to all rows, only once
            print_line(console, Text("  ") + _verdict(row), indent=_DEEPER + 2)
        printed.add(row.text)


def _print_pairs(console: Console, row: RowDocument) -> None:
    if not row.pairs:
        return
    unit, size = unit_of(float(np.median([pair["base_ns"] for pair in row.pairs])))
    a_line = max(1, min(_PAIRS_A_LINE, (console.width - _LABEL - _DEEPER) // _NUMBER))
    for start in range(0, len(row.pairs), a_line):
        pairs = row.pairs[start : start + a_line]
        base, measure = [pair["base_ns"] / size for pair in pairs], [pair["measure_ns"] / size for pair in pairs]
        _print_numbers(console, f"base, {unit}", [f"{time:.1f}" for time in base])
        _print_numbers(console, "measure", [f"{time:.1f}" for time in measure])
        _print_numbers(console, "delta", [f"{m - b:+.1f}" for b, m in zip(base, measure, strict=True)])


def _print_numbers(console: Console, label: str, numbers: Sequence[str]) -> None:
    cells = "".join(f"{number:>{_NUMBER}}" for number in numbers)
    console.print(Text(f"{'':<{_DEEPER}}{label:<{_LABEL}}{cells}"))

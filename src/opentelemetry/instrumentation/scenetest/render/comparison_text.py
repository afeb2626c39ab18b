"""What `compare` prints for people: the refusal or the verdicts first, then every number that they rest on."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np
from rich.console import Console
from rich.text import Text

from opentelemetry.instrumentation.scenetest.analyse.durations import unit_of
from opentelemetry.instrumentation.scenetest.render.comparison_document import CaseDocument, Document, RowDocument
from opentelemetry.instrumentation.scenetest.render.plain import plain

_HEADLINES = {
    "SAME RULER": "bold green",
    "NOT THE SAME RULER": "bold white on red",
    "NOTHING COMPARED": "bold black on yellow",
}
_VERDICTS = {"faster": "bold green", "slower": "bold red", "same": "bold"}
_NO_ANSWER = "bold yellow"
_PAIRS_A_LINE = 8


def print_comparison(console: Console, document: Document) -> None:
    """Print a comparison, or why there is none."""
    for warning in document.warnings:
        console.print(Text(plain(f"WARNING  {warning}"), style=_NO_ANSWER))
    beside = f"  {plain(document.summary)}" if document.ruler.same else ""
    console.print(Text.assemble((document.headline, _HEADLINES[document.headline]), beside))
    _print_refusal(console, document)
    for stamp in document.stamps:
        console.print(Text(plain(stamp), style=_NO_ANSWER))
    for case in document.cases:
        for row in case.rows:
            if row.role == "named":
                beside = f"  ({case.pressure_text})" if case.pressure_text else ""
                console.print(Text(plain(f"{case.title}  {row.name}  ")), _verdict(row), Text(beside), sep="")
    for note in document.notes:
        console.print(Text(plain(f"note: {note}"), style="dim"))
    for one in document.left_out:
        console.print(Text(plain(f"left out: {one.text}"), style="dim"))
    for case in document.cases:
        _print_case(console, case)
    if document.ending:
        console.print(Text(document.ending))


def _print_refusal(console: Console, document: Document) -> None:
    sheet = document.refusal
    if sheet.rows:
        widths = [
            max(map(len, column)) for column in zip(sheet.titles, *(one.values for one in sheet.rows), strict=True)
        ]
        first = max(len(one.attribute) for one in sheet.rows)
        console.print(_line("", first, sheet.titles, widths), style="bold")
        for reason, of_reason in groupby(sheet.rows, key=lambda one: one.why):
            for one in of_reason:
                console.print(_line(one.attribute, first, one.values, widths), style="red")
            console.print(Text(f"    {reason}", style="dim"))
    for line in document.unrecorded:
        console.print(Text(plain(f"  {line}; --allow not-recorded accepts that")))


def _line(attribute: str, first: int, values: Sequence[str], widths: Sequence[int]) -> Text:
    cells = (f"{value:<{width}}" for value, width in zip(values, widths, strict=True))
    return Text(plain(f"  {attribute:<{first}}  {'  '.join(cells)}".rstrip()))


def _verdict(row: RowDocument) -> Text:
    return Text(plain(f"-> {row.text}"), style=_VERDICTS.get(row.verdict, _NO_ANSWER))


def _print_case(console: Console, case: CaseDocument) -> None:
    console.print()
    console.print(Text(plain(case.title), style="bold"))
    for row in case.rows:
        console.print(Text(plain(f"  {row.head}")))
        _print_pairs(console, row)
        for line in row.lines:
            console.print(Text(plain(f"    {line}")))
        console.print(Text("  "), _verdict(row), sep="")


def _print_pairs(console: Console, row: RowDocument) -> None:
    if not row.pairs:
        return
    unit, size = unit_of(float(np.median([pair["base_ns"] for pair in row.pairs])))
    for start in range(0, len(row.pairs), _PAIRS_A_LINE):
        pairs = row.pairs[start : start + _PAIRS_A_LINE]
        base, measure = [pair["base_ns"] / size for pair in pairs], [pair["measure_ns"] / size for pair in pairs]
        _print_numbers(console, f"base, {unit}", [f"{time:.1f}" for time in base])
        _print_numbers(console, "measure", [f"{time:.1f}" for time in measure])
        _print_numbers(console, "delta", [f"{m - b:+.1f}" for b, m in zip(base, measure, strict=True)])


def _print_numbers(console: Console, label: str, numbers: Sequence[str]) -> None:
    console.print(Text(f"    {label:<10}" + "".join(f"{number:>9}" for number in numbers)))

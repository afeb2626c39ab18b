"""What `compare` prints for people: the refusal or the verdicts first, then every number that they rest on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

import numpy as np
from rich.console import Console
from rich.text import Text

from opentelemetry.instrumentation.scenetest.analyse.compare.comparison import Comparison
from opentelemetry.instrumentation.scenetest.analyse.compare.rows import CaseRows, Row, warm_of
from opentelemetry.instrumentation.scenetest.analyse.durations import unit_of
from opentelemetry.instrumentation.scenetest.analyse.stats.order import Arm
from opentelemetry.instrumentation.scenetest.analyse.stats.verdict import Verdict
from opentelemetry.instrumentation.scenetest.conditions.table import why
from opentelemetry.instrumentation.scenetest.render import wording
from opentelemetry.instrumentation.scenetest.render.ruler_words import columns, stamps, summary

STYLES = {
    Verdict.FASTER: "bold green",
    Verdict.SLOWER: "bold red",
    Verdict.SAME: "bold",
    Verdict.CONTENDED: "bold yellow",
    Verdict.UNRESOLVED: "bold yellow",
}
_PAIRS_A_LINE = 8


def print_comparison(console: Console, comparison: Comparison) -> None:
    """Print a comparison, or why there is none."""
    for warning in comparison.warnings:
        console.print(Text(f"WARNING  {warning}", style="bold yellow"))
    if not comparison.gate.same:
        _print_refusal(console, comparison)
        return
    console.print(Text.assemble(("SAME RULER", "bold green"), f"  {summary(comparison)}"))
    for stamp in stamps(comparison):
        console.print(Text(stamp, style="bold yellow"))
    for case in comparison.cases:
        for row in case.rows:
            if row.role == "named":
                console.print(Text(f"{case.key.title}  {row.name}  "), _verdict(row, comparison), sep="")
    for note in _notes(comparison):
        console.print(Text(note, style="dim"))
    for case in comparison.cases:
        _print_case(console, case, comparison)


def _print_refusal(console: Console, comparison: Comparison) -> None:
    console.print(Text("NOT THE SAME RULER", style="bold white on red"))
    if comparison.gate.differences:
        titles, rows = columns(comparison, comparison.gate.differences)
        widths = [max(map(len, column)) for column in zip(titles, *(values for _, values in rows), strict=True)]
        first = max(len(attribute) for attribute, _ in rows)
        console.print(_line("", first, titles, widths), style="bold")
        for reason, of_reason in groupby(rows, key=lambda row: why(row[0])):
            for attribute, values in of_reason:
                console.print(_line(attribute, first, values, widths), style="red")
            console.print(Text(f"    {reason}", style="dim"))
    for run, count in comparison.gate.not_recorded.items():
        if not comparison.gate.accepts_not_recorded:
            console.print(Text(f"  {run}: {count} conditions were not recorded; --allow not-recorded accepts that"))
    console.print("No number. (exit 4)")


def _line(attribute: str, first: int, values: Sequence[str], widths: Sequence[int]) -> Text:
    cells = (f"{value:<{width}}" for value, width in zip(values, widths, strict=True))
    return Text(f"  {attribute:<{first}}  {'  '.join(cells)}".rstrip())


def _verdict(row: Row, comparison: Comparison) -> Text:
    return Text(f"-> {wording.verdict(row, comparison.options)}", style=STYLES[row.reason.verdict])


def _notes(comparison: Comparison) -> Iterable[str]:
    if comparison.context:
        titles, rows = columns(comparison, comparison.context, by_arm=True)
        for attribute, values in rows:
            yield f"note: {attribute} differs: " + ", ".join(f"{t} {v}" for t, v in zip(titles, values, strict=True))
    for line in comparison.left_out:
        yield f"left out: {line}"
    for arm, keys in comparison.unmatched.items():
        for key in keys:
            yield f"only in {arm.value}: {key.title}"


def _print_case(console: Console, case: CaseRows, comparison: Comparison) -> None:
    console.print()
    console.print(Text(case.key.title, style="bold"))
    for row in case.rows:
        console.print(Text(f"  {_rounds(row)}"))
        _print_pairs(console, row)
        for line in (*_figures(row), *wording.controls(row), *wording.remarks(row, comparison.options)):
            console.print(Text(f"    {line}"))
        console.print(Text("  "), _verdict(row, comparison), sep="")


def _rounds(row: Row) -> str:
    order = "".join("B" if arm is Arm.BASE else "M" for arm in row.evidence.order.arms)
    kept, dropped = row.warm.rounds.shape[1] if row.warm.rounds.size else 0, row.warm.cold
    used = f"first {dropped} dropped as cold, minimum of the next {kept}"
    pairs = wording.count(row.evidence.order.pairs, "pair")
    role = " (control)" if row.role == "control" else ""
    return f"{row.name}{role}: {pairs}, order {order or '-'}, {used}"


def _print_pairs(console: Console, row: Row) -> None:
    if not row.pairs:
        return
    unit, size = unit_of(float(np.median([pair.base_ns for pair in row.pairs])))
    for start in range(0, len(row.pairs), _PAIRS_A_LINE):
        pairs = row.pairs[start : start + _PAIRS_A_LINE]
        base, measure = [pair.base_ns / size for pair in pairs], [pair.measure_ns / size for pair in pairs]
        _print_numbers(console, f"base, {unit}", [f"{time:.1f}" for time in base])
        _print_numbers(console, "measure", [f"{time:.1f}" for time in measure])
        _print_numbers(console, "delta", [f"{m - b:+.1f}" for b, m in zip(base, measure, strict=True)])


def _print_numbers(console: Console, label: str, numbers: Sequence[str]) -> None:
    console.print(Text(f"    {label:<10}" + "".join(f"{number:>9}" for number in numbers)))


def _figures(row: Row) -> Iterable[str]:
    """The estimates of minimum and median with their intervals, and what these runs could have told."""
    evidence = row.evidence
    if evidence.minimum is None or evidence.median is None:
        return
    for name, fit in (("minimum", evidence.minimum), ("median", evidence.median)):
        (low, high), (inner_low, inner_high) = fit.interval(0.95), fit.interval(0.90)
        yield (
            f"{name:<8}{wording.percent(fit.delta)}  95 %: {wording.percent(low)} to {wording.percent(high)}"
            f"  90 %: {wording.percent(inner_low)} to {wording.percent(inner_high)}"
        )
    yield f"{wording.agreement(row)}; {wording.resolution(row)}"
    for arm in Arm:
        rounds = warm_of(row, arm)
        unit, size = unit_of(float(np.median(rounds)))
        median, p90, largest = (float(np.quantile(rounds, share)) / size for share in (0.5, 0.9, 1))
        yield f"{arm.value:<8}rounds: median {median:.1f}, p90 {p90:.1f}, max {largest:.1f} {unit}"

"""A comparison as Markdown, for a pull request."""

from __future__ import annotations

from collections.abc import Iterable

from opentelemetry.instrumentation.scenetest.analyse.compare.comparison import Comparison
from opentelemetry.instrumentation.scenetest.analyse.compare.rows import Row
from opentelemetry.instrumentation.scenetest.analyse.stats.verdict import Verdict
from opentelemetry.instrumentation.scenetest.conditions.table import why
from opentelemetry.instrumentation.scenetest.render import wording
from opentelemetry.instrumentation.scenetest.render.ruler_words import columns, stamps, summary


def markdown(comparison: Comparison) -> str:
    """Return a comparison as Markdown: one table a case, the refusal or the ruler above."""
    return "\n".join(_markdown(comparison)) + "\n"


def _markdown(comparison: Comparison) -> Iterable[str]:
    for warning in comparison.warnings:
        yield f"> **Warning** {warning}\n"
    if not comparison.gate.same:
        yield "**NOT THE SAME RULER**, so no number.\n"
        yield from _refusal(comparison)
        return
    yield f"**Same ruler**, {summary(comparison)}\n"
    for stamp in stamps(comparison):
        yield f"> **{stamp}**\n"
    for case in comparison.cases:
        yield f"### {case.key.title}\n"
        yield "| | base | measure | delta (95 %) | pairs agree | verdict |"
        yield "|---|---:|---:|---:|---:|---|"
        for row in case.rows:
            yield f"| {' | '.join(_cells(row, comparison))} |"
        yield ""
    for line in comparison.left_out:
        yield f"- left out: {line}"


def _refusal(comparison: Comparison) -> Iterable[str]:
    if comparison.gate.differences:
        titles, rows = columns(comparison, comparison.gate.differences)
        yield f"| | {' | '.join(titles)} | why it matters |"
        yield f"|---|{'---|' * len(titles)}---|"
        for attribute, values in rows:
            yield f"| `{attribute}` | {' | '.join(values)} | {why(attribute)} |"
    for run, count in comparison.gate.not_recorded.items():
        if not comparison.gate.accepts_not_recorded:
            yield f"- {run}: {count} conditions were not recorded; `--allow not-recorded` accepts that"


def _cells(row: Row, comparison: Comparison) -> Iterable[str]:
    minimum, pairs = row.evidence.minimum, row.pairs
    yield f"**{row.name}**" if row.role == "named" else row.name + (" (control)" if row.role == "control" else "")
    for times in ([pair.base_ns for pair in pairs], [pair.measure_ns for pair in pairs]):
        yield wording.duration(sum(times) / len(times)) if times else ""
    if minimum is None:
        yield from ("", "")
    else:
        yield wording.estimate(minimum)
        yield wording.agreement(row).removesuffix(" pairs agree")
    shifted = row.reason.verdict in (Verdict.FASTER, Verdict.SLOWER)
    yield f"**{row.reason.verdict.value}**" if shifted else wording.verdict(row, comparison.options)

"""A comparison as one JSON object, for `compare --json`, and as Markdown, for a pull request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from opentelemetry.instrumentation.scenetest.analyse.compare import wording
from opentelemetry.instrumentation.scenetest.analyse.compare.comparison import Comparison
from opentelemetry.instrumentation.scenetest.analyse.compare.gate import Difference
from opentelemetry.instrumentation.scenetest.analyse.compare.rows import CaseRows, Row
from opentelemetry.instrumentation.scenetest.analyse.compare.ruler_words import columns, stamps, summary
from opentelemetry.instrumentation.scenetest.analyse.compare.why import why
from opentelemetry.instrumentation.scenetest.analyse.stats.fit import Fit
from opentelemetry.instrumentation.scenetest.analyse.stats.verdict import Verdict


def document(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as the object that `compare --json` prints; docs/reference/compare.md says what it holds."""
    found = comparison.gate
    return {
        "verdict": [row.reason.verdict.value for row in comparison.named] or [Verdict.NOT_COMPARABLE.value],
        "ruler": {
            "same": found.same,
            "differences": _differences(found.differences),
            "allowed": _differences(found.allowed),
            "not_recorded": dict(found.not_recorded),
            "not_recorded_allowed": found.accepts_not_recorded,
        },
        "warnings": list(comparison.warnings),
        "context": _differences(comparison.context),
        "runs": {arm.value: list(runs) for arm, runs in comparison.runs.items()},
        "left_out": list(comparison.left_out),
        "unmatched": {arm.value: [key._asdict() for key in keys] for arm, keys in comparison.unmatched.items()},
        "options": {**asdict(comparison.options), "allow": sorted(comparison.options.allow)},
        "cases": [_case(case, comparison) for case in comparison.cases],
    }


def markdown(comparison: Comparison) -> str:
    """Return a comparison as Markdown: one table a case, the refusal or the ruler above."""
    return "\n".join(_markdown(comparison)) + "\n"


def _differences(differences: Iterable[Difference]) -> Mapping[str, Any]:
    return {one.attribute: {run: sorted(values, key=str) for run, values in one.values.items()} for one in differences}


def _case(case: CaseRows, comparison: Comparison) -> dict[str, Any]:
    return {"key": case.key._asdict(), "rows": [_row(row, comparison) for row in case.rows]}


def _row(row: Row, comparison: Comparison) -> dict[str, Any]:
    evidence = row.evidence
    return {
        "name": row.name,
        "role": row.role,
        "verdict": row.reason.verdict.value,
        "reason": row.reason.value[0],
        "text": wording.verdict(row, comparison.options),
        "order": [arm.value for arm in evidence.order.arms],
        "pairs": [asdict(pair) for pair in row.pairs],
        "minimum": _fit(evidence.minimum),
        "median": _fit(evidence.median),
        "holm_p": row.holm_p,
        "floor_ns": evidence.floor,
        "margin": evidence.margin,
        "smallest_findable": wording.findable(row),
        "pairs_needed": wording.needed(row),
        "rounds": {
            "cold": row.warm.cold,
            "warm": row.warm.rounds.shape[1] if row.warm.rounds.size else 0,
            "still_falling": row.warm.falling,
            "aborted": row.aborted,
            "lacking_a_span": row.lacking,
        },
        "surplus": list(row.surplus),
        "too_short": list(row.short),
        "controls": {control.name: correlation for control, correlation in row.controls},
    }


def _fit(fit: Fit | None) -> dict[str, Any] | None:
    if fit is None:
        return None
    return {
        "delta": fit.delta,
        "interval_95": fit.interval(0.95),
        "interval_90": fit.interval(0.90),
        "p": fit.p,
        "scatter": fit.scatter,
        "drift": fit.slope,
    }


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

"""A comparison as one JSON object, for `compare --json`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from opentelemetry.instrumentation.scenetest.analyse.compare.comparison import Comparison
from opentelemetry.instrumentation.scenetest.analyse.compare.gate import Difference
from opentelemetry.instrumentation.scenetest.analyse.compare.rows import CaseRows, Row
from opentelemetry.instrumentation.scenetest.analyse.stats.fit import Fit
from opentelemetry.instrumentation.scenetest.analyse.stats.verdict import Verdict
from opentelemetry.instrumentation.scenetest.render import wording


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

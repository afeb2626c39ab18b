"""A comparison as plain data, in numbers and in words. All formats only lay it out, so they have the same content."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from opentelemetry.instrumentation.scenetest.analyse.compare.comparison import Comparison
from opentelemetry.instrumentation.scenetest.analyse.compare.gate import Difference, why
from opentelemetry.instrumentation.scenetest.analyse.compare.repetitions import Key
from opentelemetry.instrumentation.scenetest.analyse.compare.rows import CaseRows, Role, Row, warm_of
from opentelemetry.instrumentation.scenetest.analyse.compare.series import Series
from opentelemetry.instrumentation.scenetest.analyse.stats.fit import Fit
from opentelemetry.instrumentation.scenetest.analyse.stats.order import Arm
from opentelemetry.instrumentation.scenetest.analyse.stats.verdict import Verdict
from opentelemetry.instrumentation.scenetest.exits import Exit
from opentelemetry.instrumentation.scenetest.render import ruler_words, wording
from opentelemetry.instrumentation.scenetest.render.durations import unit_of


@dataclass(frozen=True)
class ConditionRow:
    """One condition side by side.

    Attributes:
        attribute: the condition.
        values: the value of each group of runs.
        differs: whether the values differ.
        why: why a difference matters; empty for context.
    """

    attribute: str
    values: Sequence[str]
    differs: bool
    why: str


@dataclass(frozen=True)
class Sheet:
    """A table of conditions. Those that differ come first.

    Attributes:
        titles: the groups of runs, which are the columns.
        rows: the conditions.
    """

    titles: Sequence[str]
    rows: Sequence[ConditionRow]


@dataclass(frozen=True)
class Ruler:
    """Whether the rulers are the same.

    Attributes:
        same: whether nothing differs and everything was recorded.
        comparable: whether they are the same, or every difference was allowed.
        differences: the differing conditions that forbid a comparison, with their values by run; `allowed` those that
            were allowed.
        not_recorded: number of conditions that were not recorded, by run; `not_recorded_allowed` whether that is
            allowed.
    """

    same: bool
    comparable: bool
    differences: Mapping[str, Any]
    allowed: Mapping[str, Any]
    not_recorded: Mapping[str, int]
    not_recorded_allowed: bool


@dataclass(frozen=True)
class LeftOutDocument:
    """A measurement that is not used.

    Attributes:
        arm: its arm; None if it concerns both.
        what: the run or the case.
        reason: why it is not used.
        text: `what` and `reason` as one line.
    """

    arm: str | None
    what: str
    reason: str
    text: str


@dataclass(frozen=True)
class RowDocument:
    """One row of a case, in numbers (described in docs/reference/compare.md) and in words.

    Attributes:
        head: the pairs, their order and the rounds that it is based on.
        text: the verdict as a sentence.
        estimate: delta of the minima with its interval; empty without one.
        median_estimate: the same for the medians.
        agreement: how many pairs agree; empty without a pair.
        lines: all further remarks, one per line.
    """

    name: str
    role: Role
    verdict: str
    reason: str
    text: str
    head: str
    estimate: str
    median_estimate: str
    agreement: str
    lines: Sequence[str]
    order: Sequence[str]
    pairs: Sequence[Mapping[str, Any]]
    minimum: Mapping[str, Any] | None
    median: Mapping[str, Any] | None
    holm_p: float
    floor_ns: float
    margin: float
    smallest_findable: float | None
    pairs_needed: int | None
    rounds: Mapping[str, Any]
    surplus: Sequence[str]
    too_short: Mapping[str, int]
    controls: Mapping[str, float | None]


@dataclass(frozen=True)
class CaseDocument:
    """One case.

    Attributes:
        key: the fields that identify the case.
        title: its name for readers.
        pressure: mean CPU pressure by arm; None if it was not recorded.
        pressure_text: the same in words; empty if it was not recorded.
        overhead: the recorded duration of an empty dispatch by arm; None if it was not recorded.
        overhead_text: the same in words; empty if it was not recorded.
        rows: its rows.
        parts: the spans whose times `series` adds up.
        series: every round by arm, with its use, for figures.
    """

    key: Mapping[str, Any]
    title: str
    pressure: Mapping[str, float | None]
    pressure_text: str
    overhead: Mapping[str, Mapping[str, float] | None]
    overhead_text: str
    rows: Sequence[RowDocument]
    parts: Sequence[str]
    series: Mapping[Arm, Sequence[Series]]


@dataclass(frozen=True)
class Document:
    """A comparison.

    Attributes:
        headline: the first words.
        ending: the last sentence, with the exit code; empty for exit code 0.
        exit_code: the exit code.
        verdict: the verdicts on the named rows, one per case.
        summary: the most important conditions, in one line.
        warnings: warnings to show before any number.
        stamps: the differences that were allowed. They must be shown with every number.
        notes: the context that differs, in words.
        ruler: whether the rulers are the same.
        refusal: the conditions that forbid a comparison.
        unrecorded: the unrecorded conditions that forbid a comparison, in words.
        sheet: all conditions of the ruler.
        context_sheet: all context.
        context: the context that differs, by arm.
        runs: the runs of each arm.
        left_out: all measurements that are not used.
        unmatched: the cases that only one arm has.
        options: the options of the comparison.
        cases: the cases.
        judged: whether there are verdicts; False if runs are only shown side by side.
    """

    headline: str
    ending: str
    exit_code: int
    verdict: Sequence[str]
    summary: str
    warnings: Sequence[str]
    stamps: Sequence[str]
    notes: Sequence[str]
    ruler: Ruler
    refusal: Sheet
    unrecorded: Sequence[str]
    sheet: Sheet
    context_sheet: Sheet
    context: Mapping[str, Any]
    runs: Mapping[str, Sequence[str]]
    left_out: Sequence[LeftOutDocument]
    unmatched: Mapping[str, Sequence[Mapping[str, Any]]]
    options: Mapping[str, Any]
    cases: Sequence[CaseDocument]
    judged: bool


def document(comparison: Comparison, code: Exit = Exit.DONE, reason: str = "") -> Document:
    """Return a comparison as plain data.

    Args:
        comparison: the comparison.
        code: the exit code of the command.
        reason: the reason for the exit code, as a sentence without its full stop; "" for exit code 0.
    """
    found = comparison.gate
    return Document(
        headline=_headline(comparison),
        ending=f"{reason}. (exit {code.value})" if reason else "",
        exit_code=code.value,
        verdict=[row.reason.verdict.value for row in comparison.named] or [Verdict.NOT_COMPARABLE.value],
        summary=ruler_words.summary(comparison),
        warnings=comparison.warnings,
        stamps=list(ruler_words.stamps(comparison)),
        notes=list(_notes(comparison)),
        ruler=Ruler(
            same=found.same,
            comparable=found.comparable,
            differences=_differences(found.differences),
            allowed=_differences(found.allowed),
            not_recorded=dict(found.not_recorded),
            not_recorded_allowed=found.accepts_not_recorded,
        ),
        refusal=_refusal(comparison),
        unrecorded=[]
        if found.accepts_not_recorded
        else [f"{run}: {count} conditions were not recorded" for run, count in found.not_recorded.items()],
        sheet=_sheet(*ruler_words.ruler_columns(comparison), reasons=True),
        context_sheet=_sheet(*ruler_words.context_columns(comparison)),
        context=_differences(comparison.context),
        runs={arm.value: runs for arm, runs in comparison.runs.items()},
        left_out=list(_left_out(comparison)),
        unmatched={arm.value: [_key(key) for key in keys] for arm, keys in comparison.unmatched.items()},
        options={**asdict(comparison.options), "allow": sorted(comparison.options.allow)},
        cases=[_case(case, comparison) for case in comparison.cases],
        judged=not comparison.one_arm,
    )


def _headline(comparison: Comparison) -> str:
    if not comparison.gate.comparable:
        return "NOT THE SAME RULER"
    if not (comparison.compared or comparison.one_arm):
        return "NOTHING COMPARED"
    return "SAME RULER" if comparison.gate.same else "NOT THE SAME RULER, AS ALLOWED"


def _differences(differences: Iterable[Difference]) -> Mapping[str, Any]:
    return {one.attribute: {run: sorted(values, key=str) for run, values in one.values.items()} for one in differences}


def _key(key: Key) -> Mapping[str, Any]:
    return {**key._asdict(), "given": dict(key.given)}


def _notes(comparison: Comparison) -> Iterable[str]:
    if comparison.context and comparison.gate.comparable:
        titles, rows = ruler_words.columns(comparison, comparison.context, by_arm=True)
        for attribute, values in rows:
            yield f"{attribute} differs: " + ", ".join(f"{t} {v}" for t, v in zip(titles, values, strict=True))


def _refusal(comparison: Comparison) -> Sheet:
    if not comparison.gate.differences:
        return Sheet([], [])
    titles, rows = ruler_words.columns(comparison, comparison.gate.differences)
    return Sheet(titles, [ConditionRow(attribute, values, True, why(attribute)) for attribute, values in rows])


def _sheet(titles: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]], *, reasons: bool = False) -> Sheet:
    conditions = [
        ConditionRow(
            attribute,
            values,
            len(set(values)) > 1 or (reasons and any(", " in one or one == "unknown" for one in values)),
            why(attribute) if reasons else "",
        )
        for attribute, values in rows
    ]
    return Sheet(titles, sorted(conditions, key=lambda one: not one.differs))


def _left_out(comparison: Comparison) -> Iterable[LeftOutDocument]:
    for one in comparison.left_out:
        yield LeftOutDocument(
            one.arm.value, one.run, f"{one.key.title}: {one.reason}", f"{one.run}: {one.key.title}: {one.reason}"
        )
    for arm, keys in comparison.unmatched.items():
        for key in keys:
            yield LeftOutDocument(arm.value, key.title, f"only in {arm.value}", f"only in {arm.value}: {key.title}")
    for case in comparison.cases:
        for arm, names in case.alone.items():
            if names:
                reason = f"only {arm.value} measured {', '.join(names)}"
                yield LeftOutDocument(arm.value, case.key.title, reason, f"{case.key.title}: {reason}")
        for row in case.rows:
            if row.role == "named":
                for reason in wording.not_used(row):
                    yield LeftOutDocument(None, case.key.title, reason, f"{case.key.title}: {reason}")


def _case(case: CaseRows, comparison: Comparison) -> CaseDocument:
    return CaseDocument(
        key=_key(case.key),
        title=case.key.title,
        pressure={arm.value: share for arm, share in case.pressure.items()},
        pressure_text=wording.pressure(case),
        overhead={arm.value: one and one._asdict() for arm, one in case.overhead.items()},
        overhead_text=wording.overhead(case),
        rows=[_row(row, comparison) for row in case.rows],
        parts=case.parts,
        series=case.series,
    )


def _row(row: Row, comparison: Comparison) -> RowDocument:
    evidence, options = row.evidence, comparison.options
    minimum, median = evidence.minimum, evidence.median
    return RowDocument(
        name=row.name,
        role=row.role,
        verdict=row.reason.verdict.value,
        reason=row.reason.value[0],
        text=wording.verdict(row, options),
        head=_head(row),
        estimate="" if minimum is None else wording.estimate(minimum),
        median_estimate="" if median is None else wording.estimate(median),
        agreement=wording.agreement(row) if row.pairs else "",
        lines=[*_figures(row), *wording.controls(row), *wording.remarks(row, options)],
        order=[arm.value for arm in evidence.order.arms],
        pairs=[asdict(pair) for pair in row.pairs],
        minimum=_fit(minimum),
        median=_fit(median),
        holm_p=row.holm_p,
        floor_ns=evidence.floor,
        margin=evidence.margin,
        smallest_findable=wording.findable(row),
        pairs_needed=wording.needed(row),
        rounds={
            "cold": row.warm.cold,
            "warm": _warm(row),
            "still_falling": row.warm.falling,
            "failed": row.failed,
            "lacking_a_span": row.lacking,
        },
        surplus=row.surplus,
        too_short=dict(row.short),
        controls={control.name: correlation for control, correlation in row.controls},
    )


def _warm(row: Row) -> int:
    return row.warm.rounds.shape[1] if row.warm.rounds.size else 0


def _fit(fit: Fit | None) -> Mapping[str, Any] | None:
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


def _head(row: Row) -> str:
    order = "".join("B" if arm is Arm.BASE else "M" for arm in row.evidence.order.arms)
    used = f"first {row.warm.cold} dropped as cold, minimum of the next {_warm(row)}"
    role = " (control)" if row.role == "control" else ""
    return f"{row.name}{role}: {wording.count(row.evidence.order.pairs, 'pair')}, order {order or '-'}, {used}"


def _figures(row: Row) -> Iterable[str]:
    """Yield the estimates of minimum and median with their intervals, and the smallest shift that could be found."""
    evidence = row.evidence
    if evidence.minimum is None or evidence.median is None:
        return
    for name, fit in (("minimum", evidence.minimum), ("median", evidence.median)):
        (low, high), (inner_low, inner_high) = fit.interval(0.95), fit.interval(0.90)
        yield (
            f"{name} {wording.percent(fit.delta)}  95 %: {wording.percent(low)} to {wording.percent(high)}"
            f"  90 %: {wording.percent(inner_low)} to {wording.percent(inner_high)}"
        )
    yield f"{wording.agreement(row)}; {wording.resolution(row)}"
    for arm in Arm:
        rounds = warm_of(row, arm)
        unit, size = unit_of(float(np.median(rounds)))
        median, p90, largest = (float(np.quantile(rounds, share)) / size for share in (0.5, 0.9, 1))
        yield f"{arm.value} rounds: median {median:.1f}, p90 {p90:.1f}, max {largest:.1f} {unit}"

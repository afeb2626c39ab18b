"""The rows of a comparison: each is a time that both arms measured of a case, with the verdict on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, median
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from opentelemetry.instrumentation.scenetest.analyse.compare.concurrency import Busy
from opentelemetry.instrumentation.scenetest.analyse.compare.options import OptionError, Options
from opentelemetry.instrumentation.scenetest.analyse.compare.repetitions import DISPATCH, Key, Repetition
from opentelemetry.instrumentation.scenetest.analyse.compare.series import Series, series
from opentelemetry.instrumentation.scenetest.analyse.passes import COLUMNS
from opentelemetry.instrumentation.scenetest.analyse.stats.fit import floor, tick
from opentelemetry.instrumentation.scenetest.analyse.stats.order import Arm, order
from opentelemetry.instrumentation.scenetest.analyse.stats.rounds import Floats, Warm, warm_rounds
from opentelemetry.instrumentation.scenetest.analyse.stats.verdict import (
    Evidence,
    Reason,
    control_moved,
    decide,
    gather,
    holm,
    load_correlation,
)
from opentelemetry.instrumentation.scenetest.conditions.overhead import P50, P99

Role: TypeAlias = Literal["named", "control", "other"]

Group: TypeAlias = "Mapping[Arm, Sequence[Repetition]]"
"""The repetitions of one case by arm."""

PRESSURE_APART = 0.25
"""If the mean CPU pressures of the arms differ by more than this, the arms did not have the same machine in effect."""


@dataclass(frozen=True)
class Pair:
    """The k-th repetition of base beside the k-th of measure: run, fastest round and median round in nanoseconds."""

    base_run: str
    measure_run: str
    base_ns: float
    measure_ns: float
    base_median_ns: float
    measure_median_ns: float


@dataclass(frozen=True)
class Row:
    """One line of a comparison: a time that both arms measured, and the verdict on it.

    Attributes:
        parts: the names whose times are added up within each round.
        role: `named` if it was asked for, `control`, or `other`.
        warm: the rounds that are used, one matrix row for each repetition that was kept.
        evidence: what the verdict is based on.
        pairs: the repetitions side by side.
        series: by arm, all rounds of its repetitions, each with its use.
        surplus: runs of the longer arm that have no partner.
        short: runs that were left out because they had less than half the median number of rounds, with their number.
        median_rounds: that median.
        at_once: the largest number of processes that dispatched at the same time as a repetition that is used.
        reason: the rule that decided.
        holm_p: p, corrected for the number of rows in the family.
        family: how many rows are tested together.
        controls: each control with the correlation of its log minima with those of this row; empty for a control.
    """

    parts: tuple[str, ...]
    role: Role
    warm: Warm
    evidence: Evidence
    pairs: tuple[Pair, ...]
    series: Mapping[Arm, tuple[Series, ...]]
    surplus: tuple[str, ...]
    short: tuple[tuple[str, int], ...]
    median_rounds: float
    at_once: int
    reason: Reason = Reason.NO_PAIR
    holm_p: float = 1.0
    family: int = 1
    controls: tuple[tuple[Row, float | None], ...] = ()

    @property
    def name(self) -> str:
        """What a reader is shown."""
        return " + ".join(self.parts)

    @property
    def failed(self) -> int:
        """How many rounds did not pass."""
        return sum(one.count("failed") for of_arm in self.series.values() for one in of_arm)

    @property
    def lacking(self) -> int:
        """How many rounds have no value because a chosen span is missing."""
        return sum(one.count("lacking") for of_arm in self.series.values() for one in of_arm)


class Overhead(NamedTuple):
    """What an empty dispatch reads as, in nanoseconds: median and 99th percentile."""

    p50_ns: float
    p99_ns: float


@dataclass(frozen=True)
class CaseRows:
    """One case that both arms ran.

    Attributes:
        key: the case.
        repetitions: its repetitions by arm.
        rows: its rows; empty if there is no verdict.
        series: by arm, all rounds of the row that was asked for.
        parts: the names of that row.
        alone: by arm, the names that only this arm measured.
        pressure: by arm, the mean CPU pressure; None if it was not recorded.
        overhead: by arm, the largest reading of an empty dispatch; None if it was not recorded.
    """

    key: Key
    repetitions: Group
    rows: tuple[Row, ...]
    series: Mapping[Arm, tuple[Series, ...]]
    parts: tuple[str, ...]
    alone: Mapping[Arm, tuple[str, ...]] = field(default_factory=dict[Arm, "tuple[str, ...]"])
    pressure: Mapping[Arm, float | None] = field(default_factory=dict[Arm, "float | None"])
    overhead: Mapping[Arm, Overhead | None] = field(default_factory=dict[Arm, "Overhead | None"])

    @property
    def pressure_apart(self) -> bool:
        """Whether one arm waited for CPUs much more than the other."""
        base, measure = self.pressure.get(Arm.BASE), self.pressure.get(Arm.MEASURE)
        return base is not None and measure is not None and abs(base - measure) >= PRESSURE_APART


def judged(groups: Mapping[Key, Group], options: Options, busy: Mapping[Busy, int]) -> tuple[CaseRows, ...]:
    """Return the rows of every case with their verdicts.

    Args:
        groups: the repetitions of each case that both arms ran.
        options: what was asked for.
        busy: for each busy time, how many processes were busy at once.

    Raises:
        OptionError: a name that was asked for was not measured in both arms, or a control is what is tested.
    """
    names = {key: _names(group) for key, group in groups.items()}
    everywhere = list(dict.fromkeys(name for of_case in names.values() for name in of_case))
    asked = tuple(dict.fromkeys(_resolve(name, everywhere, "sum") for name in options.sum)) if groups else ()
    controls = [_resolve(name, everywhere, "controls") for name in options.controls] if groups else []
    cases: list[CaseRows] = []
    for key, group in groups.items():
        measured = names[key]
        named = asked or (DISPATCH if DISPATCH in measured or not measured else measured[0],)
        rows: dict[tuple[str, ...], Role] = {named: "named"}
        for name in controls:
            if named == (name,):
                raise OptionError("controls", name, "this is what is tested; name another control, or another sum")
        rows |= {(name,): "control" for name in controls}
        rows = {**{(name,): "other" for name in measured}, **rows}
        in_order = sorted(rows.items(), key=lambda row: ("named", "control", "other").index(row[1]))
        made = tuple(_row(role, parts, group, options, busy) for parts, role in in_order)
        pressure = {arm: _mean([one.pressure for one in group[arm]]) for arm in Arm}
        overhead = {arm: overhead_of(group[arm]) for arm in Arm}
        cases.append(CaseRows(key, group, made, made[0].series, named, _alone(group), pressure, overhead))
    return _decided(cases)


def described(key: Key, repetitions: Sequence[Repetition], options: Options) -> CaseRows:
    """Return the rounds of a case of one arm, without a verdict."""
    names = list(dict.fromkeys(name for one in repetitions for name in _names_of(one)))
    parts = (DISPATCH,) if DISPATCH in names or not names else (names[0],)
    shown = [series(one, parts, options.cold) for one in repetitions]
    longest = max(map(len, shown), default=0)
    group: Group = {Arm.BASE: repetitions, Arm.MEASURE: ()}
    return CaseRows(key, group, (), {Arm.BASE: tuple(one.cut(options.cold, longest) for one in shown)}, parts)


def warm_of(row: Row, arm: Arm) -> Floats:
    """Return the warm rounds of a row's paired repetitions of one arm. They are only shown."""
    order = row.evidence.order
    return row.warm.rounds[list(order.base if arm is Arm.BASE else order.measure)].ravel()


def _names(group: Group) -> list[str]:
    """Return what both arms measured: the dispatch, the users' figures, then the spans that are not a figure."""
    base, measure = (_of_arm(group, arm) for arm in Arm)
    both = base & measure
    figures = [figure for figure in COLUMNS if figure in both]
    shown = {COLUMNS[figure][0] for figure in figures if len(COLUMNS[figure]) == 1}
    spans = sorted(both - {DISPATCH, *figures, *shown})
    return [*([DISPATCH] if DISPATCH in both else []), *figures, *spans]


def _alone(group: Group) -> Mapping[Arm, tuple[str, ...]]:
    """Return what only one arm measured, by arm."""
    base, measure = (_of_arm(group, arm) for arm in Arm)
    return {Arm.BASE: tuple(sorted(base - measure)), Arm.MEASURE: tuple(sorted(measure - base))}


def _of_arm(group: Group, arm: Arm) -> set[str]:
    return {name for one in group[arm] for name in _names_of(one)}


def _names_of(repetition: Repetition) -> Iterable[str]:
    if repetition.rounds.where(lambda kind: not kind.waited_for).any():
        yield DISPATCH
    for ranks in repetition.rounds.ranks.values():
        for rank in ranks.values():
            yield from rank.durations


def _resolve(name: str, names: Sequence[str], option: Literal["sum", "controls"]) -> str:
    """Return the row that a user means by a whole name, the name of a figure, or the end of one span's name.

    Raises:
        OptionError: there is none, or there are several.
    """
    shown_as = {parts[0]: figure for figure, parts in COLUMNS.items() if len(parts) == 1}
    figures = (one for one in COLUMNS if name.lower() in (one.lower(), one.lower().split()[0]))
    for meant in (shown_as.get(name, name), *figures):
        if meant in names:
            return meant
    ends = [one for one in names if one.endswith(f".{name}")]
    if len(ends) == 1:
        return ends[0]
    if ends:
        raise OptionError(option, name, f"several spans end so; say which: {', '.join(ends)}")
    raise OptionError(option, name, f"not measured in both arms; these are: {', '.join(names)}")


def _row(role: Role, parts: tuple[str, ...], group: Group, options: Options, busy: Mapping[Busy, int]) -> Row:
    repetitions = [*group[Arm.BASE], *group[Arm.MEASURE]]
    arms = [arm for arm in Arm for _ in group[arm]]
    read = [series(one, parts, options.cold) for one in repetitions]
    counted = [one.candidates for one in read]
    warm = warm_rounds([one.times[chosen] for one, chosen in zip(read, counted, strict=True)], options.cold)
    kept = warm.kept if warm.rounds.size else ()
    in_time = order(
        [arms[i] for i in kept],
        [int(read[i].of.starts[counted[i][warm.cold]]) for i in kept],
        [int(read[i].of.ends[counted[i][-1]]) for i in kept],
    )
    used = [repetitions[kept[i]] for i in in_time.used]
    at_once = max((busy[time] for one in used for time in one.busy), default=1)
    if not options.accepts_concurrency:
        in_time = replace(in_time, overlapping=in_time.overlapping or at_once > 1)
    else:
        in_time = replace(in_time, overlapping=False)
    minima, medians = (warm.minima, warm.medians) if kept else (np.empty(0), np.empty(0))
    label = [repetitions[i].run for i in kept]
    columns = warm.rounds.shape[1] if kept else 0
    cut = [one.cut(warm.cold, columns if i in kept else 0) for i, one in enumerate(read)]
    return Row(
        parts=parts,
        role=role,
        warm=warm,
        evidence=gather(minima, medians, in_time, _floor(parts, group, read, options), options.margin),
        pairs=tuple(
            Pair(label[b], label[m], float(minima[b]), float(minima[m]), float(medians[b]), float(medians[m]))
            for b, m in zip(in_time.base, in_time.measure, strict=True)
        ),
        series={arm: tuple(one for one, of in zip(cut, arms, strict=True) if of is arm) for arm in Arm},
        surplus=tuple(label[i] for i in in_time.surplus),
        short=tuple((one.run, len(counted[i])) for i, one in enumerate(repetitions) if i not in warm.kept),
        median_rounds=median(map(len, counted)) if counted else 0,
        at_once=at_once,
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known and len(known) == len(values) else None


def _floor(parts: tuple[str, ...], group: Group, read: Sequence[Series], options: Options) -> float:
    repetitions = [*group[Arm.BASE], *group[Arm.MEASURE]]
    raw = np.concatenate([one.times[one.candidates] for one in read])
    device = any(one.device_names.issuperset(parts) for one in repetitions)
    bases = len(group[Arm.BASE])
    base, measure = (fmean(one.inside for one in of_arm) for of_arm in (read[:bases], read[bases:]))
    resolution = options.resolution_ns
    if DISPATCH in parts:
        # Native spans lie between clock reads of the harness's own, and ours are not in them.
        known = [one for arm in Arm if (one := overhead_of(group[arm])) is not None]
        resolution = max([resolution, *(max(one.p50_ns, one.p99_ns) for one in known)])
    return floor(tick(raw, device=device), resolution, (base, measure))


def overhead_of(repetitions: Sequence[Repetition]) -> Overhead | None:
    """Return the largest reading of an empty dispatch over several processes; None if none recorded it."""
    conditions = [one.rounds[0].conditions for one in repetitions if one.rounds]
    found = [(one.get(P50), one.get(P99)) for one in conditions]
    known = [
        (float(p50), float(p99)) for p50, p99 in found if isinstance(p50, int | float) and isinstance(p99, int | float)
    ]
    return Overhead(max(p50 for p50, _ in known), max(p99 for _, p99 in known)) if known else None


def _decided(cases: Sequence[CaseRows]) -> tuple[CaseRows, ...]:
    """Give every row its verdict. The rows that were asked for are one family over all cases; so are all other rows."""
    families = [[row for case in cases for row in case.rows if row.role == role] for role in ("named", "other")]
    families += [[row for row in case.rows if row.role == "control"] for case in cases]
    within: dict[int, tuple[float, int]] = {}
    for rows in families:
        for row, p in zip(rows, holm([row.evidence.p for row in rows]), strict=True):
            within[id(row)] = p, len(rows)
    return tuple(replace(case, rows=_judge_case(case, within)) for case in cases)


def _judge_case(case: CaseRows, within: Mapping[int, tuple[float, int]]) -> tuple[Row, ...]:
    controls = [row for row in case.rows if row.role == "control"]
    moved = control_moved([row.evidence for row in controls])
    apart = case.pressure_apart

    def judge(row: Row) -> Row:
        p, family = within[id(row)]
        if row.role == "control":
            return replace(row, reason=decide(row.evidence, holm_p=p), holm_p=p, family=family)
        return replace(
            row,
            reason=decide(row.evidence, holm_p=p, control_moved=moved, pressure_apart=apart),
            holm_p=p,
            family=family,
            controls=tuple((control, load_correlation(row.evidence, control.evidence)) for control in controls),
        )

    return tuple(judge(row) for row in case.rows)

"""The rows of a comparison: what both arms measured of a case, each judged by what it rests on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Literal, TypeAlias

import numpy as np

from opentelemetry.instrumentation.scenetest.analyse.compare.repetitions import DISPATCH, Key, Repetition, Round
from opentelemetry.instrumentation.scenetest.analyse.passes import COLUMNS
from opentelemetry.instrumentation.scenetest.analyse.stats.fit import floor, tick
from opentelemetry.instrumentation.scenetest.analyse.stats.order import Arm, order
from opentelemetry.instrumentation.scenetest.analyse.stats.rounds import Warm, round_total, warm_rounds
from opentelemetry.instrumentation.scenetest.analyse.stats.verdict import (
    Evidence,
    Reason,
    control_moved,
    decide,
    gather,
    holm,
    load_correlation,
)
from opentelemetry.instrumentation.scenetest.errors import BadInputError

Role: TypeAlias = Literal["named", "control", "other"]

Group: TypeAlias = "Mapping[Arm, Sequence[Repetition]]"
"""The repetitions of one case by arm."""


@dataclass(frozen=True)
class Options:
    """What the user can ask for.

    Attributes:
        cold: rounds dropped at the start in any case.
        margin: the fraction within which two times are the same.
        resolution_ns: the least difference worth telling.
        sum: names of spans or figures, summed within each round: the row that is tested. Else the dispatch is.
        controls: rows that the change can't have touched.
        allow: ruler conditions whose differences are accepted.
    """

    cold: int = 1
    margin: float = 0.05
    resolution_ns: float = 100.0
    sum: tuple[str, ...] = ()
    controls: tuple[str, ...] = ()
    allow: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Pair:
    """The k-th repetition of the base beside the k-th of the measure: run, fastest and median round in ns."""

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
        parts: the names whose times are summed within each round.
        role: whether it is what was asked for, a control, or one of many.
        warm: the rounds that are used, one row a repetition that was kept.
        evidence: what the verdict rests on.
        pairs: the repetitions side by side.
        surplus: runs of the longer arm that have no partner.
        short: runs left out because they had under half the median number of rounds.
        aborted: rounds that did not run to their end.
        lacking: rounds without a value, because a chosen span is missing.
        reason: the rule that decided.
        holm_p: p within the family of rows.
        controls: of a row that is none: each control, with the correlation of both rows' log minima.
    """

    parts: tuple[str, ...]
    role: Role
    warm: Warm
    evidence: Evidence
    pairs: tuple[Pair, ...]
    surplus: tuple[str, ...]
    short: tuple[str, ...]
    aborted: int
    lacking: int
    reason: Reason = Reason.NO_PAIR
    holm_p: float = 1.0
    controls: tuple[tuple[Row, float | None], ...] = ()

    @property
    def name(self) -> str:
        """As the reader knows it."""
        return " + ".join(self.parts)


@dataclass(frozen=True)
class CaseRows:
    """One case that both arms ran."""

    key: Key
    repetitions: Group
    rows: tuple[Row, ...]


def judged(groups: Mapping[Key, Group], options: Options) -> tuple[CaseRows, ...]:
    """Return the rows of every case with their verdicts.

    Raises:
        BadInputError: a name that was asked for is not measured in both arms, or what is tested is to be a control.
    """
    names = {key: _names(group) for key, group in groups.items()}
    everywhere = list(dict.fromkeys(name for of_case in names.values() for name in of_case))
    asked = tuple(dict.fromkeys(_resolve(name, everywhere, "--sum") for name in options.sum))
    controls = [_resolve(name, everywhere, "--control") for name in options.controls]
    cases: list[CaseRows] = []
    for key, group in groups.items():
        measured = names[key]
        named = asked or (DISPATCH if DISPATCH in measured else measured[0],)
        rows: dict[tuple[str, ...], Role] = {named: "named"}
        for name in controls:
            if named == (name,):
                raise BadInputError(f"--control {name}: this is what is tested; name another control, or a --sum")
        rows |= {(name,): "control" for name in controls}
        rows = {**{(name,): "other" for name in measured}, **rows}
        in_order = sorted(rows.items(), key=lambda row: ("named", "control", "other").index(row[1]))
        cases.append(CaseRows(key, group, tuple(_row(role, parts, group, options) for parts, role in in_order)))
    return _decided(cases)


def warm_of(row: Row, arm: Arm) -> list[float]:
    """Return the warm rounds of a row's paired repetitions of one arm, for what is shown and never judged."""
    order = row.evidence.order
    return [float(time) for i in (order.base if arm is Arm.BASE else order.measure) for time in row.warm.rounds[i]]


def _names(group: Group) -> list[str]:
    """What both arms measured: the dispatch, the users' figures, then the spans that are no figure by themselves."""
    base, measure = ({name for one in group[arm] for name in _names_of(one)} for arm in Arm)
    both = base & measure
    figures = [figure for figure in COLUMNS if figure in both]
    shown = {COLUMNS[figure][0] for figure in figures if len(COLUMNS[figure]) == 1}
    spans = sorted(both - {DISPATCH, *figures, *shown})
    return [*([DISPATCH] if DISPATCH in both else []), *figures, *spans]


def _names_of(repetition: Repetition) -> Iterable[str]:
    for one in repetition.rounds:
        if not one.waited_for:
            yield DISPATCH
        for rank in one.ranks.values():
            yield from rank.durations


def _resolve(name: str, names: Sequence[str], option: str) -> str:
    """Return the row that a user means: its whole name, that of a figure, or the end of one span's name.

    Raises:
        BadInputError: there is none, or there are several.
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
        raise BadInputError(f"{option} {name}: several spans end so; say which: {', '.join(ends)}")
    raise BadInputError(f"{option} {name}: not measured in both arms; these are: {', '.join(names)}")


def _row(role: Role, parts: tuple[str, ...], group: Group, options: Options) -> Row:
    repetitions = [*group[Arm.BASE], *group[Arm.MEASURE]]
    arms = [arm for arm in Arm for _ in group[arm]]
    read = [_read(one, parts, options.cold) for one in repetitions]
    warm = warm_rounds([one.times for one in read], options.cold)
    kept = warm.kept if warm.rounds.size else ()
    rounds = [read[i].rounds for i in kept]
    in_time = order(
        [arms[i] for i in kept],
        [of_one[warm.cold].start_ns for of_one in rounds],
        [of_one[-1].end_ns or of_one[-1].start_ns for of_one in rounds],
    )
    minima, medians = (warm.minima, warm.medians) if kept else (np.empty(0), np.empty(0))
    label = [repetitions[i].run for i in kept]
    return Row(
        parts=parts,
        role=role,
        warm=warm,
        evidence=gather(minima, medians, in_time, _floor(parts, group, read, options), options.margin),
        pairs=tuple(
            Pair(label[b], label[m], float(minima[b]), float(minima[m]), float(medians[b]), float(medians[m]))
            for b, m in zip(in_time.base, in_time.measure, strict=True)
        ),
        surplus=tuple(label[i] for i in in_time.surplus),
        short=tuple(one.run for i, one in enumerate(repetitions) if i not in warm.kept),
        aborted=sum(one.aborted for one in read),
        lacking=sum(one.lacking for one in read),
    )


@dataclass(frozen=True)
class _Read:
    """One row's times in one repetition, with the rounds that they are of."""

    times: list[float]
    rounds: list[Round]
    aborted: int
    lacking: int
    inside: float


def _read(repetition: Repetition, parts: tuple[str, ...], cold: int) -> _Read:
    # The first cold rounds stay: how many of them are dropped is found for all repetitions together.
    again = {begin + i for begin in repetition.begins if begin for i in range(min(cold, len(repetition.rounds)))}
    rounds = [one for i, one in enumerate(repetition.rounds) if i not in again]
    ended = [one for one in rounds if one.ended]
    timed = [(time, one) for one in ended if (time := time_of(one, parts)) is not None]
    return _Read(
        times=[time for time, _ in timed],
        rounds=[one for _, one in timed],
        aborted=len(rounds) - len(ended),
        lacking=len(ended) - len(timed),
        inside=fmean(_inside(one, parts) for _, one in timed) if timed else 0.0,
    )


def _floor(parts: tuple[str, ...], group: Group, read: Sequence[_Read], options: Options) -> float:
    repetitions = [*group[Arm.BASE], *group[Arm.MEASURE]]
    raw = np.array([time for one in read for time in one.times], dtype=np.float64)
    device = any(one.device_names.issuperset(parts) for one in repetitions)
    bases = len(group[Arm.BASE])
    base, measure = (fmean(one.inside for one in of_arm) for of_arm in (read[:bases], read[bases:]))
    return floor(tick(raw, device=device), options.resolution_ns, (base, measure))


def _inside(one: Round, parts: tuple[str, ...]) -> int:
    """How many markers the rank with the most of them wrote inside the chosen spans."""
    return max((sum(rank.inside.get(name, 0) for name in parts) for rank in one.ranks.values()), default=0)


def time_of(one: Round, parts: tuple[str, ...]) -> int | None:
    """Return what a round took under these names, in ns; None where it lacks one of them."""
    if parts == (DISPATCH,):
        return None if one.waited_for or one.end_ns is None else one.end_ns - one.start_ns
    return round_total({pid: rank.durations.items() for pid, rank in one.ranks.items()}, parts)


def _decided(cases: Sequence[CaseRows]) -> tuple[CaseRows, ...]:
    """Decide on every row: what was asked for within its family over the cases, all others within theirs."""
    adjusted: dict[int, float] = {}
    for role in ("named", "other"):
        rows = [row for case in cases for row in case.rows if row.role == role]
        adjusted |= dict(zip(map(id, rows), holm([row.evidence.p for row in rows]), strict=True))
    return tuple(replace(case, rows=_judge_case(case, adjusted)) for case in cases)


def _judge_case(case: CaseRows, adjusted: Mapping[int, float]) -> tuple[Row, ...]:
    controls = [row for row in case.rows if row.role == "control"]
    of_controls = dict(zip(map(id, controls), holm([row.evidence.p for row in controls]), strict=True))
    moved = control_moved([row.evidence for row in controls])

    def judge(row: Row) -> Row:
        if row.role == "control":
            p = of_controls[id(row)]
            return replace(row, reason=decide(row.evidence, holm_p=p), holm_p=p)
        p = adjusted[id(row)]
        return replace(
            row,
            reason=decide(row.evidence, holm_p=p, control_moved=moved),
            holm_p=p,
            controls=tuple((control, load_correlation(row.evidence, control.evidence)) for control in controls),
        )

    return tuple(judge(row) for row in case.rows)

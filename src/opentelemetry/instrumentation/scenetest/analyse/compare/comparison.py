"""The comparison of two arms. If the rulers differ, it has no numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from opentelemetry.instrumentation.scenetest.analyse.compare import gate
from opentelemetry.instrumentation.scenetest.analyse.compare.concurrency import CONCURRENCY, Busy, at_once
from opentelemetry.instrumentation.scenetest.analyse.compare.gate import Difference, Gate
from opentelemetry.instrumentation.scenetest.analyse.compare.options import Options, check_allowed
from opentelemetry.instrumentation.scenetest.analyse.compare.repetitions import Key, Repetition
from opentelemetry.instrumentation.scenetest.analyse.compare.rows import CaseRows, Row, described, judged
from opentelemetry.instrumentation.scenetest.analyse.compare.series import cold_ones
from opentelemetry.instrumentation.scenetest.analyse.stats.order import Arm
from opentelemetry.instrumentation.scenetest.conditions.table import CONDITIONS, RULER
from opentelemetry.instrumentation.scenetest.conditions.values import NOT_RECORDED, Value

REVISION = "vcs.ref.head.revision"
BUILD = "scenetest.native.build_ids"
HOST = "host.name"

COMPARED_CONDITIONS = (*RULER, *gate.EXTRA)
"""What must be equal: the recorded ruler conditions, and what is derived from the record."""


@dataclass(frozen=True)
class LeftOut:
    """A repetition that is left out, or that failed.

    Attributes:
        arm: its arm.
        run: its run.
        key: what it measured.
        reason: why it is left out, or how it failed.
    """

    arm: Arm
    run: str
    key: Key
    reason: str


@dataclass(frozen=True)
class Comparison:
    """What can be said about two arms.

    Attributes:
        options: what was asked for.
        runs: the runs of each arm, in time order.
        recorded: by run, the distinct conditions of the rounds that are compared.
        gate: whether the rulers are the same; if not, there are no cases.
        context: other conditions that differ between the arms.
        warnings: what a reader must know before reading any number.
        cases: the cases that both arms ran.
        unmatched: by arm, the cases that the other arm did not run.
        left_out: repetitions that were measured and are not used.
        taken: repetitions that failed and are used because the user allowed that.
        processes: how many processes are compared.
        one_arm: the runs are only listed side by side, without a verdict.
    """

    options: Options
    runs: Mapping[Arm, tuple[str, ...]]
    recorded: gate.Recorded
    gate: Gate
    context: tuple[Difference, ...]
    warnings: tuple[str, ...]
    cases: tuple[CaseRows, ...]
    unmatched: Mapping[Arm, tuple[Key, ...]]
    left_out: tuple[LeftOut, ...]
    taken: tuple[LeftOut, ...]
    processes: int
    one_arm: bool = False

    @property
    def named(self) -> list[Row]:
        """The rows that were asked for: they decide the exit code."""
        return [row for case in self.cases for row in case.rows if row.role == "named"]

    @property
    def compared(self) -> bool:
        """Whether any row that was asked for has a pair."""
        return any(row.pairs for row in self.named)


def compare(base: Sequence[Repetition], measure: Sequence[Repetition], options: Options) -> Comparison:
    """Compare two arms.

    Raises:
        OptionError: a name that was asked for is in neither arm, or something can't be allowed.
    """
    check_allowed(options.allow)
    arms = _completed({Arm.BASE: base, Arm.MEASURE: measure})
    used, left_out, taken = _usable(arms, options)
    keys = {arm: {one.key for one in repetitions} for arm, repetitions in used.items()}
    both = sorted(keys[Arm.BASE] & keys[Arm.MEASURE], key=str)
    groups = {key: {arm: [one for one in used[arm] if one.key == key] for arm in Arm} for key in both}
    compared = list(groups.values()) or [used if all(used.values()) else arms]
    busy = _at_once([*base, *measure])
    recorded = [_by_run([*group[Arm.BASE], *group[Arm.MEASURE]], options, busy) for group in compared]
    found = _merged([gate.check(of_case, COMPARED_CONDITIONS, options.allow) for of_case in recorded])
    by_arm = {arm.value: _distinct((one for group in compared for one in group[arm]), options, busy) for arm in Arm}
    of_all = [one for group in compared for arm in Arm for one in group[arm]]
    return Comparison(
        options=options,
        runs={arm: tuple(dict.fromkeys(one.run for one in _in_time(arms[arm]))) for arm in Arm},
        recorded=_by_run(of_all, options, busy),
        gate=found,
        context=tuple(gate.differing(by_arm, _CONTEXT)),
        warnings=tuple(_warnings(by_arm)),
        cases=judged(groups, options, busy) if found.comparable else (),
        unmatched={arm: tuple(sorted(keys[arm] - set(both), key=str)) for arm in Arm},
        left_out=tuple(left_out),
        taken=tuple(taken),
        processes=len({(one.run, one.pid) for one in of_all}),
    )


def describe(repetitions: Sequence[Repetition], options: Options) -> Comparison:
    """Put the runs of one arm side by side: their rulers and rounds, without a verdict.

    Raises:
        OptionError: something can't be allowed.
    """
    check_allowed(options.allow)
    groups: dict[Key, list[Repetition]] = {}
    for one in repetitions:
        groups.setdefault(one.key, []).append(one)
    busy = _at_once(repetitions)
    recorded = _by_run(repetitions, options, busy)
    found = [gate.check(_by_run(group, options, busy), COMPARED_CONDITIONS, options.allow) for group in groups.values()]
    return Comparison(
        options=options,
        runs={Arm.BASE: tuple(recorded), Arm.MEASURE: ()},
        recorded=recorded,
        gate=_merged(found),
        context=(),
        warnings=tuple(f"{one.run}: {one.key.title}: {why}" for one in repetitions if (why := _why_not(one))),
        cases=tuple(described(key, group, options) for key, group in groups.items()),
        unmatched={},
        left_out=(),
        taken=(),
        processes=len({(one.run, one.pid) for one in repetitions}),
        one_arm=True,
    )


_CONTEXT = [key for key, one in CONDITIONS.items() if one.use == "context" and not one.measured]
"""The context that is worth comparing: measured values, such as the CPU pressure, always differ."""

_ENDINGS = {
    "fail": "failed",
    "error": "ended in an error",
    "aborted": "never ended",
    "running": "is still running",
    "skipped": "was skipped",
}


def _usable(
    arms: Mapping[Arm, Sequence[Repetition]], options: Options
) -> tuple[dict[Arm, list[Repetition]], list[LeftOut], list[LeftOut]]:
    """Return the repetitions of each arm that are used, those left out, and failed ones that are used all the same.

    A repetition that failed may have computed, and so measured, something else.
    """
    used: dict[Arm, list[Repetition]] = {}
    left_out: list[LeftOut] = []
    taken: list[LeftOut] = []
    for arm, repetitions in arms.items():
        used[arm] = []
        known: dict[tuple[str, Key], str] = {}
        for one in repetitions:
            copy_of = known.setdefault((one.id or f"{one.run} {one.pid}", one.key), one.run)
            reason = _why_not(one)
            if copy_of != one.run:
                left_out.append(LeftOut(arm, one.run, one.key, f"it is a copy of {copy_of}"))
            elif reason and not options.takes_failed:
                left_out.append(LeftOut(arm, one.run, one.key, reason))
            else:
                used[arm].append(one)
                taken += [LeftOut(arm, one.run, one.key, reason)] if reason else []
    return used, left_out, taken


def _why_not(one: Repetition) -> str:
    case = f"the case {_ENDINGS[one.outcome]}" if one.outcome in _ENDINGS else ""
    return " and ".join(filter(None, (case, one.failed)))


def _completed(arms: Mapping[Arm, Sequence[Repetition]]) -> dict[Arm, list[Repetition]]:
    """Complete the key of a case whose log does not hold all of it, if only one other case matches."""
    whole = {one.key for repetitions in arms.values() for one in repetitions if NOT_RECORDED not in one.key}

    def complete(one: Repetition) -> Repetition:
        if NOT_RECORDED not in one.key:
            return one
        fits = [key for key in whole if all(a in (NOT_RECORDED, b) for a, b in zip(one.key, key, strict=True))]
        return replace(one, key=fits[0]) if len(fits) == 1 else one

    return {arm: [complete(one) for one in repetitions] for arm, repetitions in arms.items()}


AtOnce = Mapping[Busy, int]
"""For each busy time, how many processes were busy at once."""


def _at_once(repetitions: Iterable[Repetition]) -> AtOnce:
    return at_once(dict.fromkeys(busy for one in repetitions for busy in (*one.activity, *one.busy)))


def _conditions(one: Repetition, options: Options, busy: AtOnce) -> Iterable[Mapping[str, Value]]:
    """Yield the conditions of the warm rounds, or of all rounds if none is warm."""
    warm = ~cold_ones(one, options.cold)
    concurrency = max((busy[time] for time in one.busy), default=1)
    for conditions in one.rounds.conditions(warm if warm.any() else ~warm):
        yield {**conditions, CONCURRENCY: concurrency}


def _distinct(repetitions: Iterable[Repetition], options: Options, busy: AtOnce) -> list[Mapping[str, Value]]:
    found = (conditions for one in repetitions for conditions in _conditions(one, options, busy))
    return list({repr(sorted(conditions.items())): conditions for conditions in found}.values())


def _by_run(repetitions: Iterable[Repetition], options: Options, busy: AtOnce) -> dict[str, list[Mapping[str, Value]]]:
    by_run: dict[str, list[Mapping[str, Value]]] = {}
    for one in _in_time(repetitions):
        by_run.setdefault(one.run, []).extend(_distinct([one], options, busy))
    return by_run


def _merged(gates: Sequence[Gate]) -> Gate:
    """Return one gate for all cases: a condition that differs in several cases is listed once."""

    def once(differences: Iterable[Difference]) -> tuple[Difference, ...]:
        found: dict[str, dict[str, gate.Seen]] = {}
        for one in differences:
            values = found.setdefault(one.attribute, {})
            for run, seen in one.values.items():
                values[run] = values.get(run, frozenset()) | seen
        return tuple(Difference(attribute, values) for attribute, values in found.items())

    return Gate(
        differences=once(one for each in gates for one in each.differences),
        allowed=once(one for each in gates for one in each.allowed),
        not_recorded={run: count for each in gates for run, count in each.not_recorded.items()},
        accepts_not_recorded=any(each.accepts_not_recorded for each in gates),
    )


def _warnings(by_arm: gate.Recorded) -> Iterable[str]:
    revisions, builds, hosts = (
        {one.get(key) for conditions in by_arm.values() for one in conditions} for key in (REVISION, BUILD, HOST)
    )
    if len(revisions) > 1 and len(builds) == 1 and builds != {None}:
        yield "the arms are of different revisions and ran the same native build: is one of them stale?"
    known = sorted(str(host) for host in hosts - {None})  # a log alone does not tell its host
    if len(known) > 1:
        yield f"the runs are from different hosts: {', '.join(known)}"


def _in_time(repetitions: Iterable[Repetition]) -> list[Repetition]:
    return sorted(repetitions, key=lambda one: one.rounds[0].start_ns)

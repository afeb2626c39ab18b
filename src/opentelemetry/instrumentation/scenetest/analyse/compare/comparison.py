"""Two arms held against each other: the same ruler or no number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from opentelemetry.instrumentation.scenetest.analyse.compare import gate
from opentelemetry.instrumentation.scenetest.analyse.compare.gate import Difference, Gate
from opentelemetry.instrumentation.scenetest.analyse.compare.repetitions import Key, Repetition, Round
from opentelemetry.instrumentation.scenetest.analyse.compare.rows import CaseRows, Options, Row, judged
from opentelemetry.instrumentation.scenetest.analyse.stats.order import Arm
from opentelemetry.instrumentation.scenetest.conditions.groups import GROUPS
from opentelemetry.instrumentation.scenetest.conditions.table import CONDITIONS, RULER
from opentelemetry.instrumentation.scenetest.conditions.values import NOT_RECORDED, Value
from opentelemetry.instrumentation.scenetest.errors import BadInputError

REVISION = "vcs.ref.head.revision"
BUILD = "scenetest.native.build_ids"
HOST = "host.name"


@dataclass(frozen=True)
class Comparison:
    """What can be said about two arms.

    Attributes:
        options: what was asked for.
        runs: the runs of each arm, in time order.
        recorded: by run, the distinct conditions of the rounds that are compared.
        gate: whether the rulers are the same; if not, there are no cases.
        context: other conditions that the arms differ in.
        warnings: what a reader must know before any number.
        cases: the cases that both arms ran.
        unmatched: the cases of one arm that the other lacks.
        left_out: what was measured and is not used, with the reason.
    """

    options: Options
    runs: Mapping[Arm, tuple[str, ...]]
    recorded: gate.Recorded
    gate: Gate
    context: tuple[Difference, ...]
    warnings: tuple[str, ...]
    cases: tuple[CaseRows, ...]
    unmatched: Mapping[Arm, tuple[Key, ...]]
    left_out: tuple[str, ...]

    @property
    def named(self) -> list[Row]:
        """The rows that were asked for: they decide the exit code."""
        return [row for case in self.cases for row in case.rows if row.role == "named"]


def compare(base: Sequence[Repetition], measure: Sequence[Repetition], options: Options) -> Comparison:
    """Compare two arms.

    Raises:
        BadInputError: no case is in both, or a name that was asked for is in none of them.
    """
    _check_allowed(options)
    arms = _completed({Arm.BASE: base, Arm.MEASURE: measure})
    used, left_out = _passed(arms)
    keys = {arm: {one.key for one in repetitions} for arm, repetitions in used.items()}
    both = sorted(keys[Arm.BASE] & keys[Arm.MEASURE], key=str)
    groups = {key: {arm: [one for one in used[arm] if one.key == key] for arm in Arm} for key in both}
    compared = list(groups.values()) or [used]
    recorded = [_by_run([*group[Arm.BASE], *group[Arm.MEASURE]], options) for group in compared]
    found = _merged([gate.check(of_case, RULER, options.allow) for of_case in recorded])
    if not both and found.same:
        raise BadInputError(_nothing_in_common(keys))
    by_arm = {arm.value: [one for group in compared for one in _conditions(group[arm], options)] for arm in Arm}
    return Comparison(
        options=options,
        runs={arm: tuple(dict.fromkeys(one.run for one in _in_time(arms[arm]))) for arm in Arm},
        recorded=_by_run([one for group in compared for arm in Arm for one in group[arm]], options),
        gate=found,
        context=tuple(gate.differing(by_arm, _CONTEXT)),
        warnings=tuple(_warnings(by_arm)),
        cases=judged(groups, options) if found.same else (),
        unmatched={arm: tuple(sorted(keys[arm] - set(both), key=str)) if both else () for arm in Arm},
        left_out=tuple(left_out),
    )


def describe(repetitions: Sequence[Repetition], options: Options) -> Comparison:
    """Put runs side by side that are of one arm: their rulers and rounds, and no verdict."""
    _check_allowed(options)
    groups: dict[Key, list[Repetition]] = {}
    for one in repetitions:
        groups.setdefault(one.key, []).append(one)
    recorded = _by_run(repetitions, options)
    found = _merged([gate.check(_by_run(group, options), RULER, options.allow) for group in groups.values()])
    return Comparison(
        options=options,
        runs={Arm.BASE: tuple(recorded), Arm.MEASURE: ()},
        recorded=recorded,
        gate=found,
        context=(),
        warnings=(),
        cases=tuple(CaseRows(key, {Arm.BASE: group, Arm.MEASURE: []}, ()) for key, group in groups.items()),
        unmatched={},
        left_out=(),
    )


_CONTEXT = [key for key, one in CONDITIONS.items() if one.use == "context" and one.type is not float]
"""Measured context, such as the pressure on the CPU, differs always."""


def _check_allowed(options: Options) -> None:
    for key in options.allow - {*RULER, gate.ALLOW_NOT_RECORDED}:
        near = get_close_matches(key, (*RULER, *GROUPS), n=1, cutoff=0.4)
        hint = f"; do you mean {near[0]}?" if near else ""
        raise BadInputError(f"--allow {key}: this is no condition of the ruler and no group of them{hint}")


def _passed(arms: Mapping[Arm, Sequence[Repetition]]) -> tuple[dict[Arm, list[Repetition]], list[str]]:
    """Leave out the cases that failed: whoever computes something else measures something else."""
    used: dict[Arm, list[Repetition]] = {}
    left_out: list[str] = []
    for arm, repetitions in arms.items():
        failed = [one for one in repetitions if one.outcome in ("fail", "error")]
        used[arm] = [one for one in repetitions if one not in failed]
        left_out += [f"{one.run}: {one.key.title} ended with {one.outcome}" for one in failed]
    return used, left_out


def _completed(arms: Mapping[Arm, Sequence[Repetition]]) -> dict[Arm, list[Repetition]]:
    """Take a case whose log does not tell all of its key for the one case that it can be."""
    whole = {one.key for repetitions in arms.values() for one in repetitions if NOT_RECORDED not in one.key}

    def complete(one: Repetition) -> Repetition:
        fits = [key for key in whole if all(a in (NOT_RECORDED, b) for a, b in zip(one.key, key, strict=True))]
        return replace(one, key=fits[0]) if len(fits) == 1 else one

    return {arm: [complete(one) for one in repetitions] for arm, repetitions in arms.items()}


def _nothing_in_common(keys: Mapping[Arm, set[Key]]) -> str:
    has = {arm: ", ".join(sorted(key.title for key in keys[arm])) or "no case that passed" for arm in Arm}
    return f"No case is in both arms: the base has {has[Arm.BASE]}; the measure has {has[Arm.MEASURE]}"


def _conditions(repetitions: Iterable[Repetition], options: Options) -> list[Mapping[str, Value]]:
    """The distinct conditions of the rounds that are compared."""
    found = (one.conditions for repetition in repetitions for one in _not_cold(repetition, options.cold))
    return list({repr(sorted(conditions.items())): conditions for conditions in found}.values())


def _not_cold(repetition: Repetition, cold: int) -> Iterable[Round]:
    cold_ones = {begin + i for begin in repetition.begins for i in range(min(cold, len(repetition.rounds)))}
    return (one for i, one in enumerate(repetition.rounds) if i not in cold_ones)


def _by_run(repetitions: Iterable[Repetition], options: Options) -> dict[str, list[Mapping[str, Value]]]:
    by_run: dict[str, list[Mapping[str, Value]]] = {}
    for one in _in_time(repetitions):
        by_run.setdefault(one.run, []).extend(_conditions([one], options))
    return by_run


def _merged(gates: Sequence[Gate]) -> Gate:
    """The gate of all cases: a condition that differs in several is shown once."""

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
        accepts_not_recorded=gates[0].accepts_not_recorded,
    )


def _warnings(by_arm: gate.Recorded) -> Iterable[str]:
    revisions, builds, hosts = (
        {one.get(key) for conditions in by_arm.values() for one in conditions} for key in (REVISION, BUILD, HOST)
    )
    if len(revisions) > 1 and len(builds) == 1 and builds != {None}:
        yield "the arms are of different revisions and ran the same native build: is one of them stale?"
    if len(hosts) > 1:
        yield f"the runs are from different hosts: {', '.join(sorted(map(str, hosts)))}"


def _in_time(repetitions: Iterable[Repetition]) -> list[Repetition]:
    return sorted(repetitions, key=lambda one: one.rounds[0].start_ns)

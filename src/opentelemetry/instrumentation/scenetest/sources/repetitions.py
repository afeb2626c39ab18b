"""The repetitions that a stored run holds, from its journals and logs."""

from __future__ import annotations

import shlex
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import PurePath
from statistics import fmean
from typing import TypeVar

import numpy as np

from opentelemetry.instrumentation.scenetest.analyse.compare.concurrency import Busy
from opentelemetry.instrumentation.scenetest.analyse.compare.gate import RULER_HASH
from opentelemetry.instrumentation.scenetest.analyse.compare.repetitions import (
    DISPATCH,
    Key,
    Kind,
    Kinds,
    Rank,
    Repetition,
    Round,
    Rounds,
)
from opentelemetry.instrumentation.scenetest.analyse.dispatches import Dispatches
from opentelemetry.instrumentation.scenetest.analyse.passes import COLUMNS, passes
from opentelemetry.instrumentation.scenetest.analyse.runs import Process, Run, by_round, given, name_inside
from opentelemetry.instrumentation.scenetest.conditions.table import RULER
from opentelemetry.instrumentation.scenetest.conditions.values import NOT_RECORDED, UNKNOWN, Value
from opentelemetry.instrumentation.scenetest.native.place import Placed
from opentelemetry.instrumentation.scenetest.rundir.span import NOT_WAITED_FOR, Span

T = TypeVar("T")

FILE = "code.file.path"
CHECKOUT = "scenetest.harness.path"
CALLABLE = "scenetest.callable"
PRESSURE = "scenetest.cpu.pressure"
OUTSIDE = "outside any case"


@dataclass(frozen=True)
class Member:
    """One pass of a case, or the dispatches of one callable outside any case.

    Attributes:
        outcome: of the case.
        pressure: the CPU pressure while it ran.
        id: that of its first dispatch.
        rounds: its outermost dispatches.
    """

    outcome: str
    pressure: Value | None
    id: str
    rounds: Rounds


def of_run(run: Run, label: str, clocks: Mapping[str, int] | None = None) -> list[Repetition]:
    """Return what a run measured, from its journals and logs.

    Args:
        run: the run.
        label: what to call it.
        clocks: by boot of a machine, its wall clock minus its monotonic one, the same for all runs. Without it each
            process's own anchor counts, between which somebody may have set the clock.
    """
    native = run.native().spans
    outermost = {
        one.span_id: dispatch.span_id
        for process in (run.processes if native else ())
        for dispatch, inside in by_round([one for _, one in process.all_dispatches()])
        for one in (dispatch, *inside)
    }
    ranks = ranks_of(native, lambda owner: outermost.get(owner.span.span_id, owner.span.span_id))
    device = device_names(native)
    families = _families(run)
    return [
        one
        for process in run.processes
        for one in _Reading(run, label, process, ranks, device, _offset(process, clocks or {}), families).repetitions()
    ]


def busy_of(run: Run, clocks: Mapping[str, int]) -> Iterator[Busy]:
    """Yield when the processes of a run dispatched."""
    families = _families(run)
    for process in run.processes:
        reading = _Reading(run, "", process, {}, frozenset(), _offset(process, clocks), families)
        for members in reading.groups().values():
            yield from reading.busy(members)


def boot_of(process: Process) -> str:
    """Return the boot of the machine that a process ran on, else its host; empty where neither was recorded."""
    facts = process.record.facts
    recorded = facts.get("boot_id"), process.record.conditions.get("scenetest.boot_id"), facts.get("host")
    return next((str(one) for one in recorded if one not in (None, "", UNKNOWN)), "")


def ranks_of(spans: Sequence[Placed[T]], round_of: Callable[[T], str]) -> dict[str, dict[int, Rank]]:
    """Return what each rank of each round measured natively.

    Args:
        spans: the native spans of a run.
        round_of: gives the round that the owner of a window is; what it gives for a case is not looked at.
    """
    durations: dict[tuple[str, int], Counter[str]] = defaultdict(Counter)
    inside: dict[tuple[str, int], Counter[str]] = defaultdict(Counter)
    for placed in spans:
        if placed.window is None or not placed.rank_known:
            continue
        rank = round_of(placed.window.owner), placed.span.pid
        durations[rank][placed.span.name] += placed.span.duration_ns
        inside[rank].update([DISPATCH, *(above.span.name for above in _above(placed))])
    for each in passes(spans):
        if each.window is not None:
            rank = round_of(each.window.owner), each.pid
            durations[rank].update(each.figures)
            inside[rank].update(
                {figure: sum(inside[rank][name] for name in COLUMNS[figure]) for figure in each.figures}
            )
    found: dict[str, dict[int, Rank]] = defaultdict(dict)
    for (of, pid), times in durations.items():
        found[of][pid] = Rank(times, inside[of, pid])
    return found


def device_names(spans: Iterable[Placed[T]]) -> frozenset[str]:
    """Return the names and figures whose times a device's clock took."""
    names = {placed.span.name for placed in spans if placed.span.on_device}
    return frozenset(names | {figure for figure, parts in COLUMNS.items() if names.issuperset(parts)})


def with_inner(ranks: Mapping[int, Rank], pid: int, inner: Iterable[tuple[str, int | None]]) -> Mapping[int, Rank]:
    """Add the dispatches that lie inside a dispatch to what its process measured natively.

    Args:
        ranks: the native times of the round by process.
        pid: the process that dispatched.
        inner: name and nanoseconds of each inner dispatch; None for one that did not run to its end.
    """
    times: Counter[str] = Counter()
    lost: set[str] = set()
    count = 0
    for name, duration in inner:
        count += 1
        times[name] += duration or 0
        lost |= {name} if duration is None else set()
    if not count:
        return ranks
    own = ranks.get(pid, Rank({}))
    kept = {name: time for name, time in times.items() if name not in lost}
    inside = {**own.inside, DISPATCH: own.inside.get(DISPATCH, 0) + count}
    return {**ranks, pid: Rank({**own.durations, **kept}, inside)}


def key_of(suite: str, name: str, attributes: Mapping[str, Value], of_case: Mapping[str, Value]) -> Key:
    """Return the key of a case.

    Args:
        suite: its suite.
        name: its name.
        attributes: its conditions. Its file counts from the checkout of the harness: two arms may be two checkouts.
        of_case: the attributes of the case alone.
    """
    file, checkout = PurePath(str(attributes.get(FILE, NOT_RECORDED))), str(attributes.get(CHECKOUT, ""))
    relative = file.relative_to(checkout) if checkout and file.is_relative_to(checkout) else PurePath(file.name)
    platform, runtime, level, devices = (
        attributes.get(f"scenetest.{key}") for key in ("platform", "runtime", "level", "devices")
    )
    return Key(str(relative), suite, name, platform, runtime, level, devices, given(of_case))


def key_outside(script: str, command: Sequence[str], callable_name: Value | None) -> Key:
    """Return the key of dispatches outside any case: they are told apart by script and callable.

    Args:
        script: the name of the process's span, which is the script; empty where it was not recorded.
        command: the command line of the process.
        callable_name: what was dispatched.
    """
    name = str(callable_name or OUTSIDE)
    return Key(_script(script, command) or NOT_RECORDED, "", name, None, None, None, None)


def _script(script: str, command: Sequence[str]) -> str:
    """Return a name for a script, also for one that has none of its own: `-m module`, `-c` with a hash of its text."""
    words = list(command)
    if script == "__main__.py" and "-m" in words[:-1]:
        return f"-m {words[words.index('-m') + 1]}"
    if script == "-c" and "-c" in words[:-1]:
        return f"-c {zlib.crc32(words[words.index('-c') + 1].encode('utf-8', 'backslashreplace')):08x}"
    return script


def command_of(text: Value | None) -> list[str]:
    """Return the words of a command line; none where it can't be split."""
    try:
        return shlex.split(str(text or ""))
    except ValueError:
        return []


def conditions_of(conditions: Mapping[str, Value], ruler: str) -> Mapping[str, Value]:
    """Return the conditions of a dispatch, with its ruler where that is unknown though every condition is known.

    It is so where a condition changed while the dispatch was measured.
    """
    if ruler == UNKNOWN and not any(conditions.get(key) in (UNKNOWN, NOT_RECORDED) for key in RULER):
        return {**conditions, RULER_HASH: UNKNOWN}
    return {key: value for key, value in conditions.items() if key != RULER_HASH}


def mean_pressure(values: Iterable[Value | None]) -> float | None:
    """Return the mean of CPU pressures; None where one was not recorded."""
    given = list(values)
    known = [float(one) for one in given if isinstance(one, float | int)]
    return fmean(known) if known and len(known) == len(given) else None


def _above(placed: Placed[T]) -> Iterator[Placed[T]]:
    while placed.parent is not None:
        placed = placed.parent
        yield placed


def _offset(process: Process, clocks: Mapping[str, int]) -> int:
    return clocks.get(boot_of(process) or "?", process.record.unix_ns(0))


def process_id(run_id: str | None, pid: int) -> str:
    """Return what tells a process from all others."""
    return f"{run_id or ''}/{pid}"


def _families(run: Run) -> Mapping[int, frozenset[str]]:
    """Return for each process of a run those that started it, directly or not."""
    parents = {one.record.pid: one.record.facts.get("parent_pid") for one in run.processes}
    found: dict[int, frozenset[str]] = {}
    for pid in parents:
        above: list[int] = []
        parent = parents[pid]
        while parent in parents and parent not in (pid, *above):
            above.append(parent)
            parent = parents[parent]
        found[pid] = frozenset(process_id(run.id or str(run.path), one) for one in above)
    return found


@dataclass(frozen=True)
class _Reading:
    """Reads the repetitions of one process."""

    run: Run
    label: str
    process: Process
    ranks: Mapping[str, Mapping[int, Rank]]
    device: frozenset[str]
    offset_ns: int
    families: Mapping[int, frozenset[str]]
    known: dict[tuple[int, int, str], tuple[Mapping[str, Value], Span]] = field(
        default_factory=dict["tuple[int, int, str]", "tuple[Mapping[str, Value], Span]"]
    )

    def groups(self) -> dict[Key, list[Member]]:
        """Return the members of each case, and of each callable outside any case."""
        found: dict[Key, list[Member]] = {}
        command: list[str] = [str(word) for word in self.process.record.facts.get("command") or ()]
        for case in self.process.cases:
            if case.dispatches:
                attributes = case.span.attributes
                key = key_of(case.span.suite, case.span.name, {**case.span.conditions, **attributes}, attributes)
                first, rounds = self._rounds(case.dispatches)
                found.setdefault(key, []).append(Member(case.span.outcome, attributes.get(PRESSURE), first, rounds))
        for callable_name, dispatches in self._outside():
            key = key_outside(self.process.script, command, callable_name)
            first, rounds = self._rounds(dispatches)
            found.setdefault(key, []).append(Member("pass", None, first, rounds))
        return found

    def _outside(self) -> Iterable[tuple[Value | None, Dispatches | Sequence[tuple[Span, Sequence[Span]]]]]:
        """Return the dispatches outside any case, by callable."""
        dispatches = self.process.dispatches
        if dispatches and not dispatches.unusual() and dispatches.is_flat():
            return [(None, dispatches)]
        found: dict[Value | None, list[tuple[Span, Sequence[Span]]]] = {}
        for dispatch, inside in by_round(dispatches):
            found.setdefault(dispatch.attributes.get(CALLABLE), []).append((dispatch, inside))
        return found.items()

    def busy(self, members: Iterable[Member]) -> Iterator[Busy]:
        """Yield when the process dispatched for them."""
        process = process_id(self.run.id or str(self.run.path), self.process.record.pid)
        for member in members:
            for start, end in member.rounds.times([0]):
                yield Busy(boot_of(self.process), process, self.families[self.process.record.pid], start, end)

    def repetitions(self) -> Iterator[Repetition]:
        """Yield what the process measured of each case."""
        for key, members in self.groups().items():
            yield Repetition(
                run=self.label,
                pid=self.process.record.pid,
                key=key,
                outcome=next((one.outcome for one in members if one.outcome != "pass"), "pass"),
                rounds=Rounds.joined([one.rounds for one in members]),
                begins=[0, *accumulate(len(one.rounds) for one in members[:-1])],
                device_names=self.device,
                id=members[0].id,
                failed=_why_failed(self.run, self.process),
                pressure=mean_pressure(one.pressure for one in members),
                busy=tuple(self.busy(members)),
            )

    def _rounds(self, dispatches: Dispatches | Sequence[tuple[Span, Sequence[Span]]]) -> tuple[str, Rounds]:
        """Return the id of the first round, and all of them.

        Args:
            dispatches: at least one; with those inside each, where there are any.
        """
        if isinstance(dispatches, Dispatches) and dispatches.is_flat():
            return next(dispatches.span_ids()), self._flat(dispatches)
        pairs = by_round(dispatches) if isinstance(dispatches, Dispatches) else dispatches
        return pairs[0][0].span_id, Rounds.of(self._round(dispatch, inside) for dispatch, inside in pairs)

    def _flat(self, dispatches: Dispatches) -> Rounds:
        """Return the rounds of dispatches none of which lies inside another, by columns and not one by one."""
        kinds, kind_of = Kinds(), np.empty(len(dispatches), np.int32)
        for begin, model in dispatches.models():
            kind_of[begin:] = kinds.place(self._kind(model))
        for place, dispatch in dispatches.unusual().items():
            kind_of[place] = kinds.place(self._kind(dispatch))
        with_ranks = enumerate(map(self.ranks.get, dispatches.span_ids() if self.ranks else ()))
        return Rounds(
            np.array(dispatches.starts(), np.int64) + self.offset_ns,
            np.array(dispatches.ends(), np.int64) + self.offset_ns,
            kind_of,
            kinds.all,
            {place: ranks for place, ranks in with_ranks if ranks},
        )

    def _kind(self, dispatch: Span) -> Kind:
        waited_for = bool(dispatch.attributes.get(NOT_WAITED_FOR))
        return Kind(dispatch.outcome, waited_for, dispatch.end_ns is not None, self._conditions(dispatch))

    def _round(self, dispatch: Span, inside: Sequence[Span]) -> Round:
        pid = self.process.record.pid
        inner = [(name_inside(one.attributes), _duration(one)) for one in inside]
        kind = self._kind(dispatch)
        return Round(
            start_ns=self._at(dispatch.start_ns),
            end_ns=None if dispatch.end_ns is None else self._at(dispatch.end_ns),
            outcome=kind.outcome,
            waited_for=kind.waited_for,
            conditions=kind.conditions,
            ranks=with_inner(self.ranks.get(dispatch.span_id, {}), pid, inner),
        )

    def _conditions(self, dispatch: Span) -> Mapping[str, Value]:
        """Return the conditions of a dispatch: the same object for all dispatches with the same conditions."""
        alike = id(dispatch.conditions), id(dispatch.how), dispatch.ruler
        if alike not in self.known:
            found = conditions_of({**dispatch.conditions, **dispatch.how}, dispatch.ruler)
            # The objects whose ids are in the key must stay alive.
            self.known[alike] = found, dispatch
        return self.known[alike][0]

    def _at(self, monotonic_ns: int) -> int:
        return monotonic_ns + self.offset_ns


def _duration(inner: Span) -> int | None:
    return inner.duration_ns if inner.outcome == "pass" and not inner.attributes.get(NOT_WAITED_FOR) else None


def _why_failed(run: Run, process: Process) -> str:
    """Return why what a process measured does not count; empty if it counts."""
    code = run.exit_code
    if code:
        return f"its run ended with exit code {code}"
    if code is None and process.record.ended == "lost" and not process.record.incomplete:
        return "its process did not end cleanly, and its exit code is not known"
    return ""

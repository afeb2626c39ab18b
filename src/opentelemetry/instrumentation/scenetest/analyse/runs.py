"""One run as data: its processes, their cases, their dispatches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from opentelemetry.instrumentation.scenetest.analyse.dispatches import Dispatches
from opentelemetry.instrumentation.scenetest.conditions.table import CONDITIONS
from opentelemetry.instrumentation.scenetest.conditions.values import Value
from opentelemetry.instrumentation.scenetest.native.of_run import Enclosing, native_spans
from opentelemetry.instrumentation.scenetest.native.place import Native
from opentelemetry.instrumentation.scenetest.rundir import reader
from opentelemetry.instrumentation.scenetest.rundir.span import Span

_NAMES = (
    *("async", "callable", "changed", "derived", "duration_ns", "end", "outcome", "round", "ruler", "run_id"),
    "workers.pids",
)
OURS = frozenset(f"scenetest.{name}" for name in _NAMES)
"""What we record on a case or dispatch beside its conditions."""


def given(attributes: Mapping[str, Value]) -> tuple[tuple[str, Value], ...]:
    """Return the attributes that the user gave a case, sorted by name. They distinguish cases of the same name."""
    return tuple(
        sorted(
            (key.removeprefix("scenetest."), value)
            for key, value in attributes.items()
            if key.startswith("scenetest.")
            and key not in CONDITIONS
            and key not in OURS
            and not key.startswith(("scenetest.run.", "scenetest.env."))
        )
    )


def by_round(dispatches: Iterable[Span]) -> list[tuple[Span, list[Span]]]:
    """Return the outermost dispatches, each with those that lie inside it: a round is an outermost dispatch."""
    in_order = sorted(dispatches, key=lambda one: one.start_ns)  # the outer one began first
    parents = {dispatch.parent_id or "" for dispatch in in_order}
    if not any(dispatch.span_id in parents for dispatch in in_order):
        return [(dispatch, []) for dispatch in in_order]
    outermost: dict[str, Span] = {}
    rounds: dict[str, tuple[Span, list[Span]]] = {}
    for dispatch in in_order:
        above = outermost.get(dispatch.parent_id or "")
        outermost[dispatch.span_id] = above or dispatch
        if above is None:
            rounds[dispatch.span_id] = dispatch, []
        else:
            rounds[above.span_id][1].append(dispatch)
    return list(rounds.values())


def name_inside(attributes: Mapping[str, Value]) -> str:
    """Return what a dispatch inside another one is called, like a native span: `dispatch.` and its callable or name."""
    name = attributes.get("scenetest.callable") or attributes.get("scenetest.name") or "inner"
    return f"dispatch.{name}"


@dataclass(slots=True)
class Case:
    """One case with what was recorded in it.

    Attributes:
        span: the case itself.
        phases: its phases, in the order of their starts.
        dispatches: all of its dispatches in the order of their starts, including those inside other dispatches.
        in_children: how many more of its dispatches forked children recorded in journals of their own.
    """

    span: Span
    phases: list[Span] = field(default_factory=list[Span])
    dispatches: Dispatches = field(default_factory=Dispatches)
    in_children: int = 0


@dataclass(slots=True)
class Process:
    """One measured process, with lists in the order of starts.

    Attributes:
        record: what its journal says about it.
        script: name of the span of the process, which holds what lies outside any case; empty if nothing does.
        cases: its cases.
        dispatches: the dispatches outside any case.
        phases: the phases outside any case.
    """

    record: reader.ProcessRecord
    script: str = ""
    cases: list[Case] = field(default_factory=list[Case])
    dispatches: Dispatches = field(default_factory=Dispatches)
    phases: list[Span] = field(default_factory=list[Span])

    def own_cases(self) -> list[Case]:
        """Return the cases that this process opened. It may also have dispatched in a case of its parent."""
        return [case for case in self.cases if not case.span.inherited]

    def all_dispatches(self) -> Iterator[tuple[Case | None, Span]]:
        """Yield every dispatch with its case."""
        for case in self.cases:
            for dispatch in case.dispatches:
                yield case, dispatch
        for dispatch in self.dispatches:
            yield None, dispatch

    def groups(self) -> Iterator[Dispatches]:
        """Yield the dispatches of each case, then the dispatches outside any case."""
        for case in self.cases:
            yield case.dispatches
        yield self.dispatches

    @property
    def sets(self) -> list[dict[str, Value]]:
        """The sets of conditions under which something was recorded; all of them where there is no case or dispatch."""
        spans = [*(case.span for case in self.cases), *(one for group in self.groups() for one in group.kinds())]
        found = {id(one): one for span in spans for one in span.sets}
        return list(found.values()) or self.record.sets

    def timed(self) -> Iterator[Span]:
        """Yield the cases and dispatches that native records may lie in."""
        for case in self.own_cases():
            yield case.span
        for _, dispatch in self.all_dispatches():
            yield dispatch


@dataclass(slots=True)
class Run:
    """One run.

    Attributes:
        path: its directory.
        facts: its `run.json`; empty where that is missing.
        processes: the processes that recorded something, by start.
        problems: how often each kind of damage was found; empty if there was none.
    """

    path: Path
    facts: dict[str, Any]
    processes: list[Process]
    problems: dict[str, int]

    @property
    def name(self) -> str:
        """`scenetest.run.name`."""
        return str(self.facts.get("name") or self.path.name)

    @property
    def id(self) -> str | None:
        """`scenetest.run.id`; None where it was not recorded."""
        return self.facts.get("id")

    @property
    def command(self) -> list[str]:
        """The command with its arguments."""
        return list(self.facts.get("command") or [])

    @property
    def exit_code(self) -> int | None:
        """Exit code of the command; None where nobody waited for it."""
        return self.facts.get("exit_code")

    @property
    def started(self) -> datetime | None:
        """When the run was made, in local time."""
        started = self.facts.get("started_unix_ns")
        return datetime.fromtimestamp(started / 1e9, tz=timezone.utc).astimezone() if started else None

    def native(self) -> Native[Enclosing]:
        """Read the native records in the logs of the run, each under the dispatch or case that contains it."""
        return native_spans(self.path, [(process.record, process.timed()) for process in self.processes])


def processes_at_once(run: Run) -> int:
    """Return the largest number of processes of a run that dispatched at the same time.

    A dispatch that never returned is left out: when it stopped running is not known.
    """
    groups = [
        (number, process.record.unix_ns(0), dispatches)
        for number, process in enumerate(run.processes)
        for dispatches in process.groups()
        if dispatches
    ]
    if len({number for number, _, _ in groups}) < 2:
        return len(groups[:1])
    edges: list[tuple[int, int, int]] = []
    for number, offset, dispatches in groups:
        for start, end in dispatches.times():
            edges += [(start + offset, 1, number), (end + offset, -1, number)]
    most, running = 0, Counter[int]()
    for _, change, number in sorted(edges):
        running[number] += change
        most = max(most, sum(1 for count in running.values() if count))
    return most

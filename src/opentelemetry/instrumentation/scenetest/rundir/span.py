"""A span as a journal has it, with the conditions that held for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from opentelemetry.instrumentation.scenetest.conditions import table
from opentelemetry.instrumentation.scenetest.conditions.values import UNKNOWN, Value
from opentelemetry.instrumentation.scenetest.rundir.added import NOTHING_ADDED, Added
from opentelemetry.instrumentation.scenetest.traceparent import SAMPLED, Carried

Kind = Literal["case", "phase", "dispatch", "process"]

NOT_WAITED_FOR = "scenetest.async"
"""A dispatch of which only a `wait` could have seen the end."""


@dataclass(slots=True)
class Change:
    """A change of ruler conditions, which came at some time between two looks at them.

    Attributes:
        since: the time of the look before it, or of the import that made it, monotonic nanoseconds.
        at: when it was seen.
        before: all conditions before it.
        after: all conditions after it.
        attributes: the ruler conditions that changed.
    """

    since: int
    at: int
    before: dict[str, Value]
    after: dict[str, Value]
    attributes: list[str]


@dataclass(slots=True)
class Span:
    """One span of a journal.

    Attributes:
        kind: `case`, `phase`, `dispatch` or `process`.
        span_id: 16 hexadecimal digits.
        trace_id: 32 hexadecimal digits.
        parent_id: the span above it, perhaps of somebody else; None for the root of a trace.
        name: name of the case, phase or script; empty for a dispatch.
        suite: suite of a case; empty otherwise.
        round: number of a dispatch; None otherwise.
        start_ns: `CLOCK_MONOTONIC` nanoseconds at which it began.
        end_ns: the same for its end; None when it never returned, or that was not seen.
        outcome: `pass`, `fail`, `error`, `skipped`, `aborted`, `unknown`, or `running` while its process lives.
        error_type: `error.type` of the exception that left it.
        live: it was made on a tracer provider that is not ours, which exports it.
        carried: what its trace hands on; a span that is not sampled is not delivered.
        parent_is_remote: the span above it is of another process.
        added: what the program set on it, and the exception that left it.
        last_end_ns: when the last span below it ended, or began if it did not end.
        attributes: its own attributes.
        conditions: conditions of the process in force when a dispatch began; for all else when it ended. `unknown`
            for what of the ruler changed while it ran.
        case: the case that it lies in; itself for a case.
        inherited: a case of the parent process, in which a forked child recorded. It is no span of the child's.
        changes: changes of the ruler that may have come while it ran.
        of_thread: conditions of its thread that are not those of the process; they are among `conditions`.
        thread_change: the change of the conditions of its thread while it ran.
    """

    kind: Kind
    span_id: str
    trace_id: str
    parent_id: str | None
    name: str
    suite: str
    round: int | None
    start_ns: int
    attributes: dict[str, Value]
    conditions: dict[str, Value]
    case: Span | None
    end_ns: int | None = None
    outcome: str = "aborted"
    error_type: str | None = None
    live: bool = False
    carried: Carried = SAMPLED
    parent_is_remote: bool = False
    added: Added = NOTHING_ADDED
    last_end_ns: int = 0
    inherited: bool = False
    changes: tuple[Change, ...] = ()
    of_thread: dict[str, Value] | None = None
    thread_change: Change | None = None

    def note_thread(self, at: int, of_process: dict[str, Value], of_thread: dict[str, Value]) -> None:
        """Keep which conditions its thread had at its end, where they are not those of its beginning."""
        now = {key: {**of_process, **of_thread}.get(key) for key in table.PER_THREAD}
        after = {**self.conditions, **{key: value for key, value in now.items() if value is not None}}
        if changed := table.changed(self.conditions, after):
            self.thread_change = Change(self.start_ns, at, self.conditions, after, changed)

    def touch_thread(self) -> None:
        """Make unknown what changed of its thread while it ran."""
        if self.thread_change is not None:
            self.changes = (*self.changes, self.thread_change)
            self.conditions = {**self.conditions, **dict.fromkeys(self.thread_change.attributes, UNKNOWN)}

    @property
    def duration_ns(self) -> int | None:
        """Nanoseconds between its two clock reads; None when it never returned."""
        return None if self.end_ns is None else self.end_ns - self.start_ns

    @property
    def how(self) -> dict[str, Value]:
        """Conditions of scope case: they are on the case; outside any, on the dispatch itself."""
        return (self.case or self).attributes

    @property
    def ruler(self) -> str:
        """`scenetest.ruler` of a case or dispatch."""
        return _latest_ruler.of(self.conditions, self.how)

    @property
    def changed(self) -> str:
        """What of the ruler changed while it ran, from what to what; empty for nothing."""
        words = [
            f"{key} {_shown(change.before.get(key))} -> {_shown(change.after.get(key))}"
            for change in self.changes
            for key in change.attributes
        ]
        return ", ".join(dict.fromkeys(words))

    @property
    def sets(self) -> tuple[dict[str, Value], ...]:
        """The sets of conditions that may have held while it ran."""
        return (self.changes[0].before, *(one.after for one in self.changes)) if self.changes else (self.conditions,)


def _shown(value: Value | None) -> str:
    return "n/a" if value is None else str(value).lower() if isinstance(value, bool) else str(value) or "none"


class _LatestRuler:
    """The ruler of one dispatch, and of all that were measured alike: it is a hash over a hundred values."""

    def __init__(self) -> None:
        self._process: dict[str, Value] = {}
        self._how: dict[str, Value] = {}
        self._how_shown = ""
        self._value = table.ruler({}, {})

    def of(self, process: dict[str, Value], how: dict[str, Value]) -> str:
        # Dispatches outside any case have attributes of their own each, mostly the same ones.
        if self._process is not process or (self._how is not how and self._how_shown != repr(how)):
            self._process, self._how, self._how_shown = process, how, repr(how)
            self._value = table.ruler(process, how)
        return self._value


_latest_ruler = _LatestRuler()

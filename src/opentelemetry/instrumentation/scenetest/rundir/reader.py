"""Reads journals back: lines into spans, each with the conditions that held for it.

A journal is read as a stream, so that memory does not grow with it. What is damaged is skipped and counted, never
guessed: a span without its end is `aborted` in a process that is gone, and `unknown` where its end may be missing from
the file only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

from opentelemetry.instrumentation.scenetest.conditions import table
from opentelemetry.instrumentation.scenetest.conditions.values import Value
from opentelemetry.instrumentation.scenetest.rundir import layout, liveness
from opentelemetry.instrumentation.scenetest.rundir.validate import well_formed

Kind = Literal["case", "phase", "dispatch", "process"]
Ended = Literal["clean", "lost", "running"]

NOT_WAITED_FOR = "scenetest.async"
"""A dispatch of which only a `wait` could have seen the end."""


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
        sampled: False where that provider's sampler dropped it.
        attributes: its own attributes.
        conditions: conditions of the process in force when a dispatch began; for all else when it ended.
        case: the case that it lies in; itself for a case.
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
    sampled: bool = True

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
        global _latest_ruler
        if not _latest_ruler.is_of(self):
            _latest_ruler = _Ruler(self.conditions, self.how, repr(self.how), table.ruler(self.conditions, self.how))
        return _latest_ruler.value


@dataclass(slots=True)
class _Ruler:
    """The ruler of one dispatch, and of all that were measured alike: it is a hash over a hundred values."""

    process: dict[str, Value]
    how: dict[str, Value]
    how_shown: str
    value: str

    def is_of(self, span: Span) -> bool:
        # Dispatches outside any case have attributes of their own each, mostly the same ones.
        return self.process is span.conditions and (self.how is span.how or self.how_shown == repr(span.how))


_latest_ruler = _Ruler({}, {}, "", "")


@dataclass(slots=True)
class Process:
    """What a journal says about the process that wrote it.

    Attributes:
        path: the journal.
        facts: the fields of its `process` line.
        conditions: the set in force at the point that was read to; after the end the last one.
        ended: `clean` with an `end` line, `running` while its lock is held, else `lost`.
        torn_lines: lines that could not be read.
        incomplete: a write failed, so a missing end proves nothing.
    """

    path: Path
    facts: dict[str, Any]
    conditions: dict[str, Value]
    ended: Ended = "lost"
    torn_lines: int = 0
    incomplete: bool = False

    @property
    def pid(self) -> int:
        """The process id."""
        return int(self.facts.get("pid", 0))

    def unix_ns(self, monotonic_ns: int) -> int:
        """Return the wall-clock time of a monotonic one, by the process's one anchor, in Unix nanoseconds."""
        anchor = self.facts["anchor"]
        return monotonic_ns + int(anchor["unix_ns"]) - int(anchor["monotonic_ns"])


class NotAJournalError(ValueError):
    """The file has no `process` line that can be read."""


@dataclass(slots=True)
class Journal:
    """One journal, to be read once from its start to its end.

    Args:
        path: the file.

    Raises:
        NotAJournalError: it has no readable `process` line.
        OSError: it can't be read.
    """

    path: Path
    process: Process = field(init=False)
    _open: dict[str, Span] = field(init=False, default_factory=dict[str, Span])
    _last_end: int | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        # Asked before reading: what its writer adds in between is then read as that of a running process.
        held = liveness.is_written(self.path)
        self.process = Process(self.path, {}, {}, "running" if held else "lost")
        self.process.incomplete = self.path.name.endswith(layout.INCOMPLETE_SUFFIX)
        with self.path.open("rb") as file:
            first = next((line for raw in file if (line := _parse(raw)) and line["kind"] == "process"), None)
        if first is None:
            raise NotAJournalError(f"{self.path} is not a journal: it has no process line")
        self.process.facts = first
        self.process.conditions = first.get("conditions", {})

    def spans(self) -> Iterator[Span]:
        """Yield every span: closed ones in the order in which they ended, then what is left open."""
        with self.path.open("rb") as file:
            for raw in file:
                if (opened := _DISPATCH(raw)) is not None:
                    self._begin_dispatch(*opened.groups())
                    continue
                if (ended := _PASS(raw)) is not None and ended[1].decode() in self._open:
                    yield self._pass(self._open.pop(ended[1].decode()), int(ended[2]), int(ended[3]))
                    continue
                line = _parse(raw)
                if line is None:
                    self.process.torn_lines += bool(raw.strip())
                elif (closed := self._take(line)) is not None:
                    yield closed
        outcome = self._outcome_of_open()
        for span in self._open.values():
            span.outcome = "unknown" if span.attributes.get(NOT_WAITED_FOR) and outcome != "running" else outcome
            if span.kind != "dispatch":
                span.conditions = self.process.conditions
            if span.kind == "process":
                self._bound(span)
            yield span
        self._open.clear()

    def _bound(self, span: Span) -> None:
        """End the span of a process where its last dispatch or phase did."""
        if self._last_end is not None and self.process.ended == "clean":
            span.end_ns, span.outcome = self._last_end, "pass"

    def _outcome_of_open(self) -> str:
        if self.process.ended == "running":
            return "running"
        return "unknown" if self.process.incomplete else "aborted"

    def _take(self, line: dict[str, Any]) -> Span | None:
        kind = line["kind"]
        if kind == "open":
            self._begin(line)
        elif kind == "close":
            return self._end(line)
        elif kind == "conditions":
            self.process.conditions = line.get("conditions", {})
        elif kind == "end" and self.process.ended != "running":
            self.process.ended = "clean"
        return None

    def _begin(self, line: dict[str, Any]) -> None:
        parent = self._open.get(line.get("parent") or "")
        span = Span(
            kind=line["span"],
            span_id=line["id"],
            trace_id=line["trace"],
            parent_id=line.get("parent"),
            name=line.get("name", ""),
            suite=line.get("suite", ""),
            round=line.get("round"),
            start_ns=line["at"],
            attributes=line.get("attributes", {}),
            conditions=self.process.conditions,
            case=parent.case if parent else None,
            live=line.get("live", False),
            sampled=line.get("sampled", True),
        )
        if span.kind == "case":
            span.case = span
        self._open[span.span_id] = span

    def _begin_dispatch(self, trace: bytes, parent: bytes, span_id: bytes, at: bytes, number: bytes) -> None:
        above = self._open.get(parent.decode())
        span = Span(
            "dispatch",
            span_id.decode(),
            trace.decode(),
            parent.decode(),
            "",
            "",
            int(number),
            int(at),
            {},
            self.process.conditions,
            above.case if above else None,
        )
        self._open[span.span_id] = span

    def _pass(self, span: Span, start: int, end: int) -> Span:
        span.start_ns, span.end_ns, span.outcome = start, end, "pass"
        if span.kind != "dispatch":
            span.conditions = self.process.conditions
        if span.case is None:
            self._last_end = end
        return span

    def _end(self, line: dict[str, Any]) -> Span | None:
        span = self._open.pop(line["id"], None)
        if span is None:
            self.process.torn_lines += 1
            return None
        span.start_ns, span.end_ns = line["start"], line["end"]
        span.outcome, span.error_type = line["outcome"], line.get("error")
        if "attributes" in line:
            span.attributes = {**span.attributes, **line["attributes"]}
        if span.kind != "dispatch":
            span.conditions = self.process.conditions
        if span.case is None:
            self._last_end = span.end_ns
        return span


# The two lines of nearly every journal, as the recorder writes them. Anything else is read as JSON.
_DISPATCH = re.compile(
    rb'\{"kind":"open","span":"dispatch","trace":"([0-9a-f]{32})","parent":"([0-9a-f]{16})","id":"([0-9a-f]{16})",'
    rb'"at":(\d{1,18}),"round":(\d{1,18})\}\n'
).fullmatch
_PASS = re.compile(
    rb'\{"kind":"close","id":"([0-9a-f]{16})","start":(\d{1,18}),"end":(\d{1,18}),"outcome":"pass"\}\n'
).fullmatch

_decode = json.JSONDecoder().decode


def _parse(raw: bytes) -> dict[str, Any] | None:
    """Return a whole, well-formed line, None for anything else."""
    if not raw.endswith(b"\n"):
        return None
    try:
        line: object = _decode(raw.decode())
    except (ValueError, RecursionError):
        return None
    if not isinstance(line, dict):
        return None
    fields = well_formed(cast("dict[str, Any]", line))
    needed = _NEEDED.get(fields.get("kind", ""))
    return fields if needed is not None and needed <= fields.keys() else None


_NEEDED = {
    "process": {"pid", "anchor"},
    "conditions": {"conditions"},
    "open": {"span", "id", "trace", "at"},
    "close": {"id", "start", "end", "outcome"},
    "end": set[str](),
}

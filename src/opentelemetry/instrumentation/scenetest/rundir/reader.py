"""Reads journals back: lines into spans, each with the conditions that held for it.

A journal is read as a stream, so that memory does not grow with it. What is damaged is skipped and counted, never
guessed: a span without its end is `aborted` in a process that is gone, and `unknown` where its end may be missing from
the file only.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any, BinaryIO, cast

from opentelemetry.instrumentation.scenetest.conditions import table
from opentelemetry.instrumentation.scenetest.conditions.values import NOT_RECORDED, UNKNOWN, Value
from opentelemetry.instrumentation.scenetest.errors import BadInputError
from opentelemetry.instrumentation.scenetest.rundir import added, layout, liveness
from opentelemetry.instrumentation.scenetest.rundir.process import ProcessRecord
from opentelemetry.instrumentation.scenetest.rundir.raw_lines import DISPATCH, PASS, parse, raw_lines
from opentelemetry.instrumentation.scenetest.rundir.span import NOT_WAITED_FOR, Change, Span
from opentelemetry.instrumentation.scenetest.rundir.span_ids import SpanIds
from opentelemetry.instrumentation.scenetest.rundir.validate import masked
from opentelemetry.instrumentation.scenetest.traceparent import SAMPLED, Carried

_CONDITIONS = b'{"kind":"conditions"'
_PROCESS = b'{"kind":"process"'
_SERVICE = b'{"kind":"service"'
_END = b'{"kind":"end"'
_WHO = ("pid", "start_ticks", "boot_id", "host")
_NEVER = 1 << 63
_ID_LENGTH = 16


class NotAJournalError(ValueError):
    """The file has no `process` line that can be read."""


class NewerSchemaError(BadInputError):
    """The journal was written by a later version of this package."""


@dataclass(slots=True)
class Journal:
    """One journal, to be read once from its start to its end.

    Args:
        path: the file.

    Raises:
        NotAJournalError: it has no readable `process` line.
        NewerSchemaError: a later version of this package wrote it.
        OSError: it can't be read.
    """

    path: Path
    process: ProcessRecord = field(init=False)
    _open: dict[str, Span] = field(init=False, default_factory=dict[str, Span])
    _ended: SpanIds = field(init=False, default_factory=SpanIds)
    _set_at: int = field(init=False, default=0)
    _last_end: int | None = field(init=False, default=None)
    _last_look: int = field(init=False, default=0)
    _last_dispatch: int = field(init=False, default=-_NEVER)
    _is_empty: bool = field(init=False, default=True)
    _sets_read: int = field(init=False, default=1)
    _processes: int = field(init=False, default=0)
    _changes: list[Change] = field(init=False, default_factory=list[Change])
    _seen_at: list[int] = field(init=False, default_factory=list[int])
    _touched: dict[tuple[int, int, int], dict[str, Value]] = field(
        init=False, default_factory=dict[tuple[int, int, int], dict[str, Value]]
    )
    _in_threads: dict[tuple[int, str], dict[str, Value]] = field(init=False, default_factory=dict[Any, Any])

    def __post_init__(self) -> None:
        # Asked before reading: what its writer adds in between is then read as that of a running process.
        held = liveness.is_written(self.path)
        self.process = ProcessRecord(self.path, {}, {}, "running" if held else "lost")
        self.process.incomplete = self.path.name.endswith(layout.INCOMPLETE_SUFFIX)
        with self.path.open("rb") as file:
            first = next((line for raw in raw_lines(file) if (line := parse(raw)) and line["kind"] == "process"), None)
            if first is None:
                raise NotAJournalError(f"{self.path} is not a journal: it has no process line")
            _check_schema(self.path, first)
            self.process.facts = masked(first)
            self.process.sets.append(_complete(first))
            self._last_look = self._set_at = first["anchor"]["monotonic_ns"]
            self._read_ahead(file)
        self.process.conditions = self.process.sets[0]

    def _read_ahead(self, file: BinaryIO) -> None:
        """Read what holds for spans before it stands in the file.

        A change of conditions is seen after the dispatch that it came in. A process has one name, the last one that it
        gave itself, and its end says whether live spans were sent.
        """
        looked = self._last_look
        for raw in raw_lines(file):
            if not raw.startswith((_CONDITIONS, _PROCESS, _SERVICE, _END)) or (line := parse(raw)) is None:
                continue
            if line["kind"] == "service":
                self.process.rename(line)
                continue
            if line["kind"] == "end":
                self._end_process(line)
                continue
            if line["kind"] == "process":
                if self._is_foreign(line):
                    break
                continue
            if _is_old(line, looked):
                continue
            before, after = self.process.sets[-1], _complete({**self.process.facts, **line})
            self.process.sets.append(after)
            at = line.get("at", looked)
            if changed := table.changed(before, after):
                # Old journals do not say when the look before was.
                self._changes.append(Change(line.get("since", looked), at, before, after, changed))
            looked = at
        self._changes.sort(key=lambda change: change.at)
        self._seen_at = [change.at for change in self._changes]

    def spans(self) -> Iterator[Span]:
        """Yield every span: closed ones in the order in which they ended, then what is left open."""
        with self.path.open("rb") as file:
            for raw in raw_lines(file):
                if self.process.foreign_lines:
                    self.process.foreign_lines += 1
                    continue
                if (ended := PASS(raw)) is not None:
                    start, end = int(ended[2]), int(ended[3])
                    if start <= end and (span := self._open.pop(ended[1].decode(), None)) is not None:
                        yield self._pass(span, start, end)
                        continue
                elif (opened := DISPATCH(raw)) is not None:
                    self._begin_dispatch(*opened.groups())
                    continue
                line = parse(raw)
                if line is None:
                    self.process.torn_lines += bool(raw.strip())
                elif (closed := self._take(line)) is not None:
                    yield closed
        self._open = {key: span for key, span in self._open.items() if not span.inherited}
        self._conclude_end()
        outcome = self._outcome_of_open()
        for span in reversed(self._open.values()):
            if (above := self._open.get(span.parent_id or "")) is not None:
                above.last_end_ns = max(above.last_end_ns, span.last_end_ns)
        for span in self._open.values():
            span.outcome = "unknown" if span.attributes.get(NOT_WAITED_FOR) and outcome != "running" else outcome
            if span.kind != "dispatch":
                span.conditions = self._in_thread(span)
            if span.kind == "process":
                self._bound(span)
            else:
                self._touch(span, _NEVER)
            yield span
        self._open.clear()
        if self._is_empty and self.process.ended != "running":
            yield self._process_span()

    def _conclude_end(self) -> None:
        """Tell whether a process without an `end` line was lost, and whether its last dispatch was looked at after."""
        if self.process.ended != "lost":
            return
        is_open = {span.kind for span in self._open.values()}
        self.process.unobserved = "dispatch" in is_open or self._last_dispatch > self._last_look
        if not is_open - {"process"} and not self.process.incomplete:
            self.process.ended = "not_seen"

    def _bound(self, span: Span) -> None:
        """End the span of a process where its last dispatch or phase did."""
        if self._last_end is not None and self.process.ended in ("clean", "not_seen"):
            span.end_ns, span.outcome = self._last_end, "pass"

    def _process_span(self) -> Span:
        """Return the span of a process that recorded its conditions and no case or dispatch.

        Its ids are derived from the name of the journal, so that it is the same whenever it is delivered.
        """
        facts = self.process.facts
        digest = hashlib.sha256(self.path.name.partition(".")[0].encode("utf-8", "surrogateescape")).hexdigest()
        command = [str(word) for word in cast("list[object]", facts.get("command") or [])]
        name = facts.get("name") or next((word for word in command[1:] if not word.startswith("-")), "python")
        span = Span(
            kind="process",
            span_id=digest[32:48],
            trace_id=digest[:32],
            parent_id=None,
            name=PurePath(str(name)).name,
            suite="",
            round=None,
            start_ns=facts["anchor"]["monotonic_ns"],
            attributes={},
            conditions=self.process.conditions,
            case=None,
        )
        if self.process.ended == "clean":
            span.end_ns, span.outcome = max(span.start_ns, self._last_look), "pass"
        return span

    def _touch(self, span: Span, end: int) -> None:
        """Make unknown what of the ruler changed while a span ran."""
        first = bisect_right(self._seen_at, span.start_ns)
        last = first
        while last < len(self._changes) and self._changes[last].since < end:
            last += 1
        if first == last:
            return
        span.changes = tuple(self._changes[first:last])
        key = id(span.conditions), first, last
        if key not in self._touched:
            unknown = {name: UNKNOWN for change in span.changes for name in change.attributes}
            self._touched[key] = {**span.conditions, **unknown}
        span.conditions = self._touched[key]

    def _in_thread(self, span: Span) -> dict[str, Value]:
        """Return the conditions of the process in force, with those that the thread of a span has of its own."""
        conditions = self.process.conditions
        if not span.of_thread:
            return conditions
        key = id(conditions), repr(span.of_thread)
        if key not in self._in_threads:
            self._in_threads[key] = {**conditions, **span.of_thread}
        return self._in_threads[key]

    def _outcome_of_open(self) -> str:
        return "running" if self.process.ended == "running" else "unknown" if self.process.incomplete else "aborted"

    def _take(self, line: dict[str, Any]) -> Span | None:
        kind = line["kind"]
        if kind == "open":
            self._begin(line)
        elif kind == "process":
            self.process.foreign_lines += self._is_foreign(line)
            self._processes += 1
            self.process.repeated_lines += self._processes > 1 and not self.process.foreign_lines
        elif kind == "close":
            return self._end(line)
        elif kind == "thread" and (of_span := self._open.get(line["id"])) is not None:
            of_span.note_thread(line["at"], self.process.conditions, line.get("of_thread", {}))
        elif kind == "conditions":
            if _is_old(line, self._set_at):
                self.process.repeated_lines += 1
                return None
            self._set_at = line.get("at", self._set_at)
            if self._sets_read < len(self.process.sets):  # the file may have grown since
                self.process.conditions = self.process.sets[self._sets_read]
                self._sets_read += 1
            self._last_look = max(self._last_look, line.get("at", 0))
        elif kind == "end":
            self._last_look = max(self._last_look, line.get("at", 0))
        return None

    def _end_process(self, line: dict[str, Any]) -> None:
        self.process.unflushed = line.get("flushed") is False
        if self.process.ended != "running":
            # Without a boot id it was made of a log, which does not tell how its process ended.
            self.process.ended = "clean" if "boot_id" in self.process.facts else NOT_RECORDED

    def _begin(self, line: dict[str, Any]) -> None:
        parent_id: str | None = line.get("parent")
        if parent_id is not None and len(parent_id) != _ID_LENGTH:
            parent_id = None
        if self._is_known(line["id"]):
            return
        parent = self._open.get(parent_id or "")
        span = Span(
            kind=line["span"],
            span_id=line["id"],
            trace_id=line["trace"],
            parent_id=parent_id,
            name=line.get("name", ""),
            suite=line.get("suite", ""),
            round=line.get("round"),
            start_ns=line["at"],
            attributes=line.get("attributes", {}),
            conditions=self.process.conditions,
            case=parent.case if parent else None,
            live=line.get("live", False),
            carried=_carried(line, parent),
            parent_is_remote=line.get("remote") is True,
            inherited=line.get("inherited") is True,
            of_thread=line.get("of_thread"),
        )
        span.conditions = self._in_thread(span)
        if span.kind == "case":
            span.case = span
        self._opened(span, parent)

    def _begin_dispatch(self, trace: bytes, parent: bytes, span_id: bytes, at: bytes, number: bytes) -> None:
        above, name = self._open.get(parent.decode()), span_id.decode()
        if self._is_known(name):
            return
        span = Span(
            "dispatch",
            name,
            trace.decode(),
            parent.decode(),
            "",
            "",
            int(number),
            int(at),
            {},
            self.process.conditions,
            above.case if above else None,
            carried=above.carried if above else SAMPLED,
        )
        self._opened(span, above)

    def _is_foreign(self, line: dict[str, Any]) -> bool:
        """Tell whether a `process` line is of another process than the journal."""
        return any(line.get(key) != self.process.facts.get(key) for key in _WHO)

    def _is_known(self, span_id: str) -> bool:
        """Tell whether a span was opened before, and count the line that opens it once more."""
        known = span_id in self._open or span_id in self._ended
        self.process.repeated_lines += known
        return known

    def _opened(self, span: Span, above: Span | None) -> None:
        self._open[span.span_id] = span
        span.last_end_ns = span.start_ns
        if above is not None and above.last_end_ns < span.start_ns:
            above.last_end_ns = span.start_ns
        self._is_empty = False
        # The import of a backend is looked for before each dispatch.
        if span.kind == "dispatch" and span.start_ns > self._last_look:
            self._last_look = span.start_ns

    def _pass(self, span: Span, start: int, end: int) -> Span:
        span.start_ns, span.end_ns, span.outcome = start, end, "pass"
        self._closed(span, end)
        return span

    def _closed(self, span: Span, end: int) -> None:
        self._ended.add(span.span_id)
        above = self._open.get(span.parent_id or "")
        if above is not None and above.last_end_ns < end:
            above.last_end_ns = end
        if span.kind == "dispatch":
            self._last_dispatch = max(self._last_dispatch, end)
        else:
            span.conditions = self._in_thread(span)
            if span.kind == "case":
                self._last_look = max(self._last_look, end)
        if self._changes and span.kind in ("case", "dispatch"):
            self._touch(span, end)
        span.touch_thread()
        if span.case is None:
            self._last_end = end

    def _end(self, line: dict[str, Any]) -> Span | None:
        span = self._open.pop(line["id"], None)
        if span is None:
            known = line["id"] in self._ended
            self.process.repeated_lines += known
            self.process.torn_lines += not known
            return None
        span.start_ns, span.end_ns = line["start"], line["end"]
        span.outcome, span.error_type = line["outcome"], line.get("error")
        if "attributes" in line:
            span.attributes = {**span.attributes, **line["attributes"]}
        if "added" in line:
            span.added = added.read(line["added"])
        self._closed(span, line["end"])
        return span


def _carried(line: dict[str, Any], parent: Span | None) -> Carried:
    """Return what a span hands on: that of the span above it in the journal, unless its line says otherwise."""
    if "flags" in line or "tracestate" in line:
        return Carried(line.get("flags", SAMPLED.flags), line.get("tracestate", ""))
    return parent.carried if parent is not None else SAMPLED


def _check_schema(path: Path, first: dict[str, Any]) -> None:
    written = first.get("schema", layout.SCHEMA)
    if written > layout.SCHEMA:
        raise NewerSchemaError(
            f"{path} has schema {written} and this version reads up to {layout.SCHEMA}: install a newer "
            "opentelemetry-instrumentation-scenetest"
        )


def _complete(line: dict[str, Any]) -> dict[str, Value]:
    """Return the conditions of a line; those of the ruler that its version did not know are `not recorded`."""
    conditions: dict[str, Value] = line.get("conditions", {})
    missing = [key for key in table.younger_than(line.get("schema", layout.SCHEMA)) if key not in conditions]
    if not missing:
        return conditions
    version: dict[str, Value] = {"process.runtime.version": str(line["python"])} if "python" in line else {}
    return {**conditions, **dict.fromkeys(missing, NOT_RECORDED), **version}


def _is_old(line: dict[str, Any], looked: int) -> bool:
    """Tell whether conditions are not of after a look: their line is there once more, or out of its place."""
    return line.get("at", looked + 1) <= looked

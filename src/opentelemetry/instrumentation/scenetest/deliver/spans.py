"""The journals of a run as OpenTelemetry spans. A case is a trace.

The spans are built as `ReadableSpan`s, and not by a tracer, since they ended before this process began.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanKind

from opentelemetry.instrumentation.scenetest import semantics
from opentelemetry.instrumentation.scenetest.conditions.values import Value
from opentelemetry.instrumentation.scenetest.deliver import added
from opentelemetry.instrumentation.scenetest.deliver.resources import SharedResource, of_run_itself_resource, resource
from opentelemetry.instrumentation.scenetest.deliver.withheld import Selection
from opentelemetry.instrumentation.scenetest.native import of_run as native
from opentelemetry.instrumentation.scenetest.rundir import layout, reader
from opentelemetry.instrumentation.scenetest.rundir.process import ProcessRecord
from opentelemetry.instrumentation.scenetest.rundir.reader import Journal
from opentelemetry.instrumentation.scenetest.rundir.span import Span
from opentelemetry.instrumentation.scenetest.semantics import (
    SCHEMA_URL,
    SCOPE_NAME,
    clean,
    run_context,
    run_parent,
    span_context,
    text,
)
from opentelemetry.instrumentation.scenetest.version import __version__

Conditions = dict[str, Value]

BATCH = 512
"""Spans in one request; the batch size of the SDK."""

_LINKS = 10_000
"""The largest number of links of a run to its cases: each has about 35 bytes, and backends take a few megabytes."""

_END_NOT_SEEN = "scenetest.end"

SCOPE = InstrumentationScope(SCOPE_NAME, __version__, SCHEMA_URL)


def of_run(directory: Path, run: Mapping[str, Any]) -> Generator[ReadableSpan]:
    """Yield the spans of all journals of a run, then that of the run itself. Files that are no journals are skipped.

    Args:
        directory: the run directory.
        run: the fields of `run.json`.
    """
    for path in layout.journals(directory):
        with suppress(reader.NotAJournalError):
            yield from of_journal(reader.Journal(path), run)
    yield from of_run_itself(directory, run)


def of_journal(
    journal: Journal,
    run: Mapping[str, Any],
    case_links: list[Link] | None = None,
    selection: Selection = Selection.SAMPLED,
) -> Generator[ReadableSpan]:
    """Yield the spans of one journal, in the order in which they ended; those without an end come last.

    Spans that still run are left out.

    Args:
        journal: the journal.
        run: the fields of `run.json`.
        case_links: gets a link to each case that is sampled.
        selection: which spans.

    Raises:
        OSError: it can't be read.
    """
    build = _Builder(journal.process, run)
    for span in journal.spans():
        if span.outcome == "running":
            continue
        if case_links is not None and _is_linked(span) and len(case_links) < _LINKS:
            case_links.append(_link(span))
        if selection.has(span, journal.process):
            yield build.span(span)


def of_run_itself(
    directory: Path,
    run: Mapping[str, Any],
    case_links: Sequence[Link] | None = None,
    selection: Selection = Selection.SAMPLED,
) -> Generator[ReadableSpan]:
    """Yield the span of a run that `scenetest-otel run` made and saw end, with links to its first cases; else nothing.

    It is not the parent of the cases: Jaeger's search returns whole traces, and a trace with all processes of a run
    would be found under the conditions of each of them.

    Args:
        directory: the run directory.
        run: the fields of `run.json`.
        case_links: links to the cases, if the journals were read before.
        selection: which spans. That of a run is sampled unless its `TRACEPARENT` was not.
    """
    context = run_context(run)
    if context is None or None in (run.get("started_unix_ns"), run.get("ended_unix_ns")):
        return
    if selection is not (Selection.SAMPLED if context.trace_flags.sampled else Selection.UNSAMPLED):
        return
    code, parent = run.get("exit_code"), run_parent(run)
    yield ReadableSpan(
        name=text(f"run {run.get('name')}"),
        context=context,
        parent=span_context(parent.trace, parent.id, parent.carried, remote=True) if parent else None,
        resource=of_run_itself_resource(run),
        attributes=clean({"process.exit.code": code}),
        links=list(islice(_case_links(directory), _LINKS)) if case_links is None else case_links,
        kind=SpanKind.INTERNAL,
        status=semantics.status("pass", None) if code == 0 else semantics.status("error", f"exit code {code}"),
        start_time=run["started_unix_ns"],
        end_time=run["ended_unix_ns"],
        instrumentation_scope=SCOPE,
    )


def has_end(span: ReadableSpan) -> bool:
    """Tell whether the end of a span was seen."""
    return _END_NOT_SEEN not in (span.attributes or {})


def _case_links(directory: Path) -> Iterator[Link]:
    for path in layout.journals(directory):
        with suppress(reader.NotAJournalError):
            for span in reader.Journal(path).spans():
                if span.outcome != "running" and _is_linked(span):
                    yield _link(span)


def _is_linked(span: Span) -> bool:
    return span.kind == "case" and span.carried.is_sampled


def _link(case: Span) -> Link:
    return Link(span_context(case.trace_id, case.span_id, case.carried, remote=True))


class _Builder:
    """Builds the spans of one process. It keeps the last resource and attributes, which consecutive spans share."""

    def __init__(self, process: ProcessRecord, run: Mapping[str, Any]) -> None:
        self._process = process
        self._run = run
        self._of_run = run_context(run)
        self._native_ends: dict[str, int] | None = None
        self._resource: tuple[Conditions, SharedResource] | None = None
        self._alike: dict[tuple[str, str, str | None], tuple[Conditions, Conditions, Conditions]] = {}

    def span(self, span: Span) -> ReadableSpan:
        """Return a span of the journal as an OpenTelemetry span."""
        end = self._last_end(span) if span.end_ns is None else span.end_ns
        extra, remote = span.added, span.parent_is_remote
        links = [Link(self._of_run)] if span.kind == "case" and self._of_run else []
        return ReadableSpan(
            name=text(extra.name) or semantics.name(span),
            context=span_context(span.trace_id, span.span_id, span.carried),
            parent=span_context(span.trace_id, span.parent_id, span.carried, remote=remote) if span.parent_id else None,
            resource=self._resource_of(span.conditions),
            attributes=added.attributes(extra, {**self._of_all_alike(span), **clean(_of_itself(span))}),
            events=added.events(extra, self._process) if extra.events else (),
            links=added.links(extra, links) if extra.links else links,
            kind=SpanKind.INTERNAL,
            status=added.status(extra, semantics.status(span.outcome, span.error_type)),
            start_time=self._process.unix_ns(span.start_ns),
            end_time=self._process.unix_ns(end),
            instrumentation_scope=SCOPE,
        )

    def _last_end(self, span: Span) -> int:
        """Return when the last span inside a span without an end ended, including native spans."""
        if self._native_ends is None:
            directory = self._process.path.parent
            has_any = native.has_records(directory)
            placed = native.native_spans(directory, native.recorded(directory)) if has_any else None
            self._native_ends = native.last_ends(placed) if placed else {}
        return max(span.last_end_ns, self._native_ends.get(span.span_id, 0))

    def _resource_of(self, conditions: Conditions) -> SharedResource:
        if self._resource is None or self._resource[0] is not conditions:
            self._resource = conditions, resource(self._process, conditions, self._run)
        return self._resource[1]

    def _of_all_alike(self, span: Span) -> Conditions:
        """Return the attributes that a span shares with all spans of its kind and outcome in its case."""
        alike = span.kind, span.outcome, span.error_type
        conditions, how, attributes = self._alike.get(alike, ({}, {}, {}))
        if conditions is not span.conditions or how is not span.how:
            attributes = clean(_of_all_alike(span))
            self._alike[alike] = span.conditions, span.how, attributes
        return attributes


def _of_all_alike(span: Span) -> dict[str, Value | None]:
    of_case = semantics.of_case(span.case) if span.case else {}
    ruler = {"scenetest.ruler": span.ruler} if span.kind in ("case", "dispatch") else {}
    return {**of_case, **ruler, **semantics.ending(span.kind, span.outcome, span.error_type)}


def _of_itself(span: Span) -> dict[str, Value | None]:
    attributes = semantics.of_itself(span)
    if span.changes:
        attributes["scenetest.changed"] = span.changed
    return attributes if span.end_ns is not None else {**attributes, _END_NOT_SEEN: "not_seen"}

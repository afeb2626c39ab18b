"""The native spans of a run as OpenTelemetry spans, under its dispatches."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanContext, SpanKind, TraceFlags

from opentelemetry.instrumentation.scenetest.deliver.resources import SharedResource, resource
from opentelemetry.instrumentation.scenetest.deliver.spans import SCOPE
from opentelemetry.instrumentation.scenetest.deliver.withheld import Selection
from opentelemetry.instrumentation.scenetest.native.of_run import Enclosing, native_spans
from opentelemetry.instrumentation.scenetest.native.place import Placed
from opentelemetry.instrumentation.scenetest.rundir import layout, logs, reader
from opentelemetry.instrumentation.scenetest.rundir.process import Process
from opentelemetry.instrumentation.scenetest.rundir.span import Span
from opentelemetry.instrumentation.scenetest.semantics import clean, text


def of_run(directory: Path, run: Mapping[str, Any], selection: Selection = Selection.SAMPLED) -> Iterator[ReadableSpan]:
    """Yield the native spans that lie in a dispatch or a case of a run, each under the conditions in force there.

    Their ids follow from what they are, so that what is delivered twice is the same span. A record that lies in
    nothing, or that has no time on the host's clock, has no place in a trace.

    Args:
        directory: the run directory.
        run: the run's facts, of `run.json`.
        selection: which spans. Live ones of the program's own provider have their native spans delivered by us.
    """
    if not logs.logs_of(directory):
        return
    resources: dict[tuple[int, int], SharedResource] = {}
    for placed in native_spans(directory, _recorded(directory)).spans:
        if placed.window is None or placed.start_ns is None:
            continue
        owner = placed.window.owner
        if selection is not (Selection.SAMPLED if owner.span.carried.is_sampled else Selection.UNSAMPLED):
            continue
        key = (placed.span.pid, id(owner.span.conditions))
        if key not in resources:
            resources[key] = resource(_process(placed, owner), owner.span.conditions, run)
        yield _span(placed, placed.start_ns, owner, resources[key])


def _recorded(directory: Path) -> Iterator[tuple[Process, list[Span]]]:
    for path in layout.journals(directory):
        with suppress(reader.NotAJournalError):
            record = reader.Journal(path)
            yield record.process, [span for span in record.spans() if span.outcome != "running"]


def span_id(placed: Placed[Enclosing], trace_id: str) -> int:
    """Return the id of a native span: a hash of trace id, pid, tid, inv, name and start, as its marker has them."""
    span = placed.span
    identity = f"{trace_id} {span.pid} {span.tid} {span.inv} {span.name} {span.start_ns}"
    return int.from_bytes(hashlib.blake2b(identity.encode(), digest_size=8).digest(), "big") or 1


def _span(placed: Placed[Enclosing], start_ns: int, owner: Enclosing, of: SharedResource) -> ReadableSpan:
    trace_id = owner.span.trace_id
    above = placed.parent
    parent = int(owner.span.span_id, 16) if above is None or above.start_ns is None else span_id(above, trace_id)
    attributes = {
        **placed.attributes,
        "thread.id": placed.span.tid,
        "scenetest.ruler": owner.span.ruler,
        "scenetest.round": owner.span.round,
    }
    return ReadableSpan(
        name=text(placed.span.name),
        context=_context(trace_id, span_id(placed, trace_id)),
        parent=_context(trace_id, parent),
        resource=of,
        attributes=clean(attributes),
        kind=SpanKind.INTERNAL,
        start_time=owner.process.unix_ns(start_ns),
        end_time=owner.process.unix_ns(start_ns + placed.span.duration_ns),
        instrumentation_scope=SCOPE,
    )


def _process(placed: Placed[Enclosing], owner: Enclosing) -> Process:
    """The process that wrote the record: a forked worker shares all but its ids with the one that forked it."""
    pid = placed.span.pid
    if pid in (0, owner.process.pid):
        return owner.process
    return replace(owner.process, facts={**owner.process.facts, "pid": pid, "parent_pid": owner.process.pid})


def _context(trace_id: str, number: int) -> SpanContext:
    return SpanContext(int(trace_id, 16), number, False, TraceFlags(TraceFlags.SAMPLED))

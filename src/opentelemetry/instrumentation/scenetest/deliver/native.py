"""The native spans of a run as OpenTelemetry spans, under its dispatches."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanKind

from opentelemetry.instrumentation.scenetest.deliver.resources import SharedResource, resource
from opentelemetry.instrumentation.scenetest.deliver.spans import SCOPE
from opentelemetry.instrumentation.scenetest.deliver.withheld import Selection
from opentelemetry.instrumentation.scenetest.native.of_run import Enclosing, has_records, native_spans, recorded
from opentelemetry.instrumentation.scenetest.native.place import Placed
from opentelemetry.instrumentation.scenetest.rundir.process import ProcessRecord
from opentelemetry.instrumentation.scenetest.semantics import clean, span_context, text


def of_run(
    directory: Path, run: Mapping[str, Any], selection: Selection = Selection.SAMPLED
) -> Generator[ReadableSpan]:
    """Yield the native spans that lie in a dispatch or a case of a run, each under the conditions in force there.

    Their ids are derived from their contents, so a span that is delivered twice is the same span. A record that lies in
    no dispatch or case, or that has no time on the host's clock, is left out.

    Args:
        directory: the run directory.
        run: the fields of `run.json`.
        selection: which spans. Live ones of the program's own provider have their native spans delivered by us.
    """
    if not has_records(directory):
        return
    resources: dict[tuple[int, int], SharedResource] = {}
    for placed in native_spans(directory, recorded(directory)).spans:
        if placed.window is None or placed.start_ns is None:
            continue
        owner = placed.window.owner
        if selection is not (Selection.SAMPLED if owner.span.carried.is_sampled else Selection.UNSAMPLED):
            continue
        key = (placed.span.pid, id(owner.span.conditions))
        if key not in resources:
            resources[key] = resource(_process(placed, owner), owner.span.conditions, run)
        yield _span(placed, placed.start_ns, owner, resources[key])


def span_id(placed: Placed[Enclosing], trace_id: str) -> int:
    """Return the id of a native span: a hash of trace id, pid, tid, inv, name and start, as its marker has them."""
    span = placed.span
    identity = f"{trace_id} {span.pid} {span.tid} {span.inv} {span.name} {span.start_ns}"
    return int.from_bytes(hashlib.blake2b(identity.encode(), digest_size=8).digest(), "big") or 1


def _span(placed: Placed[Enclosing], start_ns: int, owner: Enclosing, of: SharedResource) -> ReadableSpan:
    trace_id = owner.span.trace_id
    above = placed.parent
    is_below = above is not None and above.start_ns is not None
    parent = f"{span_id(above, trace_id):016x}" if above is not None and is_below else owner.span.span_id
    attributes = {
        **placed.attributes,
        "thread.id": placed.span.tid,
        "scenetest.ruler": owner.span.ruler,
        "scenetest.round": owner.span.round,
    }
    return ReadableSpan(
        name=text(placed.span.name),
        context=span_context(trace_id, f"{span_id(placed, trace_id):016x}", owner.span.carried),
        parent=span_context(trace_id, parent, owner.span.carried),
        resource=of,
        attributes=clean(attributes),
        kind=SpanKind.INTERNAL,
        start_time=owner.process.unix_ns(start_ns),
        end_time=owner.process.unix_ns(start_ns + placed.span.duration_ns),
        instrumentation_scope=SCOPE,
    )


def _process(placed: Placed[Enclosing], owner: Enclosing) -> ProcessRecord:
    """Return the process that wrote the record. A forked worker differs from its parent in its ids only."""
    pid = placed.span.pid
    if pid in (0, owner.process.pid):
        return owner.process
    return replace(owner.process, facts={**owner.process.facts, "pid": pid, "parent_pid": owner.process.pid})

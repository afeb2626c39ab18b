"""What the program set on a span of ours, within the limits of OpenTelemetry, as parts of a `ReadableSpan`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeVar, cast

from opentelemetry.attributes import BoundedAttributes
from opentelemetry.sdk.trace import Event, SpanLimits
from opentelemetry.sdk.util import BoundedList
from opentelemetry.trace import Link, Status, StatusCode

from opentelemetry.instrumentation.scenetest.rundir.added import Added
from opentelemetry.instrumentation.scenetest.rundir.process import ProcessRecord
from opentelemetry.instrumentation.scenetest.semantics import clean, span_context, text
from opentelemetry.instrumentation.scenetest.traceparent import Carried

T = TypeVar("T")


@lru_cache(maxsize=1)
def limits() -> SpanLimits:
    """Return the limits that the environment sets."""
    return SpanLimits()


def attributes(added: Added, ours: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the attributes of a span within the limits. Ours win over those of the program, and are dropped last."""
    most, length = limits().max_span_attributes, limits().max_span_attribute_length
    dropped = added.dropped.get("attributes", 0)
    if not added.attributes and not dropped and length is None and (most is None or len(ours) <= most):
        return ours
    others = {key: value for key, value in _clean(added.attributes).items() if key not in ours}
    bounded = BoundedAttributes(most, {**others, **ours}, immutable=False, max_value_len=length)
    bounded.dropped += dropped
    return bounded


def events(added: Added, process: ProcessRecord) -> Sequence[Event]:
    """Return the events of a span, at times of the wall clock."""
    most, length = limits().max_event_attributes, limits().max_attribute_length
    found = [
        Event(
            text(event.name),
            BoundedAttributes(most, _clean(event.attributes), max_value_len=length),
            process.unix_ns(event.monotonic_ns or 0) if event.unix_ns is None else event.unix_ns,
        )
        for event in added.events
    ]
    return _bounded(found, limits().max_events, added.dropped.get("events", 0))


def links(added: Added, ours: Iterable[Link]) -> Sequence[Link]:
    """Return the links of a span, ours among them."""
    most, length = limits().max_link_attributes, limits().max_attribute_length
    found = [
        Link(
            span_context(link.trace_id, link.span_id, Carried(link.flags, link.state), remote=link.remote),
            BoundedAttributes(most, _clean(link.attributes), max_value_len=length),
        )
        for link in added.links
    ]
    return _bounded([*found, *ours], limits().max_links, added.dropped.get("links", 0))


def status(added: Added, ours: Status) -> Status:
    """Return the status that the program set, else ours."""
    if added.status is None:
        return ours
    code, description = added.status
    return Status(StatusCode[code], None if description is None else text(description))


def _bounded(items: Sequence[T], most: int | None, dropped: int) -> Sequence[T]:
    if not dropped and (most is None or len(items) <= most):
        return items
    kept = cast("Any", BoundedList(most))
    kept.extend(items)
    kept.dropped += dropped
    return cast("Sequence[T]", kept)


def _clean(found: Mapping[str, Any]) -> dict[str, Any]:
    scalars = clean({key: value for key, value in found.items() if not isinstance(value, list)})
    sequences = {
        text(key): [clean({"": each})[""] for each in cast("list[Any]", value)]
        for key, value in found.items()
        if isinstance(value, list)
    }
    return {**scalars, **sequences}

"""The OpenTelemetry span that the program sees inside a case, phase or dispatch.

It keeps the attributes, events, links, status and name that the program sets, within the limits of OpenTelemetry. They
stay in memory and are written when the span ends, because a write during a dispatch could wait for the disk.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Mapping
from functools import lru_cache
from typing import cast

from opentelemetry.trace import Span, SpanContext, SpanKind, Status, StatusCode, format_span_id, format_trace_id

from opentelemetry.instrumentation.scenetest import faults
from opentelemetry.instrumentation.scenetest.clock import monotonic_ns
from opentelemetry.instrumentation.scenetest.record import outcomes
from opentelemetry.instrumentation.scenetest.rundir import lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from opentelemetry.util.types import Attributes, AttributeValue

    from opentelemetry.instrumentation.scenetest.traceparent import Carried

_COUNT = 128
"""Default limit for the attributes, events and links of a span: the default of the OpenTelemetry SDK."""


class CurrentSpan(Span):
    """One of our spans as the program sees it. It ends when its `case`, `phase` or `dispatch` ends.

    Args:
        context: its ids and flags.
        carried: the flags and state that it propagates.
    """

    kind = SpanKind.INTERNAL
    parent = None
    """Not known here. Some propagators read this attribute from a recording span."""

    __slots__ = ("_attributes", "_context", "_dropped", "_ended", "_events", "_links", "_name", "_status", "carried")

    def __init__(self, context: SpanContext, carried: Carried) -> None:
        self.carried = carried
        self._context = context
        self._ended = False
        # The program sets nothing on most spans, so the containers are created only when needed.
        self._attributes: dict[str, object] | None = None
        self._events: deque[dict[str, object]] | None = None
        self._links: deque[dict[str, object]] | None = None
        self._status: list[str] | None = None
        self._name: str | None = None
        self._dropped: dict[str, int] | None = None

    def get_span_context(self) -> SpanContext:
        """Return the ids and flags of the span."""
        return self._context

    def is_recording(self) -> bool:
        """Return whether the span is open. An open span records even if not sampled: the journal holds all spans."""
        return not self._ended

    def set_attribute(self, key: str, value: AttributeValue) -> None:
        """Set an attribute."""
        self.set_attributes({key: value})

    def set_attributes(self, attributes: Mapping[str, AttributeValue]) -> None:
        """Set attributes. Above the limit, the oldest ones are dropped."""
        if self._ended:
            return
        try:
            if self._attributes is None:
                self._attributes = {}
            self._drop("attributes", _put(self._attributes, attributes, _limits().attributes))
        except Exception as error:
            faults.swallow("keep what was set on a span", error)

    def add_event(self, name: str, attributes: Attributes = None, timestamp: int | None = None) -> None:
        """Add an event. Above the limit, the oldest ones are dropped.

        Args:
            name: name of the event.
            attributes: its attributes.
            timestamp: Unix nanoseconds; None for now.
        """
        if self._ended:
            return
        try:
            at = {"unix": int(timestamp)} if timestamp is not None else {"at": monotonic_ns()}
            self._keep_event({"name": lines.text(name), **at, "attributes": _bounded(attributes)})
        except Exception as error:
            faults.swallow("keep what was set on a span", error)

    def add_link(self, context: SpanContext, attributes: Attributes = None) -> None:
        """Add a link. Above the limit, the oldest ones are dropped."""
        if self._ended or not context.is_valid:
            return
        try:
            if self._links is None:
                self._links = deque(maxlen=_limits().links)
            self._drop("links", len(self._links) == self._links.maxlen)
            link: dict[str, object] = {
                "trace": format_trace_id(context.trace_id),
                "id": format_span_id(context.span_id),
                "flags": int(context.trace_flags),
                "tracestate": context.trace_state.to_header(),
                "remote": context.is_remote,
                "attributes": _bounded(attributes),
            }
            self._links.append(link)
        except Exception as error:
            faults.swallow("keep what was set on a span", error)

    def update_name(self, name: str) -> None:
        """Rename the span."""
        if not self._ended:
            self._name = lines.text(name)

    def set_status(self, status: Status | StatusCode, description: str | None = None) -> None:
        """Set the status. As in the SDK, OK is final and UNSET is ignored."""
        code = status.status_code if isinstance(status, Status) else status
        if self._ended or code is StatusCode.UNSET or (self._status is not None and self._status[0] == "OK"):
            return
        text = status.description if isinstance(status, Status) else description
        self._status = [code.name] if code is StatusCode.OK or text is None else [code.name, lines.text(text)]

    def record_exception(
        self,
        exception: BaseException,
        attributes: Attributes = None,
        timestamp: int | None = None,
        escaped: bool = False,
    ) -> None:
        """Add an event `exception` with type, message and stack trace; long texts are cut."""
        try:
            described = {**outcomes.describe(exception), **(attributes or {})}
        except Exception as error:
            faults.swallow("describe an exception", error)
            return
        self.add_event("exception", described, timestamp)

    def end(self, end_time: int | None = None) -> None:
        """Do nothing: the span ends when its `case`, `phase` or `dispatch` ends."""

    def finish(self, event: dict[str, object] | None = None) -> dict[str, object]:
        """End the span, and return what the program set on it, in the form of the journal.

        Args:
            event: the event `exception`, if an exception ended the span.

        Returns:
            The fields that were set; empty if none was.
        """
        self._ended = True
        if event is not None:
            self._keep_event(event)
        found: dict[str, object] = {
            "attributes": self._attributes,
            "events": self._events and list(self._events),
            "links": self._links and list(self._links),
            "status": self._status,
            "name": self._name,
            "dropped": self._dropped,
        }
        return {key: value for key, value in found.items() if value}

    def _keep_event(self, event: dict[str, object]) -> None:
        if self._events is None:
            self._events = deque(maxlen=_limits().events)
        self._drop("events", len(self._events) == self._events.maxlen)
        self._events.append(event)

    def _drop(self, kind: str, number: int) -> None:
        if number:
            self._dropped = self._dropped or {}
            self._dropped[kind] = self._dropped.get(kind, 0) + number


class _Limits:
    """The limits from OpenTelemetry's environment variables. The more specific variable takes precedence."""

    def __init__(self) -> None:
        every = _limit("OTEL_ATTRIBUTE_COUNT_LIMIT", _COUNT)
        self.attributes = _limit("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", every)
        self.of_event = _limit("OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT", every)
        self.events = _limit("OTEL_SPAN_EVENT_COUNT_LIMIT", _COUNT)
        self.links = _limit("OTEL_SPAN_LINK_COUNT_LIMIT", _COUNT)


def _limit(name: str, default: int) -> int:
    given = os.environ.get(name, "").strip()
    return int(given) if given.isdecimal() else default


@lru_cache(maxsize=1)
def _limits() -> _Limits:
    return _Limits()


def _bounded(attributes: Attributes) -> dict[str, object]:
    kept: dict[str, object] = {}
    _put(kept, attributes or {}, _limits().of_event)
    return kept


def _put(kept: dict[str, object], attributes: Mapping[str, Any], limit: int) -> int:
    """Set attributes, drop the oldest above the limit, and return how many were dropped."""
    dropped = 0
    for key, value in attributes.items():
        if not isinstance(cast(object, key), str) or not key or value is None:
            continue
        kept.pop(key, None)
        kept[key] = lines.added_value(value)
        if len(kept) > limit:
            del kept[next(iter(kept))]
            dropped += 1
    return dropped

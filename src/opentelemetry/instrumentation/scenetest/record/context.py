"""Where our spans meet OpenTelemetry's current context, without importing it for a process that does not use it."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from opentelemetry.context import Context

_API = "opentelemetry.trace"


class Parent:
    """The span that a case continues, as lower-case hexadecimal ids."""

    __slots__ = ("id", "trace")

    def __init__(self, trace: str, span: str) -> None:
        self.trace = trace
        self.id = span


def in_use() -> bool:
    """Tell whether anything in the process could use a current span: whether somebody imported the API."""
    return _API in sys.modules


def parent() -> Parent | None:
    """Return the caller's current span, else the `TRACEPARENT` that the user set, else nothing."""
    if in_use():
        from opentelemetry import trace

        current = trace.get_current_span().get_span_context()
        if current.is_valid:
            return Parent(trace.format_trace_id(current.trace_id), trace.format_span_id(current.span_id))
    return _from_traceparent(os.environ.get("TRACEPARENT", ""))


def _from_traceparent(header: str) -> Parent | None:
    # https://www.w3.org/TR/trace-context/#traceparent-header: version-trace-parent-flags, all lower-case hexadecimal
    parts = header.strip().split("-")
    if len(parts) < 4 or [len(part) for part in parts[:4]] != [2, 32, 16, 2] or parts[0] == "ff":
        return None
    if not set("".join(parts[:4])) <= set("0123456789abcdef") or not (int(parts[1], 16) and int(parts[2], 16)):
        return None
    return Parent(parts[1], parts[2])


def attach(trace_id: str, span_id: str) -> Context:
    """Make a span of ours the current one, and return the context to go back to.

    Sampled, since the user's own spans below an unsampled one would not reach the user's backend.
    """
    from opentelemetry import context, trace

    ours = trace.SpanContext(int(trace_id, 16), int(span_id, 16), False, trace.TraceFlags(trace.TraceFlags.SAMPLED))
    before = context.get_current()
    context.attach(trace.set_span_in_context(trace.NonRecordingSpan(ours), before))
    return before


def restore(span_id: str, before: Context) -> None:
    """Go back to the context before `attach`, unless somebody else's span is current by now."""
    from opentelemetry import context, trace

    if trace.get_current_span().get_span_context().span_id == int(span_id, 16):
        context.attach(before)

"""Where our spans meet OpenTelemetry's current context, without importing it for a process that does not use it."""

from __future__ import annotations

import os
import sys

from opentelemetry.instrumentation.scenetest.record.finder import is_initializing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span

    Attached = tuple[Context, Context, Span]

_API = "opentelemetry.trace"


class Parent:
    """The span that a case continues, as lower-case hexadecimal ids."""

    __slots__ = ("id", "trace")

    def __init__(self, trace: str, span: str) -> None:
        self.trace = trace
        self.id = span


def in_use() -> bool:
    """Tell whether anything in the process could use a current span: whether somebody imported the API.

    An import that is still going on does not count. In a forked child it may never end.
    """
    api = sys.modules.get(_API)
    if api is None:
        return False
    return _api is not None or not is_initializing(api)


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


def attach(trace_id: str, span_id: int) -> Attached:
    """Make a span of ours the current one, and return what `restore` needs.

    Sampled, since the user's own spans below an unsampled one would not reach the user's backend.
    """
    api = _api or _Api()
    return attach_span(api.span(api.span_context(int(trace_id, 16), span_id, False, api.sampled)))


def attach_span(span: Span) -> Attached:
    """Make any span the current one, and return what `restore` needs."""
    api = _api or _Api()
    before = api.get_current()
    ours = api.set_span_in_context(span, before)
    api.attach(ours)
    return before, ours, span


def restore(attached: Attached) -> None:
    """Go back to the context before `attach`, unless somebody else's span is current by now."""
    api = _api or _Api()
    before, ours, span = attached
    # To look at the span takes five times as long as to look at the context, which is mostly still the same.
    if api.get_current() is ours or api.get_current_span() is span:
        api.attach(before)


class _Api:
    """The parts of the API that a dispatch needs, looked up once: an import statement costs as much as the call."""

    def __init__(self) -> None:
        global _api
        from opentelemetry import context, trace

        self.attach = context.attach
        self.get_current = context.get_current
        self.get_current_span = trace.get_current_span
        self.set_span_in_context = trace.set_span_in_context
        self.span = trace.NonRecordingSpan
        self.span_context = trace.SpanContext
        self.sampled = trace.TraceFlags(trace.TraceFlags.SAMPLED)
        _api = self


_api: _Api | None = None

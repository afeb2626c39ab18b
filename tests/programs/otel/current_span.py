"""Uses the whole API of the current span, inside a case and inside a dispatch."""

from __future__ import annotations

from opentelemetry.trace import SpanContext, Status, StatusCode, TraceFlags

from opentelemetry import trace
from opentelemetry.instrumentation.scenetest import case, dispatch, instrument

instrument()
with case("S", "c"):
    of_case = trace.get_current_span()
    assert of_case.is_recording()
    of_case.set_attribute("note", "first")
    of_case.set_attributes({"note": "second", "scenetest.ruler": "mine", "sizes": [1, 2], "odd": "\udc80"})
    with dispatch():
        span = trace.get_current_span()
        span.add_event("half", {"percent": 50})
        span.add_event("earlier", timestamp=1_700_000_000_000_000_000)
        span.add_link(SpanContext(1 << 100, 7, is_remote=True, trace_flags=TraceFlags(0)), {"why": "cause"})
        span.record_exception(KeyError("handled"))
        span.update_name("renamed")
        span.set_status(Status(StatusCode.OK))
        span.set_status(StatusCode.ERROR, "too late")
        span.end()
        span.set_attribute("after", "end() by the program")
    span.set_attribute("too", "late")
    assert not span.is_recording()
    try:
        with dispatch():
            trace.get_current_span().set_status(StatusCode.ERROR, "by the program")
            raise ValueError("no device")
    except ValueError:
        pass
    with dispatch():
        for number in range(200):
            trace.get_current_span().set_attribute(f"key{number}", number)
            trace.get_current_span().add_event(f"event{number}")

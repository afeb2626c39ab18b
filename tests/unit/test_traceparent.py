"""`TRACEPARENT` as the API of OpenTelemetry takes it, checked against the API itself."""

from __future__ import annotations

import pytest
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from opentelemetry import trace
from opentelemetry.instrumentation.scenetest import traceparent

T, S = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.mark.parametrize(
    "header",
    [
        f"00-{T}-{S}-01",
        f"00-{T}-{S}-00",
        f"00-{T}-{S}-ff",
        f" \t00-{T}-{S}-01 \t",
        f"00-{T}-{S}-01-extra",
        f"00-{T}-{S}-01-",
        f"cc-{T}-{S}-01-extra",
        f"cc-{T}-{S}-01",
        f"ff-{T}-{S}-01",
        f"00-{'0' * 32}-{S}-01",
        f"00-{T}-{'0' * 16}-01",
        f"00-{T.upper()}-{S}-01",
        f"00-{T}-{S}",
        f"00-{T}-{S}-1",
        f"00-{T}-{S}-01\n",
        f"cc-{T}-{S}-01-{'x' * 500}",
        "garbage",
        "",
    ],
)
def test_a_header_is_taken_or_refused_as_the_api_does(header: str) -> None:
    carrier = {"traceparent": header, "tracestate": "vendor=1"}
    span = trace.get_current_span(TraceContextTextMapPropagator().extract(carrier)).get_span_context()
    found = traceparent.parse(header, "vendor=1")
    if not span.is_valid:
        assert found is None
        return
    assert found is not None
    assert (int(found.trace, 16), int(found.id, 16)) == (span.trace_id, span.span_id)
    assert (found.carried.flags, found.carried.state) == (span.trace_flags, span.trace_state.to_header())
    assert found.remote is span.is_remote is True

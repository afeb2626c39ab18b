"""Sets a hundred attributes on the current span of a dispatch and of a case. The provider's limit is sixty."""

from __future__ import annotations

from opentelemetry.sdk.trace import SpanLimits
from provider import make_provider, trace

from opentelemetry.instrumentation.scenetest import case, dispatch, instrument

instrument(tracer_provider=make_provider(span_limits=SpanLimits(max_span_attributes=60)))
with case("S", "c", level=2):
    with dispatch():
        trace.get_current_span().set_attributes({f"mine.{number}": number for number in range(100)})
    trace.get_current_span().set_attributes({f"mine.{number}": number for number in range(100)})

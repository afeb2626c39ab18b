"""Prints what `inject()` propagates inside a dispatch, and the spans that the program's provider exported."""

from __future__ import annotations

import json
import sys

from opentelemetry.propagate import inject
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ParentBased
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from opentelemetry import context, trace
from opentelemetry.instrumentation.scenetest import case, dispatch, instrument

exported = InMemorySpanExporter()
provider = TracerProvider(sampler=ParentBased(ALWAYS_OFF) if "off" in sys.argv else None)
provider.add_span_processor(SimpleSpanProcessor(exported))
trace.set_tracer_provider(provider)
instrument()
if "incoming" in sys.argv:
    header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
    carrier = {"traceparent": header, "tracestate": "vendor=1"}
    context.attach(TraceContextTextMapPropagator().extract(carrier))
headers: dict[str, str] = {}
with case("S", "outer"), case("S", "c"), dispatch():
    inject(headers)
    with trace.get_tracer("user").start_as_current_span("inner"):
        pass
print(json.dumps({**headers, "exported": [span.name for span in exported.get_finished_spans()]}))

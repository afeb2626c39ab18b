"""A tracer provider whose exporter writes one JSON line per span to the file `SPANS`."""

import json
import os
from collections.abc import Callable
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor as BatchSpanProcessor
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

from opentelemetry import trace as trace


def line(span: ReadableSpan) -> str:
    scope, context = span.instrumentation_scope, span.context
    assert context is not None
    fields = {
        "name": span.name,
        "trace": f"{context.trace_id:032x}",
        "id": f"{context.span_id:016x}",
        "parent": f"{span.parent.span_id:016x}" if span.parent else None,
        "attributes": dict(span.attributes or {}),
        "status": [span.status.status_code.name, span.status.description],
        "start": span.start_time,
        "end": span.end_time,
        "scope": scope.name if scope else None,
        "pid": os.getpid(),
        "links": [f"{link.context.trace_id:032x}" for link in span.links],
    }
    return json.dumps(fields) + "\n"


def make_provider(
    processor: Callable[[ConsoleSpanExporter], SpanProcessor] = SimpleSpanProcessor, **arguments: Any
) -> TracerProvider:
    provider = TracerProvider(**arguments)
    spans = open(os.environ["SPANS"], "a")  # noqa: SIM115
    provider.add_span_processor(processor(ConsoleSpanExporter(out=spans, formatter=line)))
    return provider

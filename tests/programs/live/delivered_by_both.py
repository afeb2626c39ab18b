"""A backend to which both providers deliver gets each span once."""

from __future__ import annotations

import subprocess
import sys

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from opentelemetry.instrumentation.scenetest import case, dispatch, instrument

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
instrument(tracer_provider=provider)
with case("S", "c"):
    for _ in range(3):
        with dispatch():
            pass
child = "from opentelemetry.instrumentation.scenetest import dispatch\nwith dispatch(): pass"
subprocess.run([sys.executable, "-c", child], check=True)

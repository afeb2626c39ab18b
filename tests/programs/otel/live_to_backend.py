"""Makes live spans on its own provider, which exports to the endpoint `SINK`. `EXIT` is its exit code."""

from __future__ import annotations

import os
import sys
import time

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from opentelemetry.instrumentation.scenetest import case, dispatch, instrument

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{os.environ['SINK']}/v1/traces")))
instrument(tracer_provider=provider)
with case("S", "live", level=2):
    for _ in range(4):
        with dispatch():
            time.sleep(0.002)
sys.exit(int(os.environ.get("EXIT", "0")))

"""A forked child waits one second for a dead backend, and no longer."""

from __future__ import annotations

import json
import multiprocessing
import os
import time
from collections.abc import Sequence

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from opentelemetry.instrumentation.scenetest import dispatch, instrument


class BlackHole(SpanExporter):
    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        time.sleep(20)
        return SpanExportResult.SUCCESS


provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(BlackHole()))
instrument(tracer_provider=provider)


def work() -> None:
    with dispatch():
        pass


child = multiprocessing.get_context("fork").Process(target=work)
start = time.monotonic()
child.start()
child.join()
assert child.exitcode == 0
with open(os.environ["SPANS"], "w") as file:
    file.write(json.dumps({"seconds": time.monotonic() - start}) + "\n")

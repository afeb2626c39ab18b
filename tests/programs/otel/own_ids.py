"""Uses its own id generator, whose trace ids begin with the time, like those of AWS X-Ray."""

from __future__ import annotations

import os
import sys

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator

from opentelemetry import trace
from opentelemetry.instrumentation.scenetest import case, dispatch, instrument


class Generator(RandomIdGenerator):
    def generate_trace_id(self) -> int:
        if "fails" in sys.argv:
            raise RuntimeError("no ids")
        return 0x6543210F << 96 | int.from_bytes(os.urandom(12), "big")

    def is_trace_id_random(self) -> bool:
        return False


trace.set_tracer_provider(TracerProvider(id_generator=Generator()))
instrument()
for name in ("a", "b"):
    with case("S", name), dispatch():
        found = trace.get_current_span().get_span_context()
        print(f"{found.trace_id:032x} {int(found.trace_flags):02x}")

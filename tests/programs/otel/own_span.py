"""Makes its own span inside a dispatch."""

from __future__ import annotations

from opentelemetry import trace
from opentelemetry.instrumentation.scenetest import case, dispatch

with case("S", "c"), dispatch(), trace.get_tracer("user").start_as_current_span("mine"):
    pass

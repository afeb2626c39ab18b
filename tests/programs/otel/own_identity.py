"""Identifies itself by the resource of its own tracer provider."""

from __future__ import annotations

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider

from opentelemetry import trace
from opentelemetry.instrumentation.scenetest import case, dispatch

trace.set_tracer_provider(
    TracerProvider(resource=Resource.create({"service.name": "own", "service.instance.id": "seven"}))
)
with case("S", "c"), dispatch():
    pass

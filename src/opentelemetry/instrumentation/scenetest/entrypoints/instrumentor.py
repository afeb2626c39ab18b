"""The entry point for `opentelemetry-instrument` and for programs that use instrumentors."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from opentelemetry.instrumentation.instrumentor import BaseInstrumentor

from opentelemetry import trace
from opentelemetry.instrumentation import scenetest
from opentelemetry.instrumentation.scenetest import faults
from opentelemetry.instrumentation.scenetest.entrypoints import own_exporter


class SceneTestInstrumentor(BaseInstrumentor):
    """`instrument()` and `uninstrument()` in the form that OpenTelemetry's tools know."""

    def instrumentation_dependencies(self) -> Collection[str]:
        """Return nothing: an instrumentor whose dependency is not installed is skipped in silence."""
        return ()

    def _instrument(self, **kwargs: Any) -> None:
        provider = kwargs.get("tracer_provider")
        scenetest.instrument(tracer_provider=provider, journal_dir=kwargs.get("journal_dir"))
        present = provider or trace.get_tracer_provider()
        not_real = trace.ProxyTracerProvider, trace.NoOpTracerProvider
        if said := own_exporter.problem(has_provider=not isinstance(present, not_real)):
            faults.warn_once(said)

    def _uninstrument(self, **kwargs: Any) -> None:
        scenetest.uninstrument()

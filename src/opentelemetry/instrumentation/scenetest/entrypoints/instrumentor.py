"""The entry point for `opentelemetry-instrument` and for programs that use instrumentors."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from opentelemetry.instrumentation.instrumentor import BaseInstrumentor

from opentelemetry.instrumentation import scenetest


class SceneTestInstrumentor(BaseInstrumentor):
    """`instrument()` and `uninstrument()` in the form that OpenTelemetry's tools know."""

    def instrumentation_dependencies(self) -> Collection[str]:
        """Return nothing: an instrumentor whose dependency is not installed is skipped in silence."""
        return ()

    def _instrument(self, **kwargs: Any) -> None:
        scenetest.instrument(tracer_provider=kwargs.get("tracer_provider"), journal_dir=kwargs.get("journal_dir"))

    def _uninstrument(self, **kwargs: Any) -> None:
        scenetest.uninstrument()

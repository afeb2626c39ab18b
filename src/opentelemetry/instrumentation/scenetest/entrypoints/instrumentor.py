"""The instrumentor, for `opentelemetry-instrument` and for programs that use instrumentors."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from opentelemetry.instrumentation.instrumentor import BaseInstrumentor

from opentelemetry import trace
from opentelemetry.instrumentation import scenetest
from opentelemetry.instrumentation.scenetest import faults
from opentelemetry.instrumentation.scenetest.entrypoints import own_exporter
from opentelemetry.instrumentation.scenetest.record.state import state


class SceneTestInstrumentor(BaseInstrumentor):
    """`instrument()` and `uninstrument()` as an OpenTelemetry instrumentor.

    The functions and the instrumentor may be mixed: a process of a run is instrumented before its program begins.
    """

    @property
    def is_instrumented_by_opentelemetry(self) -> bool:
        """Whether this process is instrumented, by the instrumentor or otherwise."""
        return state.instrumented

    def instrument(self, **kwargs: Any) -> None:
        """Instrument this process.

        Args:
            kwargs: `tracer_provider` and `journal_dir`, as for `instrument()`. Others are ignored.
        """
        self._is_instrumented_by_opentelemetry = self._is_instrumented_by_opentelemetry and state.instrumented
        super().instrument(**kwargs)

    def uninstrument(self, **kwargs: Any) -> None:
        """Restore everything that `instrument` changed."""
        self._is_instrumented_by_opentelemetry = state.instrumented
        super().uninstrument(**kwargs)

    def instrumentation_dependencies(self) -> Collection[str]:
        """Return nothing. OpenTelemetry silently skips an instrumentor whose dependencies are not installed."""
        return ()

    def _instrument(self, **kwargs: Any) -> None:
        provider = kwargs.get("tracer_provider")
        scenetest.instrument(tracer_provider=provider, journal_dir=kwargs.get("journal_dir"))
        present = provider or trace.get_tracer_provider()
        not_real = trace.ProxyTracerProvider, trace.NoOpTracerProvider
        if problem := own_exporter.problem(has_provider=not isinstance(present, not_real)):
            faults.warn_once(problem)

    def _uninstrument(self, **kwargs: Any) -> None:
        scenetest.uninstrument()

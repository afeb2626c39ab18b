"""What scenetest_otel.pth calls in every Python process of a run, before the process does anything of its own."""

from __future__ import annotations


def join() -> None:
    """Join the run whose directory is in `SCENETEST_OTEL_RUN`. Faults end in `instrument()`."""
    from opentelemetry.instrumentation import scenetest

    scenetest.instrument()

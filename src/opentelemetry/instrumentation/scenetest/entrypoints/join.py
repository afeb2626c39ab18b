"""The function that scenetest_otel.pth calls in every Python process of a run, before the program begins."""

from __future__ import annotations


def join() -> None:
    """Join the run whose directory is in `SCENETEST_OTEL_RUN`. `instrument()` catches all errors."""
    from opentelemetry.instrumentation import scenetest

    scenetest.instrument()

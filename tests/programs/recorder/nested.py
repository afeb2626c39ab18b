"""Nested cases and dispatches keep their parents."""

from __future__ import annotations

from opentelemetry.instrumentation.scenetest import case, dispatch, instrument, phase

instrument()
with case("S", "outer"):
    with dispatch(), dispatch():
        pass
    with case("S", "inner"), phase("args"), dispatch():
        pass

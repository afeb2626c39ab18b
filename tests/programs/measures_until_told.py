"""Measures until a line arrives on standard input."""

from __future__ import annotations

from opentelemetry.instrumentation.scenetest import case, dispatch, instrument

instrument()
with case("S", "waits"), dispatch():
    print("measures", flush=True)
    input()

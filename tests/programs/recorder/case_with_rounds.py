"""A case records its phases and its dispatches in order."""

from __future__ import annotations

from opentelemetry.instrumentation.scenetest import case, dispatch, instrument, phase

instrument()
with case("TestVector", "default", level=2, platform="a2a3sim", runtime="host_build_graph", batch=4):
    with phase("golden"):
        pass
    for _ in range(3):
        with dispatch():
            pass

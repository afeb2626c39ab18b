"""Cases, dispatches and the program's own spans inside them, each cold and warm."""

from __future__ import annotations

from provider import make_provider

from opentelemetry.instrumentation.scenetest import case, dispatch, instrument, phase

provider = make_provider()
tracer = provider.get_tracer("user")
instrument(tracer_provider=provider)
for _ in range(100):
    with case("S", "c"):
        with phase("args"), tracer.start_as_current_span("in phase"):
            pass
        with dispatch(), tracer.start_as_current_span("in dispatch"):
            pass

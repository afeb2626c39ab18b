"""The program's own spans are above and below ours."""

from __future__ import annotations

from provider import make_provider

from opentelemetry import trace
from opentelemetry.instrumentation.scenetest import case, dispatch, instrument

provider = make_provider()
tracer = provider.get_tracer("user")
instrument(tracer_provider=provider)
with tracer.start_as_current_span("above") as above:
    with case("S", "c"), dispatch(), tracer.start_as_current_span("below"):
        pass
    assert trace.get_current_span() is above

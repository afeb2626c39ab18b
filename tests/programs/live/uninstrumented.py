"""`uninstrument()` restores the provider."""

from __future__ import annotations

from provider import make_provider

from opentelemetry.instrumentation.scenetest import case, dispatch, instrument, uninstrument

provider = make_provider()
instrument(tracer_provider=provider)
with case("S", "first"), dispatch():
    pass
with dispatch(callable="f"):
    pass
uninstrument()
instrument()
with case("S", "second"), dispatch():
    pass

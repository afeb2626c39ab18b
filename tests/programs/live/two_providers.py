"""Makes spans on one provider, then on another. Neither is shut down at exit. The arguments say which are flushed."""

from __future__ import annotations

import sys

from provider import BatchSpanProcessor, make_provider

from opentelemetry.instrumentation.scenetest import case, instrument

for name in ("first", "second"):
    provider = make_provider(BatchSpanProcessor, shutdown_on_exit=False)
    instrument(tracer_provider=provider)
    with case("S", name):
        pass
    if name in sys.argv:
        provider.force_flush()

"""Dispatches outside any case, and shuts its provider down at the end."""

from __future__ import annotations

from provider import BatchSpanProcessor, make_provider

from opentelemetry.instrumentation.scenetest import dispatch, instrument, uninstrument

provider = make_provider(BatchSpanProcessor, shutdown_on_exit=False)
instrument(tracer_provider=provider)
with dispatch(callable="f"):
    pass
provider.shutdown()
assert "shutdown" not in vars(provider)
uninstrument()

"""Makes three spans on a provider that is not shut down at exit. The arguments say what the program does with it.

`flush` or `shutdown` comes after the spans, `early` is a flush before the last one.
"""

from __future__ import annotations

import sys

from provider import BatchSpanProcessor, make_provider

from opentelemetry.instrumentation.scenetest import case, dispatch, instrument

provider = make_provider(BatchSpanProcessor, shutdown_on_exit="exit" in sys.argv)
instrument(tracer_provider=provider)
with case("S", "c"):
    with dispatch():
        pass
    if "early" in sys.argv:
        provider.force_flush()
    with dispatch():
        pass
if "flush" in sys.argv:
    provider.force_flush()
if "shutdown" in sys.argv:
    provider.shutdown()

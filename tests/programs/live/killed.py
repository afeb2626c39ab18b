"""Makes spans on a provider that never exports its batch, then is killed."""

from __future__ import annotations

import os
import signal

from provider import BatchSpanProcessor, make_provider

from opentelemetry.instrumentation.scenetest import case, dispatch, instrument

instrument(tracer_provider=make_provider(BatchSpanProcessor))
with case("S", "c"):
    for _ in range(3):
        with dispatch():
            pass
    os.kill(os.getpid(), signal.SIGKILL)

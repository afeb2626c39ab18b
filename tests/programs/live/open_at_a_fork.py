"""A span that is open at a fork is exported once by the parent."""

from __future__ import annotations

import os

from provider import make_provider

from opentelemetry.instrumentation.scenetest import case, dispatch, instrument

instrument(tracer_provider=make_provider())
with case("S", "c"):
    with dispatch():
        child = os.fork()
        if child == 0:
            with case("S", "child"), dispatch():
                pass
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)

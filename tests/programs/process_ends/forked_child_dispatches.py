"""A forked child that dispatches is recorded as its own process."""

from __future__ import annotations

import os

from opentelemetry.instrumentation.scenetest import case, dispatch, instrument

instrument()
with case("S", "parent"):
    with dispatch():
        pass
    child = os.fork()
    if child == 0:
        with dispatch():
            pass
        with case("S", "child"), dispatch():
            pass
        os._exit(0)
    os.waitpid(child, 0)
    with dispatch():
        pass

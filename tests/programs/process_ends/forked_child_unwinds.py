"""A forked child that leaves the case of its parent writes nothing about that."""

from __future__ import annotations

import os

from opentelemetry.instrumentation.scenetest import case, dispatch, instrument

instrument()
pid = os.getpid()
with case("S", "parent"):
    with dispatch():
        child = os.fork()
    if child:
        os.waitpid(child, 0)

"""A forked child that unwinds the parents case writes nothing of it."""

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

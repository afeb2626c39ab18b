"""Each entry of the same object is a new span."""

from __future__ import annotations

from opentelemetry.instrumentation.scenetest import case, dispatch, instrument, phase

instrument()
again, once = case("S", "again"), dispatch()
for _ in range(2):
    with again, once, once:
        pass
with again, once:
    with again, once:
        pass
    with phase("after"):
        pass
with dispatch():
    pass

"""Memory does not grow with the number of dispatches."""

from __future__ import annotations

import gc
import tracemalloc

from opentelemetry.instrumentation.scenetest import case, dispatch, instrument

instrument()
with case("S", "c"):

    def many() -> None:
        for _ in range(5000):
            with dispatch():
                pass

    many()
    tracemalloc.start()
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    many()
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
assert after - before < 4096, after - before

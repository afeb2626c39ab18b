"""`instrument()` is idempotent and fast."""

from __future__ import annotations

import sys
import time

from opentelemetry.instrumentation.scenetest import case, dispatch, instrument

start = time.process_time()
instrument()
cost = time.process_time() - start
finders = list(sys.meta_path)
instrument()
assert sys.meta_path == finders
assert cost < 3 * 0.025, cost
with case("S", "c"), dispatch():
    pass

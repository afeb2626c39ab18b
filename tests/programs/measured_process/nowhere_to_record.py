"""Without an endpoint and a store, only the log line is written."""

from __future__ import annotations

import logging
import os

from opentelemetry.instrumentation.scenetest import case, dispatch, instrument

logging.basicConfig(level=25, format="%(levelno)d %(name)s %(message)s")
instrument()
for name in "ab":
    with case("S", name), dispatch():
        pass
assert "SCENETEST_OTEL_RUN" not in os.environ

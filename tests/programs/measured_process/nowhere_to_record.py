"""With no endpoint and no directory there is nothing but the log line."""

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

"""Recording sets one environment variable, and removes it again."""

from __future__ import annotations

import os

from opentelemetry.instrumentation.scenetest import case, dispatch, instrument, uninstrument

before = dict(os.environ)
instrument()
assert set(os.environ) - set(before) == {"SCENETEST_OTEL_RUN"}
with case("S", "c"), dispatch():
    pass
uninstrument()
assert dict(os.environ) == before

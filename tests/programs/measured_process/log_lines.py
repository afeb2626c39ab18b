"""The log line is printed before the first dispatch, or at the end of a case without one."""

from __future__ import annotations

import logging

from opentelemetry.instrumentation.scenetest import case, dispatch, instrument

logging.basicConfig(level=25, format="%(message).22s")
log = logging.getLogger("simpler").warning
instrument()
with case("S", "no dispatch"):
    log("case")
log("after")
with case("S", "dispatch"), dispatch():
    log("dispatch")

"""Sets a named tracer provider after its journal was opened; with `last`, after its last case."""

from __future__ import annotations

import sys

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider

from opentelemetry import trace
from opentelemetry.instrumentation.scenetest import case, dispatch, instrument

instrument()
with case("S", "early"), dispatch():
    pass
identity = {"service.name": "own", "service.instance.id": "seven", "deployment.environment.name": "lab"}
trace.set_tracer_provider(TracerProvider(resource=Resource.create(identity)))
if "last" not in sys.argv:
    with case("S", "late"), dispatch():
        pass

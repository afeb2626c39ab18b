"""Uses the instrumentor and the plain functions alternately. Records one case, after the last `instrument()`."""

from __future__ import annotations

from opentelemetry.instrumentation.scenetest import SceneTestInstrumentor, case, instrument, uninstrument

instrumentor = SceneTestInstrumentor()
assert SceneTestInstrumentor() is instrumentor
assert not instrumentor.is_instrumented_by_opentelemetry

instrument()
assert instrumentor.is_instrumented_by_opentelemetry
instrumentor.uninstrument()
assert not instrumentor.is_instrumented_by_opentelemetry
with case("off", "c"):
    pass

instrumentor.instrument()
uninstrument()
assert not instrumentor.is_instrumented_by_opentelemetry
with case("off", "c"):
    pass

instrumentor.instrument()
assert instrumentor.is_instrumented_by_opentelemetry
with case("again", "c"):
    pass

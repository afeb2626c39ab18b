"""A forked child that ends with os._exit sends the spans of a batch processor."""

from __future__ import annotations

import multiprocessing

from opentelemetry.sdk.trace.export import BatchSpanProcessor
from provider import make_provider

from opentelemetry.instrumentation.scenetest import dispatch, instrument

provider = make_provider(BatchSpanProcessor)
instrument(tracer_provider=provider)


def work() -> None:
    with dispatch(callable="work"):
        pass


children = [multiprocessing.get_context("fork").Process(target=work) for _ in range(3)]
for child in children:
    child.start()
for child in children:
    child.join()
assert [child.exitcode for child in children] == [0, 0, 0]

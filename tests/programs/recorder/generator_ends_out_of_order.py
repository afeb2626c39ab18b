"""A generator that ends out of order leaves no case open."""

from __future__ import annotations

from collections.abc import Generator

from opentelemetry.instrumentation.scenetest import case, dispatch, instrument

instrument()


def held(name: str) -> Generator[None]:
    with case("S", name):
        yield


first, second = held("first"), held("second")
next(first)
next(second)
first.close()
with dispatch():
    pass
second.close()
with dispatch():
    pass

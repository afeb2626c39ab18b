"""Dispatches in a thread pool that outlives its first case."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from opentelemetry.instrumentation.scenetest import case, dispatch, instrument


def work(_: int) -> None:
    with dispatch():
        pass


instrument()
with ThreadPoolExecutor(2) as pool:
    for name in ("first", "second"):
        with case("S", name, rounds=4):
            list(pool.map(work, range(4)))
    list(pool.map(work, range(3)))

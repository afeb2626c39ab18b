"""Dispatches in the children of a pool that was forked inside a case and outlives it."""

from __future__ import annotations

import multiprocessing

from opentelemetry.instrumentation.scenetest import case, dispatch, instrument


def work(_: int) -> None:
    with dispatch():
        pass


instrument()
with case("S", "c", level=2, rounds=4):
    pool = multiprocessing.get_context("fork").Pool(2)
    pool.map(work, range(4), chunksize=1)
pool.map(work, range(2), chunksize=1)
pool.close()
pool.join()

"""Dispatches in a third thread and in the main thread, while two threads have a case each."""

from __future__ import annotations

import threading

from opentelemetry.instrumentation.scenetest import case, dispatch, instrument

instrument()
both = threading.Barrier(3)
done = threading.Event()


def hold(name: str) -> None:
    with case("S", name):
        both.wait()
        done.wait()
        with dispatch():
            pass


def work() -> None:
    for _ in range(2):
        with dispatch():
            pass


holders = [threading.Thread(target=hold, args=(name,)) for name in "ab"]
for thread in holders:
    thread.start()
both.wait()
worker = threading.Thread(target=work)
worker.start()
worker.join()
with dispatch():
    pass
done.set()
for thread in holders:
    thread.join()

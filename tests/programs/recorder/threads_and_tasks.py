"""Threads and tasks don't mix up their cases."""

from __future__ import annotations

import asyncio
import threading

from opentelemetry.instrumentation.scenetest import case, dispatch, instrument

instrument()


def work(name: str) -> None:
    with case("thread", name):
        for _ in range(50):
            with dispatch():
                pass


threads = [threading.Thread(target=work, args=(str(n),)) for n in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()


async def task(name: str) -> None:
    with case("task", name):
        for _ in range(5):
            with dispatch():
                await asyncio.sleep(0)


async def main() -> None:
    await asyncio.gather(*(task(str(n)) for n in range(4)))


asyncio.run(main())

"""The context managers can decorate every kind of function."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

from opentelemetry.instrumentation.scenetest import case, dispatch, instrument

instrument()


@dispatch()
def plain(x: int) -> int:
    return x


@dispatch()
def generator() -> Iterator[int]:
    yield 1
    yield 2


@dispatch()
async def coroutine(x: int) -> int:
    await asyncio.sleep(0)
    return x


@dispatch()
async def asynchronous_generator() -> AsyncIterator[int]:
    yield 1


@case("S", "c", level=2)
def main() -> None:
    assert plain(3) == 3
    assert plain.__name__ == "plain"
    assert list(generator()) == [1, 2]
    assert asyncio.run(coroutine(4)) == 4

    async def collect() -> list[int]:
        return [item async for item in asynchronous_generator()]

    assert asyncio.run(collect()) == [1]


main()
main()

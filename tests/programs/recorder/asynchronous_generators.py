"""Values sent and exceptions thrown into an asynchronous generator reach the decorated function."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from opentelemetry.instrumentation.scenetest import dispatch, instrument

instrument()
seen: list[str] = []


@dispatch()
async def generator() -> AsyncGenerator[int, str | None]:
    try:
        seen.append(str((yield 1)))
        yield 2
    except ValueError as error:
        seen.append(str(error))
    finally:
        seen.append("finally")


async def main() -> None:
    items = generator()
    assert [await items.asend(None), await items.asend("sent")] == [1, 2]
    await items.aclose()
    seen.append("closed")
    async with asynccontextmanager(generator)():
        raise ValueError("thrown")


asyncio.run(main())
assert seen == ["sent", "finally", "closed", "thrown", "finally"], seen

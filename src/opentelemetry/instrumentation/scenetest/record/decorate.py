"""`case`, `phase` and `dispatch` as decorators, for every kind of function."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Callable, Generator
from functools import wraps
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from contextlib import AbstractContextManager


def with_span(begin: Callable[[], AbstractContextManager[object]], function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function so that each call is a span.

    The span ends when the call returns, when the coroutine finishes, or when the generator is exhausted.

    Args:
        begin: creates the span of one call.
        function: a plain, coroutine, generator or asynchronous generator function.
    """
    if inspect.iscoroutinefunction(function):

        @wraps(function)
        async def awaited(*args: Any, **keywords: Any) -> Any:
            with begin():
                return await function(*args, **keywords)

        return awaited
    if inspect.isasyncgenfunction(function):

        @wraps(function)
        async def iterated(*args: Any, **keywords: Any) -> AsyncGenerator[Any, Any]:
            # `asend` and `athrow` must reach the function: asynchronous generators have no `yield from`.
            with begin():
                items: AsyncGenerator[Any, Any] = function(*args, **keywords)
                step = items.asend(None)
                while True:
                    try:
                        item = await step
                    except StopAsyncIteration:
                        return
                    try:
                        step = items.asend((yield item))
                    except BaseException as error:
                        step = items.athrow(error)

        return iterated
    if inspect.isgeneratorfunction(function):
        generator = cast("Callable[..., Generator[Any, Any, Any]]", function)

        @wraps(function)
        def exhausted(*args: Any, **keywords: Any) -> Generator[Any, Any, Any]:
            with begin():
                return (yield from generator(*args, **keywords))

        return exhausted

    @wraps(function)
    def called(*args: Any, **keywords: Any) -> Any:
        with begin():
            return function(*args, **keywords)

    return called

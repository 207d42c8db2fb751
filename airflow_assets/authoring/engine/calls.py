"""Calling a body, whether it is plain or asynchronous, and reading a generator's items one by one."""

from __future__ import annotations

import inspect
from contextlib import closing
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence


def called(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Return what a function gives; a coroutine is run to its end first."""
    result = function(*args, **kwargs)
    if not inspect.isawaitable(result):
        return result
    import asyncio  # it costs more than all of the engine, and most bodies are plain

    return asyncio.run(_awaited(result))


def is_stream(value: Any) -> bool:
    """Tell whether a body gave a generator, whose items come one by one."""
    return inspect.isgenerator(value) or inspect.isasyncgen(value)


def items(stream: Any) -> Iterator[Any]:
    """Yield the items of a generator, of an asynchronous one too; it is closed when the reader stops."""
    if inspect.isgenerator(stream):
        with closing(stream):
            yield from stream
        return
    import asyncio

    loop = asyncio.new_event_loop()
    try:
        while True:
            try:
                yield loop.run_until_complete(anext(stream))
            except StopAsyncIteration:
                return
    finally:
        loop.run_until_complete(stream.aclose())
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


async def _awaited(result: Any) -> Any:
    return await result

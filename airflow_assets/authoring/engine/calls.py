"""Calling a body, whether it is plain or asynchronous, and reading a generator's items one by one."""

from __future__ import annotations

import inspect
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

# asyncio is imported where a body is asynchronous: it costs more than all of the engine, and most are plain.


def called(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Return what a function gives; a coroutine is run to its end first."""
    result = function(*args, **kwargs)
    if not inspect.isawaitable(result):
        return result
    with _loop() as run:
        return run(_awaited(result))


def is_stream(value: Any) -> bool:
    """Tell whether a body gave a generator, whose items come one by one."""
    return inspect.isgenerator(value) or inspect.isasyncgen(value)


def items(stream: Any) -> Iterator[Any]:
    """Yield the items of a generator, of an asynchronous one too; it is closed when the reader stops."""
    if inspect.isgenerator(stream):
        with closing(stream):
            yield from stream
        return
    with _loop() as run:
        try:
            while True:
                try:
                    yield run(anext(stream))
                except StopAsyncIteration:
                    return
        finally:
            run(stream.aclose())


@contextmanager
def _loop() -> Iterator[Callable[[Any], Any]]:
    """Give what runs an awaitable to its end, all in one event loop.

    Where this thread runs a loop already, as that of a notebook does, ours runs in a thread of its own.
    """
    import asyncio

    loop = asyncio.new_event_loop()
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        try:
            yield loop.run_until_complete
        finally:
            _close(loop)
        return
    from concurrent.futures import ThreadPoolExecutor
    from contextvars import copy_context

    with ThreadPoolExecutor(1, "airflow-assets-loop") as thread:
        try:
            yield lambda awaitable: thread.submit(
                copy_context().run, loop.run_until_complete, awaitable
            ).result()
        finally:
            thread.submit(_close, loop).result()


def _close(loop: Any) -> None:
    import asyncio

    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if left:
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()


async def _awaited(result: Any) -> Any:
    return await result

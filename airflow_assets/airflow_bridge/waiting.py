"""Requests that wait: one look-up a second serves all of them, and none holds a thread or a connection.

A hub lives on the event loop of the API server, which also carries the heartbeats of tasks. Look-ups run in a
thread of the hub's own; what they find is handed out on the loop.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Hashable
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Generic, TypeVar

from airflow_assets.airflow_bridge import context
from airflow_assets.exceptions import CatalogUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Executor

log = logging.getLogger(__name__)
MAX_WAITERS = 2_000
RETRY_AFTER = 5
"""Seconds after which a refused waiter may come back."""
EVERY, SOONEST = 1.0, 0.25
"""Seconds between two look-ups, and at least when something has happened in between."""
_LONGEST_PAUSE = 30.0

Waiter = TypeVar("Waiter", bound=Hashable)
Found = TypeVar("Found")


class Room:
    """How many requests may wait in this process."""

    def __init__(self, limit: int = MAX_WAITERS) -> None:
        self._limit = limit
        self.taken = 0

    @contextmanager
    def place(self) -> Iterator[None]:
        """Take one place for the time of the block.

        :raises CatalogUnavailable: there is none.
        """
        if self.taken >= self._limit:
            raise CatalogUnavailable(
                f"{self._limit:,} requests wait in this API server already.",
                hint=f"Come back in {RETRY_AFTER} s; more API servers have more places.",
                retry_after=RETRY_AFTER,
            )
        self.taken += 1
        try:
            yield
        finally:
            self.taken -= 1


class Hub(Generic[Waiter, Found]):
    """Serves the waiters of one kind; used on one event loop.

    :param look: looks once for all waiters, in a thread of ``pool``, never twice at the same time; returns
        those for whom it found something. It may note on a waiter how far it came.

    >>> found = await hub.wait(waiter, timeout=25)
    """

    def __init__(
        self,
        look: Callable[[list[Waiter]], list[tuple[Waiter, Found]]],
        pool: Executor,
        room: Room,
        *,
        every: float = EVERY,
        soonest: float = SOONEST,
    ) -> None:
        self._look = look
        self._pool = pool
        self._room = room
        self._every = every
        self._soonest = soonest
        self._waiting: dict[Waiter, asyncio.Future[Found | None]] = {}
        self._woken = asyncio.Event()
        self._began = float("-inf")
        self.look_ups = 0
        self._running: asyncio.Task[None] | None = None

    async def wait(self, waiter: Waiter, timeout: float) -> Found | None:
        """Return what is found for the waiter, None when the time has passed.

        :raises CatalogUnavailable: too many wait already.
        """
        with self._room.place():
            future: asyncio.Future[Found | None] = asyncio.get_running_loop().create_future()
            self._waiting[waiter] = future
            if self._running is None:
                self._running = asyncio.create_task(self._run())
            try:
                await asyncio.wait([future], timeout=timeout)
                return future.result() if future.done() else None
            finally:
                del self._waiting[waiter]

    def wake(self) -> None:
        """Look soon: something may have happened. On the event loop."""
        self._woken.set()

    async def close(self) -> None:
        """Answer whoever waits, and look no more."""
        self._release()
        task, self._running = self._running, None
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _run(self) -> None:
        """Look again and again while somebody waits."""
        loop = asyncio.get_running_loop()
        stop_waking = context.call_on_commit(_waking(loop, self.wake))
        failures = 0
        try:
            while self._waiting:
                await asyncio.sleep(self._began + self._soonest - loop.time())
                self._began = loop.time()
                self.look_ups += 1
                failures = 0 if await self._look_once() else failures + 1
                if _server_is_stopping():
                    self._release()
                await self._pause(min(self._every * 2.0**failures, _LONGEST_PAUSE))
        finally:
            stop_waking()
            self._running = None

    async def _look_once(self) -> bool:
        """Hand out what is found; an error is logged, the waiters go on waiting."""
        loop = asyncio.get_running_loop()
        try:
            found = await loop.run_in_executor(self._pool, self._look, list(self._waiting))
        except Exception:
            log.exception("The look-up for %d waiting requests failed; it is made again.", len(self._waiting))
            return False
        for waiter, result in found:
            future = self._waiting.get(waiter)
            if future is not None and not future.done():
                future.set_result(result)
        return True

    async def _pause(self, seconds: float) -> None:
        """Wait for the next look-up to be due, counted from the begin of the last one, or for news."""
        left = self._began + seconds - asyncio.get_running_loop().time()
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._woken.wait(), max(left, 0.001))
        self._woken.clear()

    def _release(self) -> None:
        for future in self._waiting.values():
            if not future.done():
                future.set_result(None)


def _waking(loop: asyncio.AbstractEventLoop, wake: Callable[[], None]) -> Callable[[], None]:
    def from_any_thread() -> None:
        with suppress(RuntimeError):  # the loop is closed: the process ends
            loop.call_soon_threadsafe(wake)

    return from_any_thread


def _server_is_stopping() -> bool:
    """Whether uvicorn was told to stop: it lets requests end first, and one that waits would hold it up."""
    owner = getattr(signal.getsignal(signal.SIGTERM), "__self__", None)
    return bool(getattr(owner, "should_exit", False))

"""The hub: one look-up a second serves everybody who waits, and none of them holds a thread."""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from airflow_assets.airflow_bridge import context
from airflow_assets.airflow_bridge.waiting import Hub, Room
from airflow_assets.exceptions import CatalogUnavailable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator


class Look:
    """Counts its calls and finds what a test has put into `news`."""

    def __init__(self) -> None:
        self.news: dict[str, str] = {}
        self.calls: list[float] = []
        self.threads: set[str] = set()
        self.most = 0
        self.error: Exception | None = None
        self.go = threading.Event()
        self.go.set()

    def __call__(self, waiters: list[str]) -> list[tuple[str, str]]:
        self.calls.append(time.monotonic())
        self.threads.add(threading.current_thread().name)
        self.most = max(self.most, len(waiters))
        assert self.go.wait(30)
        if self.error:
            raise self.error
        return [(waiter, self.news[waiter]) for waiter in waiters if waiter in self.news]


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1, thread_name_prefix="look") as found:
        yield found


@pytest.fixture
def look() -> Look:
    return Look()


def run(main: Callable[[], Awaitable[Any]]) -> Any:
    return asyncio.run(asyncio.wait_for(main(), 60))  # type: ignore[arg-type]


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - a thread brings it about
        await asyncio.sleep(0.01)


def test_five_hundred_waiters_cost_one_look_up_a_second(pool: ThreadPoolExecutor, look: Look) -> None:
    room = Room()

    async def main() -> list[Any]:
        hub: Hub[str, str] = Hub(look, pool, room, every=0.4, soonest=0.1)
        waits = [asyncio.create_task(hub.wait(f"w{number}", 2.2)) for number in range(500)]
        await until(lambda: look.most == 500)
        look.news = {"w7": "seven", "w8": "eight"}
        assert room.taken == 500
        return await asyncio.gather(*waits)

    found = run(main)
    assert [(n, value) for n, value in enumerate(found) if value] == [(7, "seven"), (8, "eight")]
    assert 2 <= len(look.calls) <= 7, "2.2 s, a look-up each 0.4 s"
    assert min(b - a for a, b in zip(look.calls, look.calls[1:], strict=False)) > 0.2
    assert all(name.startswith("look") for name in look.threads)
    assert room.taken == 0


def test_a_commit_wakes_it_from_any_thread_and_not_too_often(pool: ThreadPoolExecutor, look: Look) -> None:
    async def main() -> tuple[str | None, float]:
        hub: Hub[str, str] = Hub(look, pool, Room(), every=20, soonest=0.3)
        waiting = asyncio.create_task(hub.wait("w", 30))
        await until(lambda: bool(look.calls))
        look.news["w"] = "news"
        began = time.monotonic()
        for _ in range(50):
            await asyncio.to_thread(context.announce_commit)
        return await waiting, time.monotonic() - began

    found, took = run(main)
    assert found == "news"
    assert took < 15, "and not the 20 s of a look-up that nobody wakes"
    assert 2 <= len(look.calls) <= 2 + took / 0.3
    assert look.calls[1] - look.calls[0] >= 0.25


def test_nobody_waits_so_nobody_looks(pool: ThreadPoolExecutor, look: Look) -> None:
    before = list(context._process.on_commit)

    async def main() -> None:
        hub: Hub[str, str] = Hub(look, pool, Room(), every=0.05, soonest=0.02)
        assert await hub.wait("w", 0.3) is None
        await asyncio.sleep(0.2)
        calls = len(look.calls)
        await asyncio.sleep(0.3)
        assert len(look.calls) == calls
        look.news["w"] = "again"
        assert await hub.wait("w", 5) == "again"
        await hub.close()

    run(main)
    assert context._process.on_commit == before


def test_a_slow_look_up_blocks_neither_the_loop_nor_a_time_out(pool: ThreadPoolExecutor, look: Look) -> None:
    look.go.clear()

    async def main() -> float:
        hub: Hub[str, str] = Hub(look, pool, Room())
        waiting = asyncio.create_task(hub.wait("w", 2))
        longest, last = 0.0, time.monotonic()
        while not waiting.done():
            await asyncio.sleep(0.005)
            longest, last = max(longest, time.monotonic() - last), time.monotonic()
        assert await waiting is None
        look.go.set()
        await hub.close()
        return longest

    assert run(main) < 1.5


def test_a_waiter_that_goes_away_leaves_its_place(pool: ThreadPoolExecutor, look: Look) -> None:
    room = Room(2)

    async def main() -> None:
        hub: Hub[str, str] = Hub(look, pool, room, every=0.05, soonest=0.01)
        waits = [asyncio.create_task(hub.wait(name, 30)) for name in ("a", "b")]
        await asyncio.sleep(0.02)
        with pytest.raises(CatalogUnavailable, match="2 requests wait") as refused:
            await hub.wait("c", 30)
        assert refused.value.members["retry_after"] == 5
        waits[0].cancel()
        await asyncio.gather(waits[0], return_exceptions=True)
        look.news = {"a": "late", "c": "news"}
        assert await hub.wait("c", 5) == "news"
        assert room.taken == 1
        await hub.close()
        assert await waits[1] is None

    run(main)
    assert room.taken == 0


def test_an_error_is_logged_and_the_waiters_go_on(
    pool: ThreadPoolExecutor, look: Look, caplog: pytest.LogCaptureFixture
) -> None:
    look.error = RuntimeError("the database went away")

    async def main() -> str | None:
        hub: Hub[str, str] = Hub(look, pool, Room(), every=0.05, soonest=0.01)
        waiting = asyncio.create_task(hub.wait("w", 20))
        await until(lambda: len(look.calls) >= 3)
        look.news["w"], look.error = "news", None
        return await waiting

    with caplog.at_level(logging.ERROR):
        assert run(main) == "news"
    gaps = [b - a for a, b in zip(look.calls, look.calls[1:], strict=False)]
    assert gaps[1] > gaps[0] * 1.3, "pauses grow"
    assert "1 waiting requests failed" in caplog.text


def test_a_server_that_stops_answers_everybody(pool: ThreadPoolExecutor, look: Look) -> None:
    class Server:
        """As uvicorn's: its handler of the signal is a method of what knows whether to stop."""

        should_exit = False

        def handle_exit(self, *_: object) -> None: ...

    server = Server()
    kept = signal.signal(signal.SIGTERM, server.handle_exit)

    async def main() -> float:
        hub: Hub[str, str] = Hub(look, pool, Room(), every=0.05, soonest=0.01)
        waiting = asyncio.create_task(hub.wait("w", 30))
        await until(lambda: len(look.calls) >= 2)
        assert not waiting.done()
        server.should_exit = True
        began = time.monotonic()
        assert await waiting is None
        return time.monotonic() - began

    try:
        assert run(main) < 5
    finally:
        signal.signal(signal.SIGTERM, kept)

"""The background jobs of the API server: each runs in one process of a deployment, elected by a lease.

Every API server process runs the loops of all jobs; whoever holds a job's lease does its work, the others try
to get the lease. Database work runs in a small pool of threads of its own, never in the one that serves
requests.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Protocol

from airflow_assets import config
from airflow_assets.airflow_bridge import context
from airflow_assets.airflow_bridge.leases import RENEW_AFTER, Lease

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

log = logging.getLogger(__name__)
THREADS = 4
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0
_ELECTION_EVERY = 2.0


class Job(Protocol):
    """Work that is done again and again."""

    name: str
    interval: float
    """Seconds between two passes when nothing is to do at once."""

    def step(self) -> bool:
        """Make one pass; return True if there is more to do at once."""

    def close(self) -> None:
        """Let go of everything; called when this process stops doing the job."""


@asynccontextmanager
async def lifespan() -> AsyncIterator[None]:
    """Run the jobs while the context is open."""
    if not config.enabled():
        log.info("The background jobs of the asset catalogue are off: [airflow_assets] enabled is False.")
        yield
        return
    worker = Worker()
    await worker.start()
    try:
        yield
    finally:
        await worker.stop()


class Worker:
    """The loops of one process."""

    def __init__(self) -> None:
        self._owner = f"{socket.gethostname()[:60]}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="airflow-assets-job")
        self._tasks: list[asyncio.Task[None]] = []
        self._wakers: list[asyncio.Event] = []
        self._stop_waking: Callable[[], None] = lambda: None

    async def start(self) -> None:
        """Start the loops; returns at once, whatever state the database is in."""
        loop = asyncio.get_running_loop()
        for make in _job_makers():
            waker = asyncio.Event()
            self._wakers.append(waker)
            self._tasks.append(loop.create_task(self._run(make, waker)))

        def wake() -> None:
            with suppress(RuntimeError):  # the loop is closed: the process ends
                loop.call_soon_threadsafe(self._wakers[0].set)

        self._stop_waking = context.call_on_commit(wake)

    async def stop(self) -> None:
        """End the loops; a pass that runs is finished first."""
        self._stop_waking()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._pool.shutdown(wait=True)

    async def _run(self, make: Callable[[], Job], waker: asyncio.Event) -> None:
        """Do the job whenever its lease is ours; an error is logged and the pass is made again."""
        loop = asyncio.get_running_loop()
        pause, failures = 0.0, 0
        turn = _Turn(make, self._owner)
        try:
            while True:
                try:
                    pause = await loop.run_in_executor(self._pool, turn.take)
                    failures = 0
                except Exception:
                    pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0**failures)
                    failures += 1
                    log.exception(
                        "The job %s of the asset catalogue failed; again in %.0f s.", turn.name, pause
                    )
                if await _is_woken(waker, pause):
                    turn.hurry()
        finally:
            await asyncio.shield(loop.run_in_executor(self._pool, turn.end))


async def _is_woken(waker: asyncio.Event, seconds: float) -> bool:
    try:
        await asyncio.wait_for(waker.wait(), max(seconds, 0.001))
    except asyncio.TimeoutError:
        return False
    waker.clear()
    return True


class _Turn:
    """One job in one process: holds the lease, has the job while the lease is ours."""

    def __init__(self, make: Callable[[], Job], owner: str) -> None:
        self._make = make
        self._owner = owner
        self._job: Job | None = None
        self._lease: Lease | None = None
        self._due = 0.0
        self._election = 0.0
        self._lock = threading.Lock()
        self.name = make.__name__.strip("_")

    def hurry(self) -> None:
        """Make the next pass at once, if the job is ours."""
        self._due = 0.0

    def take(self) -> float:
        """Make a pass if it is time and the lease is ours; return the seconds until the next look."""
        with self._lock:
            if time.monotonic() < self._election:
                return self._election - time.monotonic()
            if not self._is_ours():
                self._drop()
                self._election = time.monotonic() + _ELECTION_EVERY
                return _ELECTION_EVERY
            if self._job is None:
                self._job = self._make()
            if time.monotonic() >= self._due:
                more = self._job.step()
                self._due = time.monotonic() + (0.0 if more else self._job.interval)
            return min(max(self._due - time.monotonic(), 0.0), RENEW_AFTER)

    def end(self) -> None:
        """Give the job and its lease back."""
        with self._lock:
            try:
                self._drop()
                if self._lease is not None:
                    self._lease.release()
            except Exception:
                log.exception("The job %s of the asset catalogue could not be given back.", self.name)

    def _is_ours(self) -> bool:
        if self._lease is None:
            self._lease = Lease(context.get_jobs_engine(), self.name, self._owner)
        return self._lease.hold()

    def _drop(self) -> None:
        job, self._job = self._job, None
        if job is not None:
            job.close()


def _job_makers() -> list[Callable[[], Job]]:
    """Return the jobs; the first is the one that a commit wakes."""
    return [_dispatcher, _follower, _reconciler, _connection, _retention, _sensors, _declarations, _gauges]


def _dispatcher() -> Job:
    from airflow_assets.airflow_bridge.dispatcher import Dispatcher

    return Dispatcher(context.get_jobs_engine())


def _follower() -> Job:
    from airflow_assets.airflow_bridge.follower import Follower

    return Follower(context.get_jobs_engine())


def _reconciler() -> Job:
    from airflow_assets.airflow_bridge.reconciler import Reconciler

    return Reconciler(context.get_jobs_engine())


def _connection() -> Job:
    from airflow_assets.airflow_bridge.managed_connection import ConnectionKeeper

    return ConnectionKeeper(context.get_jobs_engine())


def _retention() -> Job:
    from airflow_assets.airflow_bridge.retention import Retention

    return Retention(context.get_jobs_engine())


def _sensors() -> Job:
    from airflow_assets.airflow_bridge.sensor_places import SensorPlaces

    return SensorPlaces(context.get_jobs_engine())


def _declarations() -> Job:
    from airflow_assets.airflow_bridge.declared_edges import DeclaredEdges

    return DeclaredEdges(context.get_jobs_engine())


def _gauges() -> Job:
    from airflow_assets.airflow_bridge.gauges import Gauges

    return Gauges(context.get_jobs_engine())

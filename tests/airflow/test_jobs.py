"""Background jobs: one process does each, an error is logged and tried again, a commit wakes the dispatcher."""

from __future__ import annotations

import asyncio
import logging
import threading
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

import airflow.settings  # noqa: F401  (configures logging, before caplog listens)
import pytest
from sqlalchemy import update

from airflow_assets.airflow_bridge import context, jobs, leases
from airflow_assets.airflow_bridge.leases import Lease
from airflow_assets.catalog import tables
from airflow_assets.catalog.engine import make_engine
from tests.support.processes import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy import Engine


@pytest.fixture
def engine(fresh_database_url: str) -> Iterator[Engine]:
    found = make_engine(fresh_database_url)
    tables.metadata.create_all(found)
    yield found
    found.dispose()


def run_out(engine: Engine) -> None:
    """Let every lease run out, as if its process had died a while ago."""
    with engine.begin() as conn:
        conn.execute(update(tables.job).values(expires=datetime.now(timezone.utc) - timedelta(seconds=1)))


def test_one_process_holds_a_lease_until_it_lets_go_or_dies(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "RENEW_AFTER", 0.0)  # ask the database each time
    first, second = (Lease(engine, "dispatcher", owner) for owner in ("first", "second"))
    other = Lease(engine, "follower", "second")
    assert [first.hold(), second.hold(), first.hold(), other.hold()] == [True, False, True, True]
    first.release()
    assert [second.hold(), first.hold()] == [True, False]
    run_out(engine)
    assert [first.hold(), second.hold()] == [True, False]


def test_processes_that_start_together_elect_one(engine: Engine) -> None:
    candidates = [Lease(engine, "dispatcher", f"process {number}") for number in range(6)]
    held: list[bool] = []
    threads = [threading.Thread(target=lambda lease=lease: held.append(lease.hold())) for lease in candidates]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(held) == [False] * 5 + [True]


class Work:
    """A job that notes its passes and fails the first `failures` of them."""

    name = "work"
    interval = 60.0

    def __init__(self, failures: int = 0) -> None:
        self.passes = 0
        self.closed = False
        self._failures = failures

    def step(self) -> bool:
        self.passes += 1
        if self.passes <= self._failures:
            raise RuntimeError("the database went away")
        return self.passes < 3

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def one_job(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[Work], None]]:
    """Make a job the only one of this process, on a database of its own."""
    engine = make_engine(f"sqlite:///{tmp_path_factory.mktemp('jobs')}/jobs.db")
    tables.metadata.create_all(engine)
    monkeypatch.setattr(context, "get_jobs_engine", lambda: engine)
    monkeypatch.setattr(jobs, "_FIRST_PAUSE", 0.05)

    def use(job: Work) -> None:
        def _work() -> Work:
            return job

        monkeypatch.setattr(jobs, "_job_makers", lambda: [_work])

    yield use
    engine.dispose()


def test_an_error_is_logged_and_the_pass_made_again(
    one_job: Callable[[Work], None], caplog: pytest.LogCaptureFixture
) -> None:
    job = Work(failures=2)
    one_job(job)

    async def main() -> None:
        async with jobs.lifespan():
            await asyncio.to_thread(wait_until, lambda: job.passes >= 3, 30, "the third pass")

    with caplog.at_level(logging.ERROR):
        asyncio.run(main())
    assert sum("failed; again in" in record.message for record in caplog.records) == 2
    assert job.closed


def test_a_commit_wakes_the_job_before_its_interval_is_over(one_job: Callable[[Work], None]) -> None:
    job = Work()
    one_job(job)

    async def main() -> None:
        async with jobs.lifespan():
            await asyncio.to_thread(wait_until, lambda: job.passes == 3, 30, "the job to rest")
            context.announce_commit()
            await asyncio.to_thread(wait_until, lambda: job.passes == 4, 5, "the job to be woken")

    asyncio.run(main())
    context.announce_commit()  # after the end: nobody is there to be woken
    assert job.passes == 4


def test_jobs_can_be_switched_off(one_job: Callable[[Work], None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__AIRFLOW_ASSETS__ENABLED", "False")
    job = Work()
    one_job(job)

    async def main() -> None:
        async with jobs.lifespan():
            await asyncio.sleep(0)

    asyncio.run(main())
    assert job.passes == 0

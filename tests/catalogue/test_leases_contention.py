"""Eight processes contend for two locks: one winner at any time, by the word of what they write to.

``AIRFLOW_ASSETS_LOCK_SECONDS=60 pytest tests/catalogue/test_leases_contention.py`` for as long as you like.
"""

from __future__ import annotations

import os
import signal
import threading
import time
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from airflow_assets.exceptions import AssetLocked
from airflow_assets.schemas.assets import AssetInput
from tests.catalogue.test_concurrency import deadlocks
from tests.support.catalog_writers import _CONTEXT, _run, together
from tests.support.fenced_resource import FencedResource
from tests.support.lock_callers import Locks, task
from tests.support.lock_contenders import ASSETS, contend, hold_and_hang
from tests.support.processes import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from airflow_assets.catalog.service import CatalogService

SECONDS = float(os.environ.get("AIRFLOW_ASSETS_LOCK_SECONDS", "4"))
CONTENDERS = 8


@pytest.fixture
def locks(service: CatalogService) -> Locks:
    for name in ASSETS:
        service.create_asset(task(), AssetInput(id=name, type="T"))
    return Locks(service)


def test_one_winner_at_any_time(locks: Locks, database_url: str, tmp_path: Path) -> None:
    resources = {name: FencedResource(tmp_path / name).create() for name in ASSETS}
    before = deadlocks(locks.service)
    jobs = [(contend, (str(tmp_path), SECONDS, number)) for number in range(CONTENDERS)]
    found = together(database_url, jobs)
    total: dict[str, int] = {}
    for counts in found:
        assert counts.pop("errors") == []
        assert counts["won"] > 0, counts
        for name, count in counts.items():
            total[name] = total.get(name, 0) + count
    print(f"{SECONDS:g} s, {locks.service.engine.dialect.name}: {dict(sorted(total.items()))}")
    for name, resource in resources.items():
        seen = resource.read()
        assert seen.get("violations", []) == []
        # Every tenure has had a number of its own, and none was skipped.
        assert locks.acquire(task("last"), name).fencing_token == total[f"won {name}"] + 1
        assert seen["writes"] + total.get("late", 0) >= total[f"won {name}"]
    assert total.get("fenced in time", 0) == 0
    assert deadlocks(locks.service) == before


def test_a_killed_holder_blocks_nobody_after_the_ttl(locks: Locks, database_url: str) -> None:
    ttl = 2.0
    pids, results = _CONTEXT.SimpleQueue(), _CONTEXT.SimpleQueue()
    gate = _CONTEXT.Barrier(1)
    job: Any = (hold_and_hang, (pids, ttl))
    victim = _CONTEXT.Process(target=_run, args=(0, database_url, gate, results, job), daemon=True)
    victim.start()
    try:
        pid = pids.get()
        begun = time.monotonic()
        os.kill(pid, signal.SIGKILL)
        waiting = uuid.uuid4()

        def get() -> object:
            try:
                return locks.acquire(task("heir"), ASSETS[0], wait_id=waiting)
            except AssetLocked:
                return None

        lease: Any = wait_until(get, ttl + 60, "the lock of the killed holder", interval=0.05)
    finally:
        victim.join(10)
    assert lease.fencing_token == 2
    assert time.monotonic() - begun < ttl + 10


def test_two_first_acquisitions_at_once(locks: Locks) -> None:
    """Neither the row of a first lock nor a place in a queue is fought over."""
    won: list[int] = []

    def run(number: int) -> None:
        try:
            won.append(locks.acquire(task(f"r{number}"), *ASSETS, wait_id=uuid.uuid4()).fencing_token)
        except AssetLocked:
            won.append(0)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(won) == [0, 0, 0, 0, 0, 1]
    assert locks.of(ASSETS[1]) is not None

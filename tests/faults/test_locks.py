"""A task that is killed while it holds a lock blocks nobody for longer than the lock's ttl."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import make_database
from tests.faults.conftest import RUNNING
from tests.support.airflow_process import AirflowProcess

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.databases import Databases

pytestmark = [pytest.mark.real_airflow, pytest.mark.slow]

API = "/airflow_assets/api/v1"
TTL = 10.0
DAGS = """
import os
import time
from pathlib import Path

from airflow.sdk import DAG, task
from airflow_assets.locks import asset_lock
from airflow_assets.operators import Acquire

with DAG("holder", schedule=None, params={"ttl": "PT2M"}):

    @task
    def hold(ttl, name):
        with asset_lock("held", ttl=ttl):
            pids = Path(os.environ["AIRFLOW_HOME"], f"pids-{name}")
            pids.with_suffix(".part").write_text(f"{os.getpid()} {os.getppid()}")
            pids.with_suffix(".part").replace(pids)
            time.sleep(300)

    hold("{{ params.ttl }}", "{{ run_id }}")

with DAG("next", schedule=None):
    Acquire(task_id="acquire", asset_id="held", wait=True, timeout="PT4M")
"""


@dataclass
class Held:
    """A lock that a task holds, and somebody who waits for it."""

    airflow: AirflowProcess
    name: str
    ttl: str

    def begin(self) -> tuple[int, int]:
        """Start both; return the ids of the holding task's process and of its supervisor."""
        airflow, pids = self.airflow, self.airflow.home / f"pids-{self.name}"
        airflow.trigger_dag("holder", run_id=self.name, conf={"ttl": self.ttl})
        airflow.wait_until(pids.exists, 90, "the holder to have the lock")
        airflow.trigger_dag("next", run_id=self.name)
        airflow.wait_until(lambda: self._waiter() == "deferred", 90, "the other run to wait")
        task, supervisor = map(int, pids.read_text().split())
        return task, supervisor

    def served(self, timeout: float) -> float:
        """Wait until the waiter has got the lock; return when, by the database's clock."""
        got = self.airflow.wait_until(self._lease_of_waiter, timeout, "the waiter to get the lock")
        self.airflow.wait_for_run("next", self.name)
        return seconds(got["acquired"])

    def lock(self) -> dict[str, Any] | None:
        lock: dict[str, Any] | None = self.airflow.api("GET", f"{API}/assets/held")["lock"]
        return lock

    def _lease_of_waiter(self) -> dict[str, Any] | None:
        lock = self.lock()
        return lock if lock is not None and lock["dagId"] == "next" else None

    def _waiter(self) -> str | None:
        [acquire] = self.airflow.task_instances("next", self.name)
        return acquire["state"]


def seconds(time: str) -> float:
    return datetime.fromisoformat(time.replace("Z", "+00:00")).timestamp()


@pytest.fixture(params=["sqlite", "postgres"])
def airflow(request: pytest.FixtureRequest, databases: Databases) -> Iterator[AirflowProcess]:
    """An Airflow of this test's own on each database that people start with."""
    url = "" if request.param == "sqlite" else make_database(databases, "postgres")
    with AirflowProcess(database_url=url) as process:
        RUNNING.append(process)
        process.write_dag("holding.py", DAGS)
        for dag_id in ("holder", "next"):
            process.unpause(dag_id)
        process.api("POST", f"{API}/assets", json={"id": "held", "type": "T"})
        yield process
        RUNNING.remove(process)
    if url:
        databases.server("postgres").drop_database(url)


def test_a_killed_holder_blocks_nobody(airflow: AirflowProcess) -> None:
    # The task alone is killed: its supervisor tells Airflow, the run ends, and the lock is free long before its ttl.
    held = Held(airflow, "process", "PT2M")
    task, _ = held.begin()
    lock = held.lock()
    assert lock is not None
    os.kill(task, signal.SIGKILL)
    assert held.served(timeout=60) < seconds(lock["lockedUntil"])
    airflow.wait_for_run("holder", "process", "failed")

    # Its machine is lost: nobody tells Airflow, for which the run goes on, and the ttl ends the lock.
    held = Held(airflow, "machine", f"PT{TTL:g}S")
    task, supervisor = held.begin()
    for pid in (supervisor, task):
        os.kill(pid, signal.SIGKILL)
    killed = datetime.now(timezone.utc).timestamp()
    lock = held.lock()
    assert lock is not None
    assert lock["dagId"] == "holder"
    acquired = held.served(timeout=TTL + 60)
    assert airflow.run("holder", "machine")["state"] == "running"
    assert seconds(lock["lockedUntil"]) <= acquired <= killed + TTL + 20

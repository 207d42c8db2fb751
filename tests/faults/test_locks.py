"""A task that is killed while it holds a lock blocks nobody for longer than the lock's ttl."""

from __future__ import annotations

import os
import signal
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.support.airflow_process import AirflowProcess

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


def begin(airflow: AirflowProcess, run_id: str, ttl: str) -> tuple[int, int]:
    """Start the holder; return the ids of its task's process and of that one's supervisor."""
    pids = airflow.home / f"pids-{run_id}"
    airflow.trigger_dag("holder", run_id=run_id, conf={"ttl": ttl})
    airflow.wait_until(pids.exists, 240, "the holder to have the lock")
    task, supervisor = map(int, pids.read_text().split())
    return task, supervisor


def lock_of(airflow: AirflowProcess) -> dict[str, Any]:
    """The lock, which somebody holds."""
    lock: dict[str, Any] | None = airflow.api("GET", f"{API}/assets/held")["lock"]
    assert lock is not None
    return lock


def acquired(airflow: AirflowProcess) -> dict[str, Any] | None:
    """Try to lock it as a user."""
    answer = airflow.request("POST", f"{API}/locks/acquire", json={"assetIds": ["held"]})
    assert answer.status_code in {200, 423}, answer.text
    return answer.json()["leases"][0] if answer.status_code == 200 else None


def seconds(time: str) -> float:
    return datetime.fromisoformat(time.replace("Z", "+00:00")).timestamp()


@pytest.fixture(autouse=True)
def dags(airflow: AirflowProcess) -> None:
    airflow.write_dag("holding.py", DAGS)
    for dag_id in ("holder", "next"):
        airflow.unpause(dag_id)
    airflow.api("POST", f"{API}/assets", json={"id": "held", "type": "T"})


def test_a_killed_holder_blocks_nobody(airflow: AirflowProcess) -> None:
    # The task alone is killed: its supervisor tells Airflow, and the end of the run ends the lock.
    task, _ = begin(airflow, "process", "PT10M")
    airflow.trigger_dag("next", run_id="waits")
    airflow.wait_until(lambda: states(airflow, "next", "waits") == ["deferred"], 240, "the other run to wait")
    airflow.wait_let_go("next", "waits", "acquire")
    until = seconds(lock_of(airflow)["lockedUntil"])
    os.kill(task, signal.SIGKILL)
    airflow.wait_for_run("holder", "process", "failed")
    # The first connection that a trigger asks for takes Airflow's triggerer long on a busy machine.
    airflow.wait_for_run("next", "waits")
    assert datetime.now(timezone.utc).timestamp() < until, "long before the ttl"

    _a_lost_machine(airflow)


def _a_lost_machine(airflow: AirflowProcess) -> None:
    """Nobody tells Airflow, for which the run goes on; the ttl ends the lock."""
    task, supervisor = begin(airflow, "machine", f"PT{TTL:g}S")
    for pid in (supervisor, task):
        os.kill(pid, signal.SIGKILL)
    lock = lock_of(airflow)
    assert (lock["dagId"], acquired(airflow)) == ("holder", None)
    got = airflow.wait_until(lambda: acquired(airflow), TTL + 60, "the lock to be free")
    assert 0 <= seconds(got["acquired"]) - seconds(lock["lockedUntil"]) < 20
    assert got["fencingToken"] > lock["fencingToken"]
    assert airflow.run("holder", "machine")["state"] == "running"


def states(airflow: AirflowProcess, dag_id: str, run_id: str) -> list[str | None]:
    """The states of the tasks of a run."""
    return [ti["state"] for ti in airflow.task_instances(dag_id, run_id)]

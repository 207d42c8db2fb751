"""Locks on a real Airflow: runs contend and wait their turn, a task keeps its lock by itself, and loses it by force."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.airflow_process import AirflowProcess

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.real_airflow, pytest.mark.slow]

API = "/airflow_assets/api/v1"
DAGS = Path(__file__).parent / "locks_dags" / "locks.py"
TABLE = "airflow_assets.types.Table"
WAITERS = ("first", "second", "third")


@dataclass
class Locks:
    """The Airflow and its gates: files for which tasks wait."""

    airflow: AirflowProcess

    def start(self, dag_id: str, run_id: str) -> str:
        """Start a run."""
        self.airflow.trigger_dag(dag_id, run_id=run_id)
        return run_id

    def open(self, gate: str) -> None:
        """Let the tasks that wait at a gate go on."""
        (self.airflow.home / f"gate-{gate}").touch()

    def state(self, dag_id: str, run_id: str, task_id: str) -> str | None:
        """The state of a task instance."""
        for ti in self.airflow.task_instances(dag_id, run_id):
            if ti["task_id"] == task_id:
                return ti["state"]
        return None

    def until(self, condition: Callable[[], object], what: str, timeout: float = 240) -> Any:
        """Wait for a condition."""
        return self.airflow.wait_until(condition, timeout, what)

    def until_state(self, dag_id: str, run_id: str, task_id: str, state: str) -> None:
        """Wait for the state of a task instance."""
        self.until(lambda: self.state(dag_id, run_id, task_id) == state, f"{run_id}.{task_id} to be {state}")

    def lock(self, asset_id: str) -> dict[str, Any] | None:
        """Who holds the lock of an asset."""
        return self.airflow.api("GET", f"{API}/assets/{asset_id}")["lock"]

    def number(self, run_id: str) -> int:
        """The fencing number that a run of `lock_queue` got."""
        return self.airflow.xcom("lock_queue", run_id, "acquire", "fencingToken")


def seconds(time: str) -> float:
    return datetime.fromisoformat(time.replace("Z", "+00:00")).timestamp()


@pytest.fixture(scope="module")
def locks(airflow: AirflowProcess) -> Locks:
    airflow.write_dag("locks.py", DAGS.read_text())
    for name in ("queue", "busy", "forced", "mapped", "rival", "other"):
        asset = {"id": f"lock.{name}", "type": TABLE, "namespace": "locks", "metadata": {"by": "test"}}
        airflow.api("POST", f"{API}/assets", json=asset)
    airflow.api("POST", "/api/v2/pools", json={"name": "one_slot", "slots": 1})
    airflow.wait_for_dag("lock_busy")
    for dag_id in (
        "lock_busy",
        "lock_queue",
        "lock_slot",
        "lock_impatient",
        "lock_rival",
        "lock_forced",
        "lock_retry",
    ):
        airflow.unpause(dag_id)
    made = Locks(airflow)
    made.start("lock_busy", "busy")  # takes a minute, during which everything else goes on
    return made


def test_runs_wait_their_turn_without_a_worker_slot(locks: Locks) -> None:
    airflow = locks.airflow
    for number, run_id in enumerate(WAITERS):
        locks.start("lock_queue", run_id)
        locks.until_state("lock_queue", run_id, "acquire", "success" if number == 0 else "deferred")
    held = locks.lock("lock.queue")
    assert held is not None
    assert (held["ownerType"], held["executionId"], held["owner"]) == (
        "EXECUTION",
        "first",
        "lock_queue / first",
    )
    # The only slot of the pool in which they all run is free.
    locks.start("lock_slot", "slot")
    airflow.wait_for_run("lock_slot", "slot")
    outputs = {
        key: airflow.xcom("lock_queue", "first", "acquire", key)
        for key in ("lockedUntil", "ownerType", "executionId")
    }
    assert outputs == {
        "lockedUntil": outputs["lockedUntil"],
        "ownerType": "EXECUTION",
        "executionId": "first",
    }
    assert locks.number("first") == held["fencingToken"]


def test_who_waits_too_long_fails_and_says_for_whom(locks: Locks) -> None:
    locks.start("lock_impatient", "late")
    locks.airflow.wait_for_run("lock_impatient", "late", "failed")
    log = locks.airflow.task_log("lock_impatient", "late", "acquire")
    assert "'lock.queue' is locked by lock_queue / first (EXECUTION)" in log
    assert "It was waited for, for 8 s." in log


def test_the_output_of_another_run_is_not_stored_and_its_behaviour_decides(locks: Locks) -> None:
    airflow = locks.airflow
    before = airflow.api("GET", f"{API}/assets/lock.queue")
    locks.start("lock_rival", "rival")
    airflow.wait_for_run("lock_rival", "rival", "failed")
    states = {ti["task_id"]: ti["state"] for ti in airflow.task_instances("lock_rival", "rival")}
    assert states == {"warned": "success", "failed": "failed", "delete": "failed"}
    after = airflow.api("GET", f"{API}/assets/lock.queue")
    for member in ("metadata", "updated"):
        assert after[member] == before[member]
    for task_id in ("warned", "failed"):
        assert airflow.api("GET", f"{API}/assets/lock.beside.{task_id}")["metadata"] == {"by": task_id}
        log = airflow.task_log("lock_rival", "rival", task_id)
        assert "'lock.queue' was not stored: Asset locked" in log
        assert "is locked by lock_queue / first" in log
    assert "is locked by lock_queue / first" in airflow.task_log("lock_rival", "rival", "delete")


def test_a_restarted_triggerer_keeps_the_queue_and_the_end_of_a_run_frees_its_lock(locks: Locks) -> None:
    airflow = locks.airflow
    airflow.restart("triggerer")
    for before, run_id in pairwise(WAITERS):
        locks.open(before)  # its last task ends, and so does the run; nothing releases the lock
        ended = airflow.wait_for_run("lock_queue", before)
        locks.until_state("lock_queue", run_id, "acquire", "success")
        held = locks.lock("lock.queue")
        assert held is not None
        assert held["executionId"] == run_id, "first come, first served"
        assert 0 <= seconds(held["acquired"]) - seconds(ended["end_date"]) < 60, "long before its ttl is over"
        if run_id == "second":
            assert locks.state("lock_queue", "third", "acquire") == "deferred"
    locks.open(WAITERS[-1])
    airflow.wait_for_run("lock_queue", WAITERS[-1])
    assert locks.lock("lock.queue") is None
    numbers = [locks.number(run_id) for run_id in WAITERS]
    assert numbers == sorted(set(numbers))
    asset = airflow.api("GET", f"{API}/assets/lock.queue")
    assert asset["metadata"]["by"] == "third", "what the holder's tasks declare is stored"


def test_a_retry_of_the_task_that_acquired_has_a_new_number(locks: Locks) -> None:
    locks.start("lock_retry", "retry")
    locks.airflow.wait_for_run("lock_retry", "retry")
    first, second = (int(line) for line in (locks.airflow.home / "numbers").read_text().split())
    assert second > first
    # The mapped instances of one task exclude each other: each held it alone.
    times = [locks.airflow.xcom("lock_retry", "retry", "alone", map_index=index) for index in range(3)]
    times.sort()
    assert all(end <= begin for (_, end), (begin, _) in pairwise(times))


def test_a_forced_unlock_is_recorded_and_the_holder_learns_of_it(locks: Locks) -> None:
    airflow = locks.airflow
    locks.start("lock_forced", "forced")
    held = locks.until(lambda: locks.lock("lock.forced"), "the task to hold the lock")
    assert (held["ownerType"], held["owner"]) == ("TASK", "lock_forced.lose / forced")
    body = {"assetId": "lock.forced", "reason": "the team is asleep"}
    assert airflow.request("POST", f"{API}/locks/force-unlock", user="viewer", json=body).status_code == 403
    blank = airflow.request("POST", f"{API}/locks/force-unlock", json={**body, "reason": " "})
    assert blank.status_code == 422
    taken = airflow.api("POST", f"{API}/locks/force-unlock", user="op", json=body)["unlocked"]
    assert taken["lease"]["owner"] == "lock_forced.lose / forced"
    locks.open("forced")
    airflow.wait_for_run("lock_forced", "forced", "failed")
    log = airflow.task_log("lock_forced", "forced", "lose")
    assert "LockLost" in log
    asset = airflow.api("GET", f"{API}/assets/lock.forced")
    assert asset["metadata"] == {"by": "test"}, "the write after the loss was not carried out"
    [listed] = airflow.api("GET", f"{API}/locks/forced", params={"assetId": "lock.forced"})["items"]
    assert (listed["reason"], listed["source"]["user"]) == ("the team is asleep", "op")
    out = airflow.cli(
        "assets-catalog", "locks", "--forced", "--id", "lock.forced", "--output", "plain"
    ).stdout
    assert "the team is asleep" in out


def test_a_loop_of_a_minute_keeps_a_lock_of_fifteen_seconds(locks: Locks) -> None:
    airflow = locks.airflow
    airflow.wait_for_run("lock_busy", "busy")
    result = airflow.xcom("lock_busy", "busy", "spin")
    assert result["seconds"] >= 60
    asset = airflow.api("GET", f"{API}/assets/lock.busy")
    assert asset["metadata"]["under"] == result["token"], "its write at the end was accepted"
    assert asset["lock"] is None
    # It tried all the time, and got in only when the loop had ended.
    rival = airflow.xcom("lock_busy", "busy", "rival")
    assert rival["refused"] >= 10
    assert rival["token"] > result["token"]

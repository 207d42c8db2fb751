"""Dags that lock; tests/airflow/test_locks.py starts them and opens the gates at which they wait."""

from __future__ import annotations

import os
import time
from datetime import timedelta
from pathlib import Path

from airflow.sdk import DAG, task

from airflow_assets import configure
from airflow_assets.locks import asset_lock
from airflow_assets.operators import Acquire, Delete
from airflow_assets.types import Table

HOME = Path(os.environ["AIRFLOW_HOME"])


def wait_at(gate: str) -> None:
    deadline = time.monotonic() + 900
    while not (HOME / f"gate-{gate}").exists():
        if time.monotonic() > deadline:
            raise TimeoutError(f"gate {gate} stays shut")
        time.sleep(0.2)


with DAG("lock_queue", schedule=None, max_active_runs=8):
    acquire = Acquire(
        task_id="acquire", asset_id="lock.queue", ttl="PT15M", wait=True, timeout="PT15M", pool="one_slot"
    )

    @task(outlets=[Table("lock.queue", namespace="locks", metadata={"by": "{{ run_id }}"})])
    def work(gate: str) -> None:
        wait_at(gate)

    acquire >> work("{{ run_id }}")

with DAG("lock_slot", schedule=None):

    @task(pool="one_slot")
    def use_the_slot() -> None: ...

    use_the_slot()

with DAG("lock_impatient", schedule=None):
    # Not shorter: Airflow fails a task that runs again before its executor has told of the exit that deferred it.
    Acquire(task_id="acquire", asset_id="lock.queue", wait=True, timeout=8)

with DAG("lock_rival", schedule=None):

    def outlets(task_id: str) -> list[Table]:
        names = ("lock.queue", f"lock.beside.{task_id}")
        return [Table(name, namespace="locks", metadata={"by": task_id}) for name in names]

    @task(outlets=outlets("warned"))
    def warned() -> None: ...

    @task(outlets=outlets("failed"))
    def failed() -> None: ...

    configure(warned(), asset_failure_behavior="WARN")
    configure(failed(), asset_failure_behavior="FAIL")
    Delete(task_id="delete", asset_id="lock.queue")

with DAG("lock_forced", schedule=None):

    @task
    def lose() -> None:
        from airflow_assets.client import get_client
        from airflow_assets.schemas.assets import AssetUpdate

        with asset_lock("lock.forced", ttl="PT1M"):
            wait_at("forced")
            get_client().update_asset("lock.forced", AssetUpdate(metadata={"by": "loser"}))

    lose()

with DAG("lock_retry", schedule=None):

    class FailFirst(Acquire):
        """Fails after its first try has got the lock."""

        def execute(self, context):
            outputs = super().execute(context)
            with (HOME / "numbers").open("a") as numbers:
                numbers.write(f"{outputs['fencingToken']}\n")
            if context["ti"].try_number == 1:
                raise RuntimeError("once")
            return outputs

    @task
    def alone(number: int) -> list[float]:
        with asset_lock("lock.mapped", wait=True, timeout=120):
            begun = time.time()
            time.sleep(1)  # the time in which nobody else may be here
            return [begun, time.time()]

    FailFirst(task_id="acquire", asset_id="lock.rival", retries=1, retry_delay=timedelta(0))
    alone.expand(number=[0, 1, 2])

with DAG("lock_busy", schedule=None):

    @task
    def spin() -> dict[str, float]:
        from airflow_assets.client import get_client
        from airflow_assets.schemas.assets import AssetUpdate

        with asset_lock("lock.busy", ttl="PT15S") as lock:
            (HOME / "spinning").touch()
            begun = time.monotonic()
            number = 0
            while time.monotonic() - begun < 60:
                number += 1
            seconds = time.monotonic() - begun
            get_client().update_asset("lock.busy", AssetUpdate(metadata={"under": lock.fencing_token}))
        return {"seconds": seconds, "token": lock.fencing_token}

    @task
    def rival() -> dict[str, int]:
        """Try once a second, without taking a place in the queue."""
        from airflow_assets.exceptions import AssetLocked

        while not (HOME / "spinning").exists():
            time.sleep(0.1)
        refused, deadline = 0, time.monotonic() + 100
        while True:
            try:
                with asset_lock("lock.busy", ttl="PT15S") as lock:
                    return {"refused": refused, "token": lock.fencing_token}
            except AssetLocked:
                refused += 1
                if time.monotonic() > deadline:
                    raise
                time.sleep(1)

    spin()
    rival()

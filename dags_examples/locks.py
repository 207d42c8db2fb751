"""Two runs that rebuild the same table: the second waits its turn, without a worker slot."""

from __future__ import annotations

import os
import sqlite3
import time
from datetime import datetime, timezone

from airflow.sdk import DAG, task

from airflow_assets.operators import Acquire, Release
from airflow_assets.types import Table

LEDGER = os.environ.get("AIRFLOW_ASSETS_DEMO_LEDGER", "/tmp/airflow_assets_demo_ledger.db")  # noqa: S108
ASSET = "demo.ledger"

with DAG(
    "demo_locks",
    start_date=datetime(2026, 1, 1, tzinfo=timezone.utc),
    schedule=None,
    catchup=False,
    max_active_runs=4,
    tags=["airflow_assets"],
    params={"seconds": 3},
):
    acquire = Acquire(task_id="acquire", asset_id=ASSET, ttl="PT1M", wait=True, timeout="PT5M")

    @task(outlets=[Table(ASSET, namespace="demo.locks", metadata={"by": "{{ run_id }}"})])
    def rebuild(fencing_token: int, seconds: int, run_id: str) -> int:
        """Write under the number of the lock; the table itself refuses an older one."""
        with sqlite3.connect(LEDGER, timeout=60) as ledger:
            ledger.execute(
                "CREATE TABLE IF NOT EXISTS entry (token INTEGER, run_id TEXT, begun REAL, ended REAL)"
            )
            newest = ledger.execute("SELECT max(token) FROM entry").fetchone()[0] or 0
            if fencing_token < newest:
                raise RuntimeError(f"A newer holder has written: {fencing_token} < {newest}.")
            begun = time.time()
            time.sleep(seconds)  # the work
            ledger.execute(
                "INSERT INTO entry VALUES (?, ?, ?, ?)", (fencing_token, run_id, begun, time.time())
            )
        return fencing_token

    written = rebuild(acquire.output["fencingToken"], "{{ params.seconds }}", "{{ run_id }}")
    acquire >> written >> Release(task_id="release", asset_id=ASSET, trigger_rule="all_done")

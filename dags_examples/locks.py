"""Two runs that rebuild the same table: the second waits its turn, without a worker slot."""

from __future__ import annotations

import time
from datetime import datetime, timezone

from airflow.sdk import DAG, task

from airflow_assets.operators import Acquire, Release
from airflow_assets.types import Table

TABLE = Table("demo.ledger", namespace="demo.locks", metadata={"by": "{{ run_id }}"})
SECONDS = 2
"""How long the work takes."""

with DAG(
    "demo_locks",
    start_date=datetime(2026, 1, 1, tzinfo=timezone.utc),
    schedule=None,
    catchup=False,
    tags=["airflow_assets"],
):

    @task
    def register() -> None:
        """Only an asset that is there can be locked."""
        from airflow_assets.client import get_client
        from airflow_assets.exceptions import AssetAlreadyExists
        from airflow_assets.schemas.assets import AssetInput

        try:
            get_client().create_asset(AssetInput(id=TABLE.name, type="airflow_assets.types.Table"))
        except AssetAlreadyExists:
            print(f"{TABLE.name} is there already.")

    acquire = Acquire(task_id="acquire", asset_id=TABLE.name, ttl="PT1M", wait=True, timeout="PT5M")

    @task(outlets=[TABLE])
    def rebuild(fencing_token: int) -> dict[str, float]:
        """Do the work; the number would go with each write, so that the table can refuse an older one."""
        begun = time.time()
        time.sleep(SECONDS)
        return {"token": fencing_token, "begun": begun, "ended": time.time()}

    release = Release(task_id="release", asset_id=TABLE.name, trigger_rule="all_done")
    register() >> acquire >> rebuild(acquire.output["fencingToken"]) >> release

"""Wait inside a run, without a worker: a load is asked for, and the run goes on when it has been written."""

from __future__ import annotations

from datetime import datetime, timezone

from airflow.sdk import DAG, task

from airflow_assets.sensors import AssetEventSensor
from airflow_assets.types import Table

readings = Table("demo.readings", namespace="demo.sensing", metadata={"rows": "{{ result }}"})

with DAG(
    "demo_sensing",
    start_date=datetime(2026, 1, 1, tzinfo=timezone.utc),
    schedule=None,
    catchup=False,
    tags=["airflow_assets"],
):

    @task(outlets=[readings])
    def load(rows: int) -> int:
        return rows

    first = AssetEventSensor(task_id="first", asset_id="demo.readings", deferrable=True, timeout=600)
    # The next event after the one that `first` saw, however long ago that was written.
    second = AssetEventSensor(
        task_id="second",
        asset_id="demo.readings",
        since="{{ ti.xcom_pull('first')['cursor'] }}",
        deferrable=True,
        timeout=600,
    )

    @task
    def report(one: dict, two: dict) -> list[int]:
        return [event["metadata"]["rows"] for event in (one, two)]

    load.override(task_id="load_some")(3) >> load.override(task_id="load_more")(5)
    first >> second
    report(first.output, second.output)

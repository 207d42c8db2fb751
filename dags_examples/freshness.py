"""A table that is not written for a while starts a Dag, once; and once more when it is written again."""

from __future__ import annotations

from datetime import datetime, timezone

from airflow.sdk import DAG, task

from airflow_assets.triggers import FreshnessTrigger

START = datetime(2026, 1, 1, tzinfo=timezone.utc)

watched = FreshnessTrigger(
    max_staleness="PT20S",
    interval="PT1S",
    asset_id="demo.sensor_readings",
    mode="transitions",
)

with DAG(
    "demo_freshness",
    start_date=START,
    schedule=watched.as_schedule(),
    catchup=False,
    tags=["airflow_assets"],
):

    @task
    def tell() -> list[list[str]]:
        from airflow_assets import trigger_assets

        for asset in trigger_assets:
            print(
                f"{asset.id} is {asset.state}, written {asset.staleDuration:.0f} s before {asset.checkTime}"
            )
        return [[asset.id, asset.state] for asset in trigger_assets]

    tell()

"""A task that fails leaves its lineage, and leaves its asset as it was."""

from __future__ import annotations

from datetime import datetime, timezone

from airflow.sdk import DAG, task

from airflow_assets.types import Table

with DAG(
    "demo_failing",
    start_date=datetime(2026, 1, 1, tzinfo=timezone.utc),
    schedule=None,
    catchup=False,
    tags=["airflow_assets"],
):

    @task(
        inlets=[Table("weather.monthly", namespace="demo.weather")],
        outlets=[Table("weather.daily", namespace="demo.weather", metadata={"rows": 0})],
    )
    def overwrite() -> None:
        raise ValueError("the source is not there today")

    overwrite()

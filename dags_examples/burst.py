"""A hundred changes at once: each starts its own run, with its own payload, and none is lost."""

from __future__ import annotations

from datetime import datetime, timezone

from airflow.sdk import DAG, task

from airflow_assets.triggers import EventTrigger

START = datetime(2026, 1, 1, tzinfo=timezone.utc)

changes = EventTrigger(namespace="demo.burst", events=["CREATED", "UPDATED"])

with DAG(
    "demo_burst",
    start_date=START,
    schedule=changes.as_schedule(),
    catchup=False,
    max_active_runs=16,
    tags=["airflow_assets"],
):

    @task
    def handle() -> int:
        from airflow_assets import trigger_asset

        return trigger_asset.metadata["number"]

    handle()

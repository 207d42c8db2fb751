"""Purge: scratch assets after a week, records of old runs after half a year."""

from __future__ import annotations

from datetime import datetime, timezone

from airflow.sdk import DAG

from airflow_assets.operators import PurgeAssetsOperator, SetAssetOperator

with DAG(
    "demo_purge",
    start_date=datetime(2026, 1, 1, tzinfo=timezone.utc),
    schedule=None,
    catchup=False,
    params={"days": 7},
    tags=["airflow_assets"],
):
    scratch = SetAssetOperator(
        task_id="scratch",
        asset_id="demo.scratch.{{ run_id }}",
        asset_type="airflow_assets.types.File",
        namespace="demo.scratch",
    )
    old_scratch = PurgeAssetsOperator(
        task_id="old_scratch",
        end_date="{{ dag_run.run_after - macros.timedelta(days=params.days) }}",
        namespace="demo.scratch",
    )
    old_records = PurgeAssetsOperator(
        task_id="old_records",
        end_date="{{ dag_run.run_after - macros.timedelta(days=180) }}",
        purge_assets=False,
        purge_asset_events=True,
    )
    scratch >> old_scratch >> old_records

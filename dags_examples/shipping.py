"""Ship lineage every five minutes: files to keep, and OpenLineage over the connection `openlineage`."""

from __future__ import annotations

import pendulum
from airflow.sdk import DAG

from airflow_assets.exporters import FileAssetExporter, OpenLineageAssetExporter
from airflow_assets.operators import AssetShipper

with DAG(
    "ship_lineage",
    schedule="*/5 * * * *",
    start_date=pendulum.datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,
):
    AssetShipper(
        task_id="ship",
        asset_exporters=[
            FileAssetExporter("archive"),
            OpenLineageAssetExporter("openlineage", conn_id="openlineage"),
        ],
        retries=2,
        retry_delay=pendulum.duration(minutes=1),
    )

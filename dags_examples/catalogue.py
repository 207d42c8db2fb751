"""The operators: register an asset, list what a team owns, delete what is gone."""

from __future__ import annotations

from datetime import datetime, timezone

from airflow.sdk import DAG, task

from airflow_assets.operators import DeleteAssetOperator, ListAssetsOperator, SetAssetOperator
from airflow_assets.types import Table

TABLE = f"{Table.__module__}.{Table.__qualname__}"

with DAG(
    "demo_catalogue",
    start_date=datetime(2026, 1, 1, tzinfo=timezone.utc),
    schedule=None,
    catchup=False,
    tags=["airflow_assets"],
):
    register = SetAssetOperator(
        task_id="register",
        asset_id="demo.customers",
        asset_type=TABLE,
        namespace="demo.catalogue",
        display_name="Customers",
        asset_description="Made and removed by the example Dag `demo_catalogue`.",
        metadata={"owner": "data-team", "tier": 2},
    )
    owned = ListAssetsOperator(
        task_id="owned",
        namespace="demo.catalogue",
        types=[TABLE],
        metadata_query=[
            {"field": "owner", "type": "EQUAL_TO", "value": "data-team"},
            {"field": "tier", "type": "GREATER_THAN_OR_EQUAL_TO", "value": 2},
        ],
        fetch_type="FETCH",
    )
    remove = DeleteAssetOperator(task_id="remove", asset_id="demo.customers")

    @task
    def check(assets: list[dict[str, object]], text: str) -> list[object]:
        assert text == "demo.customers"
        return [asset["id"] for asset in assets]

    ids = check(
        owned.output["assets"], "{{ assets(namespace='demo.catalogue') | map(attribute='id') | join(',') }}"
    )
    register >> owned >> ids >> remove

"""A trigger that asks the catalogue, as the sensors of this provider and of others do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class FindAsset(BaseTrigger):
    """Fires once, with the metadata of one asset and with what happens when it tries to write."""

    def __init__(self, asset_id: str) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.asset_id = asset_id

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return "tests.support.catalog_trigger.FindAsset", {"asset_id": self.asset_id}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        from airflow_assets.client import get_async_client
        from airflow_assets.exceptions import NotPermitted
        from airflow_assets.schemas.queries import AssetQuery

        client = get_async_client()
        found = [asset async for asset in client.iter_assets(AssetQuery(ids=[self.asset_id]))]
        try:
            await client.delete_asset(self.asset_id)
            refused = "it could delete"
        except NotPermitted as error:
            refused = str(error)
        yield TriggerEvent({"metadata": [asset.metadata for asset in found], "refused": refused})  # type: ignore[no-untyped-call]

"""The link from a task to its asset."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from airflow.sdk import BaseOperatorLink

if TYPE_CHECKING:
    from airflow.sdk import BaseOperator
    from airflow.sdk.types import TaskInstanceKey

PAGE = "/airflow_assets/api/v1/assets/"
"""What shows an asset; below Airflow's own base path."""


class AssetLink(BaseOperatorLink):
    """Leads to the asset that the operator's ``asset_id`` names."""

    name = "Asset"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:  # noqa: ARG002
        """Return the asset's address on this Airflow, with the id percent-encoded; empty without an id."""
        from airflow_assets.client import settings

        base = urlsplit(settings.base_url() or "").path.rstrip("/")
        asset_id = getattr(operator, "asset_id", None)
        return f"{base}{PAGE}{quote(str(asset_id), safe='')}" if asset_id else ""

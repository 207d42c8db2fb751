"""The hook: Airflow's way to a :class:`~airflow_assets.client.base.CatalogClient`.

The form of its connection is in the provider info.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow.sdk import BaseHook

from airflow_assets.client.options import DEFAULT_CONN_ID

if TYPE_CHECKING:
    from airflow_assets.client.aio import AsyncCatalogClient
    from airflow_assets.client.base import CatalogClient


class AssetCatalogHook(BaseHook):
    """Gives clients of the asset catalogue.

    :param airflow_assets_conn_id: the Airflow connection; the default one is made and kept by the provider.
    :param api_url: address of the API server, if it is not to be found by the rules of docs/connection.md.
    :param tenant: the tenant to act on.

    >>> AssetCatalogHook().get_conn().get_asset("analytics.orders").metadata["owner"]
    """

    conn_name_attr = "airflow_assets_conn_id"
    default_conn_name = DEFAULT_CONN_ID
    conn_type = "airflow-assets"
    hook_name = "Asset catalogue"

    def __init__(
        self,
        airflow_assets_conn_id: str = DEFAULT_CONN_ID,
        *,
        api_url: str | None = None,
        tenant: str | None = None,
    ) -> None:
        super().__init__()
        self.airflow_assets_conn_id = airflow_assets_conn_id
        self.api_url = api_url
        self.tenant = tenant

    def get_conn(self) -> CatalogClient:
        """Return a client; for its errors see :func:`airflow_assets.client.get_client`."""
        from airflow_assets.client import get_client

        return get_client(self.airflow_assets_conn_id, api_url=self.api_url, tenant=self.tenant)

    def get_async_conn(self) -> AsyncCatalogClient:
        """Return a client for coroutines, such as triggers."""
        from airflow_assets.client import get_async_client

        return get_async_client(self.airflow_assets_conn_id, api_url=self.api_url, tenant=self.tenant)

    def test_connection(self) -> tuple[bool, str]:
        """Ask for one asset; return whether that worked, and what was found or what is wrong."""
        from airflow_assets.exceptions import AssetCatalogError
        from airflow_assets.schemas.queries import AssetQuery

        try:
            page = self.get_conn().query_assets(AssetQuery(limit=1))
        except AssetCatalogError as error:
            return False, f"{error.title}: {error}"
        return True, "The catalogue answered" + ("." if page.items else "; it holds no assets yet.")

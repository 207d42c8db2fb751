"""The client of the catalogue: one interface, over HTTP or in process.

::

    from airflow_assets.client import get_client

    client = get_client()
    for asset in client.iter_assets(AssetQuery(types=["airflow_assets.types.Table"])):
        print(asset.id)

Nothing has to be configured in a task, a trigger or a Dag file: see docs/connection.md for where the address
and the credentials come from, and for clients outside Airflow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_assets.client.options import DEFAULT_CONN_ID, Options

if TYPE_CHECKING:
    from airflow_assets.client.aio import AsyncCatalogClient
    from airflow_assets.client.base import CatalogClient

__all__ = ["DEFAULT_CONN_ID", "get_async_client", "get_client"]


def get_client(
    conn_id: str = DEFAULT_CONN_ID,
    *,
    api_url: str | None = None,
    tenant: str | None = None,
    token: str | None = None,
    username: str | None = None,
    password: str | None = None,
    patience: float | None = None,
) -> CatalogClient:
    """Return a client; cheap, since connections to the API are kept and shared within a process.

    Where Airflow allows database access (server, CLI on the server, ``dag.test()``) and neither an argument
    nor the connection names an address or a login, the catalogue is called in process; elsewhere over HTTP.

    :param conn_id: the Airflow connection that holds the credentials, and the address if it has a host.
    :param api_url: address of Airflow's API server with its base path, such as ``https://airflow.example.com/af``.
    :param tenant: the tenant to act on, default the connection's, else ``main``.
    :param token: a bearer token of Airflow's API. Not together with ``username`` and ``password``.
    :param patience: seconds to keep trying, default ``[airflow_assets] client_patience``.
    :raises InvalidRequest: ``token`` together with ``password``, or half of a login; nothing is sent.
    :raises CatalogUnavailable: no address or connection can be found.
    """
    options = Options(conn_id, api_url, tenant, token, username, password, patience)
    from airflow_assets.client.base import CatalogClient
    from airflow_assets.client.choose import choose_transport

    return CatalogClient(choose_transport(options))


def get_async_client(
    conn_id: str = DEFAULT_CONN_ID,
    *,
    api_url: str | None = None,
    tenant: str | None = None,
    token: str | None = None,
    username: str | None = None,
    password: str | None = None,
    patience: float | None = None,
) -> AsyncCatalogClient:
    """Return the client for coroutines, such as triggers; arguments and errors as :func:`get_client`.

    Making it does no work: the connection is read, asynchronously, with the first call.
    """
    options = Options(conn_id, api_url, tenant, token, username, password, patience)
    from airflow_assets.client.aio import AsyncCatalogClient
    from airflow_assets.client.choose import LazyAsyncTransport

    return AsyncCatalogClient(LazyAsyncTransport(options))

"""Which transport a client gets: in process where Airflow allows database access, HTTP elsewhere."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Protocol

from airflow_assets.client.connection import Connection, store
from airflow_assets.client.options import DEFAULT_CONN_ID
from airflow_assets.exceptions import CatalogUnavailable

if TYPE_CHECKING:
    from airflow_assets.client.options import Options
    from airflow_assets.schemas.base import Schema
    from airflow_assets.schemas.operations import Operation

_BLOCKED = "airflow-db-not-allowed"


class Transport(Protocol):
    """Carries out operations of ``schemas/operations.py``."""

    def call(self, operation: Operation, path_id: str | None, payload: Schema | None) -> Any:
        """Return the operation's response model or raise its typed error."""
        ...


class AsyncTransport(Protocol):
    """:class:`Transport` for coroutines."""

    async def call(self, operation: Operation, path_id: str | None, payload: Schema | None) -> Any:
        """Return the operation's response model or raise its typed error."""
        ...


def choose_transport(options: Options) -> Transport:
    """Return the transport for the options and this process."""
    if _may_go_in_process(options) and _is_local(_local_connection(options)):
        from airflow_assets.client.in_process import InProcessTransport

        return InProcessTransport(_tenant(options, _local_connection(options)))
    from airflow_assets.client.http import HttpTransport

    return HttpTransport(options)


class LazyAsyncTransport:
    """Chooses with the first call, since a coroutine must not read a connection synchronously."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._chosen: AsyncTransport | None = None

    async def call(self, operation: Operation, path_id: str | None, payload: Schema | None) -> Any:
        """See :class:`AsyncTransport`."""
        if self._chosen is None:
            self._chosen = await self._choose()
        return await self._chosen.call(operation, path_id, payload)

    async def _choose(self) -> AsyncTransport:
        if _may_go_in_process(self._options):
            import asyncio

            connection = await asyncio.to_thread(_local_connection, self._options)
            if _is_local(connection):
                from airflow_assets.client.in_process import AsyncInProcessTransport

                return AsyncInProcessTransport(_tenant(self._options, connection))
        from airflow_assets.client.http import AsyncHttpTransport

        return AsyncHttpTransport(self._options)


def _may_go_in_process(options: Options) -> bool:
    return not (options.api_url or options.log_in) and may_use_database()


def may_use_database() -> bool:
    """Whether Airflow lets this process use its database."""
    # Airflow sets this in every task, trigger and parsing child: a look that spares the bridge's import.
    if os.environ.get("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", "").startswith(_BLOCKED):
        return False
    # In a plain script nothing has set up Airflow yet; importing it does.
    import airflow  # noqa: F401
    from airflow_assets.airflow_bridge.context import may_use_orm

    return bool(may_use_orm())


def _local_connection(options: Options) -> Connection | None:
    """Return the connection; the managed one may be missing where it is not needed."""
    try:
        return store.get(options.conn_id)
    except CatalogUnavailable:
        if options.conn_id != DEFAULT_CONN_ID:
            raise
        return None


def _is_local(connection: Connection | None) -> bool:
    return connection is None or not (connection.url or connection.log_in)


def _tenant(options: Options, connection: Connection | None) -> str | None:
    return options.tenant or (connection.tenant if connection else None)

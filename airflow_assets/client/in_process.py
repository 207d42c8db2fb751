"""The in-process transport: calls the catalogue's service where Airflow allows database access.

Permissions are not checked here, as whoever runs this can read the database; everything else is the same,
also the rule on naming a namespace.
"""

from __future__ import annotations

import asyncio
import threading
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from airflow_assets.client.fencing import current_tokens
from airflow_assets.client.identity import current_source
from airflow_assets.schemas.actors import Caller
from airflow_assets.schemas.rules import DEFAULT_TENANT

if TYPE_CHECKING:
    from airflow_assets.schemas.base import Schema
    from airflow_assets.schemas.operations import Operation


class InProcessTransport:
    """:param service: the service to call; None finds Airflow's own with the first call."""

    def __init__(self, tenant: str | None = None, service: Any = None) -> None:
        self._tenant = tenant or DEFAULT_TENANT
        self._service = service

    def call(self, operation: Operation, path_id: str | None, payload: Schema | None) -> Any:
        """Carry out an operation in the name of the running task instance, else of this host's user."""
        from airflow_assets.airflow_bridge import context, namespaces

        if self._service is None:
            self._service = context.get_service()
        namespaces.check_filter(operation, payload)
        caller = Caller(source=current_source(), tenant=self._tenant, fencing_tokens=current_tokens())
        arguments = [argument for argument in (path_id, payload) if argument is not None]
        return getattr(self._service, operation.name)(caller, *arguments)


class EngineTransport:
    """A catalogue on a database of its own, without Airflow.

    :param url: any SQLAlchemy URL; what is in memory is one database for all threads, which take turns.
    """

    def __init__(self, url: Any, tenant: str | None = None) -> None:
        from airflow_assets.catalog.engine import is_in_memory, make_engine
        from airflow_assets.catalog.service import CatalogService

        self._engine = make_engine(url)
        self._tenant = tenant or DEFAULT_TENANT
        self._service = CatalogService(self._engine)
        self._turn: Any = nullcontext()
        if self._engine.dialect.name == "sqlite":
            from sqlalchemy import event

            # The file stays whole when the machine stops; only its last moments may be lost, as with any log.
            event.listen(self._engine, "connect", lambda conn, _: conn.execute("PRAGMA synchronous = NORMAL"))
            if is_in_memory(self._engine.url):
                self._turn = threading.RLock()

    def make_tables(self) -> set[str]:
        """Make the tables where there are none; return which are missing where there are others."""
        from airflow_assets.catalog.engine import retrying

        with self._turn:
            return retrying(self._make_tables)

    def _make_tables(self) -> set[str]:
        from sqlalchemy import inspect

        from airflow_assets.catalog import tables
        from airflow_assets.catalog.engine import write

        wanted = set(tables.metadata.tables)
        there = wanted & set(inspect(self._engine).get_table_names())
        if there:
            return wanted - there
        with write(self._engine) as conn:
            tables.metadata.create_all(conn, checkfirst=False)
        return set()

    def call(self, operation: Operation, path_id: str | None, payload: Schema | None) -> Any:
        """Carry out an operation in the name of this host's user, or of the task that runs here."""
        caller = Caller(source=current_source(), tenant=self._tenant, fencing_tokens=current_tokens())
        arguments = [argument for argument in (path_id, payload) if argument is not None]
        with self._turn:
            return getattr(self._service, operation.name)(caller, *arguments)

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()


class AsyncInProcessTransport:
    """The same for coroutines: each call runs in a thread, so that the event loop goes on."""

    def __init__(self, tenant: str | None = None, service: Any = None) -> None:
        self._transport = InProcessTransport(tenant, service)

    async def call(self, operation: Operation, path_id: str | None, payload: Schema | None) -> Any:
        """See :meth:`InProcessTransport.call`."""
        return await asyncio.to_thread(self._transport.call, operation, path_id, payload)

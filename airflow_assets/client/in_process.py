"""The in-process transport: calls the catalogue's service where Airflow allows database access.

Permissions are not checked here, as whoever runs this can read the database; everything else is the same,
also the rule on naming a namespace.
"""

from __future__ import annotations

import asyncio
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


class AsyncInProcessTransport:
    """The same for coroutines: each call runs in a thread, so that the event loop goes on."""

    def __init__(self, tenant: str | None = None, service: Any = None) -> None:
        self._transport = InProcessTransport(tenant, service)

    async def call(self, operation: Operation, path_id: str | None, payload: Schema | None) -> Any:
        """See :meth:`InProcessTransport.call`."""
        return await asyncio.to_thread(self._transport.call, operation, path_id, payload)

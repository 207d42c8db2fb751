"""The routes that wait: ``async``, without a thread and a connection while they wait."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from anyio import to_thread
from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from airflow_assets.airflow_bridge import context, namespaces
from airflow_assets.airflow_bridge.event_waits import EventLook, EventWaiter
from airflow_assets.airflow_bridge.lease_waits import LeaseLook, LeaseWaiter
from airflow_assets.airflow_bridge.waiting import Hub, Room
from airflow_assets.api.arguments import parse_body, parse_query, read_body, tenant_of
from airflow_assets.api.identities import Identity
from airflow_assets.api.routes import requires, threads
from airflow_assets.catalog import lease_waits
from airflow_assets.schemas.actors import Caller, Source, SourceKind
from airflow_assets.schemas.events import Event
from airflow_assets.schemas.lease_waiting import LeaseWait, LeaseWaitResult
from airflow_assets.schemas.operations import OPERATIONS
from airflow_assets.schemas.waiting import EventWait, EventWaitResult

T = TypeVar("T")
_GONE = 499
"""Nobody reads this answer: its client has gone away."""
_EVENTS = OPERATIONS["wait_events"]
_LEASES = OPERATIONS["wait_leases"]


class Waits:
    """Who waits in this process."""

    def __init__(self) -> None:
        # Threads of their own: a long pass of a background job must not hold up those who wait.
        self._pool = ThreadPoolExecutor(2, thread_name_prefix="airflow-assets-wait")
        self.room = Room()
        self.event_look = EventLook(context.get_jobs_engine)
        self.events: Hub[EventWaiter, Event] = Hub(self.event_look, self._pool, self.room)
        self.leases: Hub[LeaseWaiter, bool] = Hub(LeaseLook(context.get_jobs_engine), self._pool, self.room)

    @property
    def look_ups(self) -> int:
        """How many there were since the process began."""
        return self.events.look_ups + self.leases.look_ups

    async def close(self) -> None:
        """Answer everybody."""
        await self.events.close()
        await self.leases.close()
        self._pool.shutdown(wait=False)


def wait_routes() -> APIRouter:
    """Return the routes of the operations that wait, without a prefix."""
    router = APIRouter(redirect_slashes=False)
    router.add_api_route(
        _EVENTS.path, wait_events, methods=[_EVENTS.method], name=_EVENTS.name, response_model=None
    )
    router.add_api_route(
        _LEASES.path, wait_leases, methods=[_LEASES.method], name=_LEASES.name, response_model=None
    )
    return router


async def wait_leases(
    request: Request,
    identity: Identity = Depends(requires(_LEASES.action)),  # noqa: ARG001
) -> Response:
    """Answer when it may be the caller's turn, or after the time asked for."""
    parse_query(None, request.query_params)
    body = await read_body(request)
    wait = await to_thread.run_sync(parse_body, LeaseWait, body, limiter=threads())
    wait_id = str(wait.wait_id)
    if not wait.timeout:
        come = await to_thread.run_sync(_turns, wait_id, limiter=threads())
        return _answer(LeaseWaitResult(turn=bool(come)))
    waits: Waits = request.app.state.waits
    try:
        turn = await _unless_gone(request, waits.leases.wait(LeaseWaiter(wait_id), wait.timeout))
    except _ClientGone:
        return Response(status_code=_GONE)
    return _answer(LeaseWaitResult(turn=bool(turn)))


def _turns(wait_id: str) -> set[str]:
    return lease_waits.look(context.get_service().engine, [wait_id])


async def wait_events(request: Request, identity: Identity = Depends(requires(_EVENTS.action))) -> Response:
    """Answer with the first event that matches, or after the time asked for."""
    body = await read_body(request)
    prepared = await to_thread.run_sync(_prepare, request, identity, body, limiter=threads())
    if isinstance(prepared, Response):
        return prepared
    waiter, seconds = prepared
    waits: Waits = request.app.state.waits
    if waiter.cursor < waits.event_look.head:
        waits.events.wake()
    try:
        event = await _unless_gone(request, waits.events.wait(waiter, seconds))
    except _ClientGone:
        return Response(status_code=_GONE)
    if event is None:
        return _answer(EventWaitResult(cursor=waiter.cursor))
    result = EventWaitResult(cursor=event.seq, event=event)
    return await to_thread.run_sync(_answer, result, limiter=threads())


def _prepare(request: Request, identity: Identity, body: bytes) -> Response | tuple[EventWaiter, float]:
    """Read the request, and look at once where that may find something; in a worker thread."""
    parse_query(None, request.query_params)
    wait = parse_body(EventWait, body)
    namespaces.check_filter(_EVENTS, wait.filter)
    if wait.keep_for is not None:
        identity.check_waits_for(str(wait.keep_for), resume=wait.resume)
    # Who it is does not matter, as nothing is written in his name, and might cost a look-up.
    caller = Caller(
        source=Source(kind=SourceKind.API),
        tenant=tenant_of(request),
        hidden_namespaces=namespaces.hidden_namespaces(identity.is_member),
    )
    cursor = wait.after
    if cursor is None or wait.resume or not wait.timeout:
        seen = context.get_service().wait_events(caller, wait.model_copy(update={"timeout": 0.0}))
        if seen.event is not None or not wait.timeout:
            return _answer(seen)
        cursor = seen.cursor
    keep_for = None if wait.keep_for is None else str(wait.keep_for)
    return EventWaiter(caller, wait.filter, cursor, keep_for), wait.timeout


def _answer(result: EventWaitResult | LeaseWaitResult) -> Response:
    return Response(result.model_dump_json(by_alias=True), media_type="application/json")


class _ClientGone(Exception):
    pass


async def _unless_gone(request: Request, waiting: Awaitable[T]) -> T:
    """Return what the waiting brings; end it when the client goes away.

    :raises _ClientGone: it has gone.
    """
    found = asyncio.ensure_future(waiting)
    gone = asyncio.ensure_future(_disconnected(request))
    tasks: tuple[asyncio.Future[Any], ...] = (found, gone)
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if not found.done():
            raise _ClientGone
        return found.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _disconnected(request: Request) -> None:
    """Return when the client has gone; the body has been read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass

"""A route for each operation of :mod:`airflow_assets.schemas.operations`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from anyio import CapacityLimiter, to_thread
from anyio.lowlevel import RunVar
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from airflow_assets.airflow_bridge import context, namespaces
from airflow_assets.api.arguments import parse_body, parse_query, path_id, read_body, tenant_of
from airflow_assets.api.authentication import authenticate
from airflow_assets.api.identities import Identity
from airflow_assets.api.permissions import actions_of
from airflow_assets.schemas.actors import Caller
from airflow_assets.schemas.base import Schema
from airflow_assets.schemas.credentials import FENCING_HEADER
from airflow_assets.schemas.fencing import read_fencing_header
from airflow_assets.schemas.lineage import StateCorrection, TaskRunRecord
from airflow_assets.schemas.operations import OPERATIONS, Action, Operation

THREADS = context.REQUESTS
"""Requests that are served at once; the catalogue's engine has as many connections.

They have threads of their own beside the pool in which Airflow serves the heartbeats of tasks, so a slow
catalogue never keeps a heartbeat waiting.
"""
_threads: RunVar[CapacityLimiter] = RunVar("airflow_assets_api_threads")


def threads() -> CapacityLimiter:
    """Return the limit on worker threads of the running event loop."""
    limiter = _threads.get(None)
    if limiter is None:
        limiter = CapacityLimiter(THREADS)
        _threads.set(limiter)
    return limiter


def requires(action: Action) -> Callable[[Request], Any]:
    """Return the dependency that passes callers who may do ``action``, and gives their identity."""

    async def authorized(request: Request) -> Identity:
        limiter = threads()
        who = await authenticate(request, limiter)
        return await to_thread.run_sync(_authorized, who, action, limiter=limiter)

    return authorized


def operation_routes(prefix: str) -> list[Route]:
    """Return the routes of all operations but those that wait, each below ``prefix``.

    They are Starlette's own: FastAPI's would solve dependencies and look for a response model every time,
    and there are none.
    """
    return [_route(prefix, operation) for operation in OPERATIONS.values() if not operation.waits]


def _route(prefix: str, operation: Operation) -> Route:
    path = prefix + operation.path.replace("{asset_id}", "{asset_id:path}")
    route = Route(path, _Endpoint(operation), methods=[operation.method], name=operation.name)
    route.methods = {operation.method}  # without the HEAD that Starlette adds to GET
    return route


class _Endpoint:
    """The ASGI application that serves one operation.

    The event loop only verifies the credentials and moves bytes: who is calling, reading models, the
    catalogue and writing the answer happen in one worker thread, so a batch of megabytes delays no heartbeat
    of a task, and a small request waits for a thread once.
    """

    def __init__(self, operation: Operation) -> None:
        self._operation = operation

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        request = Request(scope, receive)
        limiter = threads()
        who = await authenticate(request, limiter)
        body = await read_body(request) if self._operation.body else b""
        answer = await to_thread.run_sync(_serve, self._operation, request, who, body, limiter=limiter)
        await answer(scope, receive, send)


def _authorized(who: Callable[[], Identity], action: Action) -> Identity:
    identity = who()
    identity.check(action)
    return identity


def _serve(operation: Operation, request: Request, who: Callable[[], Identity], body: bytes) -> Response:
    identity = _authorized(who, operation.action)
    model = parse_body(operation.body, body) if operation.body else None
    query = parse_query(operation.query, request.query_params)
    for argument in (model, query):
        _check(operation, identity, argument)
    caller = caller_of(request, identity)
    if isinstance(model, (TaskRunRecord, StateCorrection)):
        caller = caller.model_copy(update={"source": identity.recorder(model.task)})
    ids = [path_id(request, name) for name in request.path_params]
    arguments = [argument for argument in (*ids, model, query) if argument is not None]
    return _answer(operation, getattr(context.get_service(), operation.name)(caller, *arguments))


def _check(operation: Operation, identity: Identity, argument: Schema | None) -> None:
    for action in actions_of(operation, argument) - {operation.action}:
        identity.check(action)
    namespaces.check_filter(operation, argument)


def caller_of(request: Request, identity: Identity) -> Caller:
    """Return the caller as the catalogue knows it; may ask the auth manager for teams."""
    return Caller(
        source=identity.source,
        tenant=tenant_of(request),
        hidden_namespaces=namespaces.hidden_namespaces(identity.is_member),
        fencing_tokens=read_fencing_header(request.headers.get(FENCING_HEADER)),
        clear_number=identity.clear_number,
    )


def _answer(operation: Operation, result: Schema | None) -> Response:
    if result is None:
        return Response(status_code=operation.status)
    return Response(result.model_dump_json(by_alias=True), operation.status, media_type="application/json")

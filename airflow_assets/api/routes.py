"""A FastAPI route for each operation of :mod:`airflow_assets.schemas.operations`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from anyio import CapacityLimiter, to_thread
from anyio.lowlevel import RunVar
from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

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

THREADS = 10
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
        identity = await authenticate(request, threads())
        await to_thread.run_sync(
            identity.check, action, limiter=threads()
        )  # the auth manager may ask a database
        return identity

    return authorized


def operation_routes() -> APIRouter:
    """Return the routes of all operations but those that wait, without a prefix."""
    router = APIRouter(redirect_slashes=False)
    for operation in OPERATIONS.values():
        if operation.waits:
            continue
        router.add_api_route(
            operation.path.replace("{asset_id}", "{asset_id:path}"),
            _endpoint(operation),
            methods=[operation.method],
            name=operation.name,
            status_code=operation.status,
            response_model=None,
        )
    return router


def _endpoint(operation: Operation) -> Callable[..., Any]:
    """Make the function that serves an operation.

    The event loop only moves bytes: reading models, the catalogue and writing the answer happen in one worker
    thread, so a batch of megabytes delays no heartbeat of a task.
    """

    async def endpoint(
        request: Request, identity: Identity = Depends(requires(operation.action))
    ) -> Response:
        body = await read_body(request) if operation.body else b""
        return await to_thread.run_sync(_serve, operation, request, identity, body, limiter=threads())

    return endpoint


def _serve(operation: Operation, request: Request, identity: Identity, body: bytes) -> Response:
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

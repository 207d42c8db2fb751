"""Routes beside the operations: health, metrics, the OpenAPI document and its page."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from anyio import to_thread
from fastapi import APIRouter, Depends, Request
from fastapi.openapi.docs import get_swagger_ui_html
from starlette.responses import Response

from airflow_assets import __version__, config
from airflow_assets.airflow_bridge import context, vitals
from airflow_assets.api import metrics, openapi
from airflow_assets.api.arguments import parse_query
from airflow_assets.api.identities import Identity
from airflow_assets.api.routes import caller_of, requires, threads
from airflow_assets.api.waiting import Waits
from airflow_assets.catalog.engine import read
from airflow_assets.catalog.gauges import inventory
from airflow_assets.exceptions import NotPermitted
from airflow_assets.schemas.base import iso
from airflow_assets.schemas.operations import Action
from airflow_assets.schemas.queries import FacetQuery

_LISTS = Depends(requires(Action.LIST))


def system_routes(*, page: bool) -> APIRouter:
    """Return the routes; all need LIST. ``page`` adds the interactive page of the OpenAPI document."""
    router = APIRouter(redirect_slashes=False)
    router.add_api_route("/health", health, name="health", response_model=None)
    router.add_api_route("/rights", rights, name="rights", response_model=None)
    router.add_api_route("/metrics", gauges, name="metrics", response_model=None)
    router.add_api_route("/openapi.json", document, name="openapi", response_model=None)
    if page:
        router.add_api_route("/docs", docs, name="docs", response_model=None)
    return router


async def health(request: Request, _: Identity = _LISTS) -> Response:
    """Tell whether the database answers, has our tables, and which background jobs run.

    ``status`` is ``healthy``, or ``degraded`` when jobs should run and do not; without database or tables the
    answer is the problem ``catalog-unavailable``.
    """
    parse_query(None, request.query_params)
    return await to_thread.run_sync(_health, limiter=threads())


async def rights(request: Request, identity: Identity = _LISTS) -> Response:
    """Tell who is calling and what it may do, so that a page shows no control that would be refused."""
    parse_query(None, request.query_params)
    return await to_thread.run_sync(_rights, identity, limiter=threads())


async def gauges(request: Request, identity: Identity = _LISTS) -> Response:
    """Return the gauges; assets are counted as the caller sees them."""
    parse_query(None, request.query_params)
    return await to_thread.run_sync(_gauges, request, identity, limiter=threads())


async def document(_: Identity = _LISTS) -> Response:
    """Return the OpenAPI document."""
    return Response(_document_text(), media_type="application/json")


async def docs(_: Identity = _LISTS) -> Response:
    """Return the interactive page, as Airflow's own ``/docs`` under the same option."""
    return get_swagger_ui_html(openapi_url="openapi.json", title="Asset catalogue")


@lru_cache(maxsize=1)
def _document_text() -> str:
    return json.dumps(openapi.document(), ensure_ascii=False)


def _health() -> Response:
    jobs = vitals.jobs(context.get_service().engine)
    well = not config.enabled() or bool(jobs and all(job.alive for job in jobs))
    return _json(
        {
            "status": "healthy" if well else "degraded",
            "version": __version__,
            "jobs": {job.name: {"running": job.alive, "leaseUntil": iso(job.expires)} for job in jobs},
        }
    )


def _rights(identity: Identity) -> Response:
    return _json(
        {"name": identity.source.user, "actions": [one.value for one in Action if _may(identity, one)]}
    )


def _may(identity: Identity, action: Action) -> bool:
    try:
        identity.check(action)
    except NotPermitted:
        return False
    return True


def _gauges(request: Request, identity: Identity) -> Response:
    service = context.get_service()
    caller = caller_of(request, identity)
    types = service.facets(caller, FacetQuery(facets=["type"], top=metrics.MAX_TYPES))
    waits: Waits = request.app.state.waits
    with read(service.engine) as conn:
        counts = inventory(conn, caller)
    text = metrics.render(
        types, vitals.vitals(service.engine), counts, waiting=waits.room.taken, look_ups=waits.look_ups
    )
    return Response(text, media_type=metrics.MEDIA_TYPE)


def _json(content: Any) -> Response:
    return Response(json.dumps(content, ensure_ascii=False).encode(), media_type="application/json")

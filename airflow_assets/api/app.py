"""The FastAPI application that the plugin mounts into Airflow's API server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from airflow_assets import __version__
from airflow_assets.api import problems
from airflow_assets.api.envelope import Envelope
from airflow_assets.api.routes import operation_routes
from airflow_assets.api.system import system_routes
from airflow_assets.api.waiting import Waits, wait_routes
from airflow_assets.schemas.operations import API_PREFIX, MOUNT


def create_app() -> FastAPI:
    """Return the application, to be mounted at ``/airflow_assets``.

    Its lifespan, which Airflow's API server runs, runs the background jobs. It needs Airflow's auth manager
    once requests come, not before.
    """
    from airflow.configuration import conf

    prefix = API_PREFIX.removeprefix(MOUNT)
    app = FastAPI(
        title="Asset catalogue",
        version=__version__,
        lifespan=_lifespan,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.waits = Waits()
    app.router.routes += operation_routes(prefix)
    app.include_router(wait_routes(), prefix=prefix)
    app.include_router(
        system_routes(page=conf.getboolean("api", "enable_swagger_ui", fallback=True)), prefix=prefix
    )
    problems.install(app)
    app.add_middleware(Envelope)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    from airflow_assets.airflow_bridge import jobs

    async with jobs.lifespan():
        yield
        await app.state.waits.close()

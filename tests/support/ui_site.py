"""The page on a real API: our two applications as the plugin mounts them, and a stand-in for Airflow's own page.

The stand-in (`ui/stub/host.tsx`) lends the same modules and loads the bundle in the same way as Airflow's page.
"""

from __future__ import annotations

import socket
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support.processes import wait_until

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.requests import Request

ROOT = Path(__file__).resolve().parents[2]
STUB = ROOT / ".build" / "ui-stub"
_PAGE = """<!doctype html>
<html lang="en" class="{mode}" style="color-scheme: {mode}">
<head><meta charset="utf-8"><title>Airflow</title><base href="{base}">
<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,"></head>
<body data-name="{name}" data-bundle="{bundle}"><div id="root"></div>
<script type="module" src="stub/host.js"></script></body></html>
"""


def make_site(base: str = "/") -> FastAPI:
    """The application that serves everything below `base`. Airflow's database must be migrated."""
    from airflow.api_fastapi.app import init_auth_manager
    from fastapi import FastAPI
    from starlette.responses import HTMLResponse
    from starlette.staticfiles import StaticFiles

    from airflow_assets.plugin import AssetsPlugin

    inner = FastAPI(openapi_url=None)
    init_auth_manager(inner)
    for mounted in AssetsPlugin.fastapi_apps:
        inner.mount(mounted["url_prefix"], mounted["app"])
    inner.mount("/stub", StaticFiles(directory=STUB))
    page = AssetsPlugin.react_apps[0]

    def host(request: Request) -> HTMLResponse:
        mode = "dark" if request.cookies.get("mode") == "dark" else "light"
        return HTMLResponse(_PAGE.format(mode=mode, base=base, name=page["name"], bundle=page["bundle_url"]))

    inner.add_route("/{path:path}", host)

    if base == "/":
        return inner
    outer = FastAPI(openapi_url=None)
    outer.mount(base.rstrip("/"), inner)
    return outer


class Server:
    """Serves an application on a free loopback port from a thread of its own; its lifespan does not run."""

    def __init__(self, app: Any) -> None:
        import uvicorn

        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._server = uvicorn.Server(uvicorn.Config(app, lifespan="off", log_level="warning"))
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True
        )

    def __enter__(self) -> Server:
        self._thread.start()
        wait_until(lambda: self._server.started, 30, "the site to listen")
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(20)
        self._socket.close()

"""The application that serves the bundle's files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fastapi import FastAPI
from starlette.staticfiles import StaticFiles

if TYPE_CHECKING:
    import os

    from starlette.responses import Response
    from starlette.types import Scope

    from airflow_assets.ui.bundle import Bundle

_NAMED_BY_CONTENT = re.compile(r"-[A-Za-z0-9_-]{8}\.\w+$")
_FOR_EVER = "public, max-age=31536000, immutable"
_ASK_AGAIN = "no-cache"
# What the operating system says of a file name's ending may be wrong or missing; browsers insist on these.
_TYPES = {".js": "text/javascript", ".svg": "image/svg+xml", ".json": "application/json"}


def create_app(bundle: Bundle) -> FastAPI:
    """Return the application, to be mounted at ``/airflow_assets_ui``; its files need no log-in."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)
    app.mount("/", _Files(directory=bundle.folder))
    return app


class _Files(StaticFiles):
    """Static files whose names say whether a browser must ask for them again."""

    def file_response(
        self,
        full_path: str | os.PathLike[str],
        stat_result: os.stat_result,
        scope: Scope,
        status_code: int = 200,
    ) -> Response:
        answer = super().file_response(full_path, stat_result, scope, status_code)
        name = str(full_path)
        kept = _FOR_EVER if _NAMED_BY_CONTENT.search(name) else _ASK_AGAIN
        answer.headers["Cache-Control"] = kept
        answer.headers["X-Content-Type-Options"] = "nosniff"
        ending = name[name.rfind(".") :]
        if ending in _TYPES and answer.status_code == status_code:
            answer.headers["Content-Type"] = f"{_TYPES[ending]}; charset=utf-8"
        return answer

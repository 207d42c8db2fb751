"""What holds for every answer: safe headers, and no exception that leaves the application."""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from airflow_assets.api.problems import unexpected

_ALWAYS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin"}
_HTML = {"Content-Security-Policy": "frame-ancestors 'self'"}


class Envelope:
    """ASGI middleware around the whole application.

    Answers hold data of one caller, so no cache may keep them; pages may be framed by Airflow's own UI only.
    An exception that no handler knows is answered here: were it passed on, Airflow's middlewares around us
    would meet it after the answer was sent.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                _add_headers(MutableHeaders(scope=message))
            await send(message)

        try:
            await self.app(scope, receive, send_with_headers)
        except Exception as error:
            if started:
                raise
            await unexpected(Request(scope), error)(scope, receive, send_with_headers)


def _add_headers(headers: MutableHeaders) -> None:
    for name, value in _ALWAYS.items():
        headers.setdefault(name, value)
    if headers.get("content-type", "").startswith("text/html"):
        for name, value in _HTML.items():
            headers.setdefault(name, value)

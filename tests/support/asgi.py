"""A client that calls an ASGI application in this process, without a server and without a port."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import httpx
from anyio.from_thread import BlockingPortal, start_blocking_portal

if TYPE_CHECKING:
    from contextlib import AbstractContextManager


class AsgiClient:
    """Sends requests to `app` on one event loop of its own; an exception of the application is a failure of the test.

    With `lifespan=True` the application's lifespan runs as a server would run it.

    Example:
        >>> with AsgiClient(app) as client:
        ...     client.get("/health").status_code
        200
    """

    def __init__(self, app: Any, *, lifespan: bool = False) -> None:
        self.app = app
        self._lifespan = lifespan
        self._starting: AbstractContextManager[BlockingPortal] = start_blocking_portal("asyncio")
        self._stack = AsyncExitStack()

    def __enter__(self) -> AsgiClient:
        self.portal = self._starting.__enter__()
        self.portal.call(self._open)
        return self

    async def _open(self) -> None:
        if self._lifespan:
            await self._stack.enter_async_context(self.app.router.lifespan_context(self.app))
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=True)
        self._client = await self._stack.enter_async_context(
            httpx.AsyncClient(transport=transport, base_url="http://catalogue.test", timeout=60)
        )

    def __exit__(self, *error: object) -> None:
        try:
            self.portal.call(self._stack.aclose)
        finally:
            self._starting.__exit__(None, None, None)

    def request(self, method: str, url: str, **arguments: Any) -> httpx.Response:
        """Send one request and return the whole answer."""

        async def send() -> httpx.Response:
            return await self._client.request(method, url, **arguments)

        return self.portal.call(send)

    def get(self, url: str, **arguments: Any) -> httpx.Response:
        """GET."""
        return self.request("GET", url, **arguments)

    def post(self, url: str, **arguments: Any) -> httpx.Response:
        """POST."""
        return self.request("POST", url, **arguments)

    def put(self, url: str, **arguments: Any) -> httpx.Response:
        """PUT."""
        return self.request("PUT", url, **arguments)

    def delete(self, url: str, **arguments: Any) -> httpx.Response:
        """DELETE."""
        return self.request("DELETE", url, **arguments)

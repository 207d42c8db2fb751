"""The HTTP transports, one for threads, one for coroutines; a process keeps and shares its connections."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
import time
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx

from airflow_assets import __version__, config
from airflow_assets.client import credentials
from airflow_assets.client.address import Address, find_address
from airflow_assets.client.connection import FRESH_SECONDS, REREAD_SECONDS, Connection, store
from airflow_assets.client.exchange import Answer, Exchange, Failure
from airflow_assets.client.fencing import current_tokens
from airflow_assets.exceptions import NotAuthenticated
from airflow_assets.schemas.credentials import FENCING_HEADER, TENANT_HEADER
from airflow_assets.schemas.fencing import fencing_header

if TYPE_CHECKING:
    from airflow_assets.client.options import Options
    from airflow_assets.schemas.base import Schema
    from airflow_assets.schemas.operations import Operation

# Nothing of the request left this host, or not as a whole: the server's code never saw it.
_NOT_SENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
)
_Credentials = credentials.Bearer | credentials.Login | credentials.Managed


@dataclass(frozen=True)
class _Target:
    """Where one attempt goes and as whom."""

    address: Address
    credentials: _Credentials
    tenant: str | None
    timeout: httpx.Timeout


class _Pool:
    """The connections of this process: one client for all threads, one for each event loop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sync: httpx.Client | None = None
        self._async: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncClient] = (
            weakref.WeakKeyDictionary()
        )

    def client(self) -> httpx.Client:
        with self._lock:
            if self._sync is None:
                self._sync = httpx.Client(headers=_headers())
            return self._sync

    def async_client(self) -> httpx.AsyncClient:
        loop = asyncio.get_running_loop()
        with self._lock:
            if loop not in self._async:
                # A triggerer has one connection open for each sensor that waits: no limit of httpx's (100).
                limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
                self._async[loop] = httpx.AsyncClient(headers=_headers(), limits=limits)
            return self._async[loop]

    def close(self) -> None:
        with self._lock:
            client, self._sync = self._sync, None
        if client is not None:
            client.close()

    async def close_async(self) -> None:
        with self._lock:
            client = self._async.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()


def _timeout(options: Options, waits: float) -> httpx.Timeout:
    """One answer may take as long as configured, and never longer than the whole call may.

    :param waits: how long the request itself asks the server to wait.
    """
    longest = min(float(config.client_timeout()), _patience(options))
    return httpx.Timeout(longest, read=longest + waits, connect=5.0)


def _patience(options: Options) -> float:
    return float(config.client_patience()) if options.patience is None else options.patience


def _headers() -> dict[str, str]:
    return {"User-Agent": f"airflow-provider-assets/{__version__}", "Accept": "application/json"}


_pool = _Pool()
_inherited: list[_Pool] = []


def _after_fork() -> None:
    """Start with no connections; the parent's stay referenced, so that nothing here closes them."""
    global _pool  # noqa: PLW0603
    _inherited.append(_pool)
    _pool = _Pool()


def _at_exit() -> None:
    _pool.close()


os.register_at_fork(after_in_child=_after_fork)
atexit.register(_at_exit)


async def close_connections() -> None:
    """Close the connections of the running event loop, for code whose loop ends before its process does."""
    await _pool.close_async()


class HttpTransport:
    """Calls the catalogue over HTTP and blocks until the answer is there."""

    def __init__(self, options: Options) -> None:
        self._options = options

    def call(self, operation: Operation, path_id: str | None, payload: Schema | None) -> Any:
        """Carry out an operation and return its response model.

        :raises AssetCatalogError: as the problem document says, or CatalogUnavailable when no answer comes.
        """
        exchange = Exchange(operation, path_id, payload, _patience(self._options))
        while True:
            target = _target(self._options, self._connection(exchange.renew), exchange.waits)
            outcome = self._attempt(exchange, target)
            pause = _judge(exchange, outcome, target)
            if isinstance(outcome, Answer) and pause is None:
                return exchange.result(outcome, target.address)
            time.sleep(pause or 0.0)

    def _connection(self, renew: bool) -> Connection | None:
        if not _needs_connection(self._options):
            return None
        return store.get(self._options.conn_id, newer_than=REREAD_SECONDS if renew else FRESH_SECONDS)

    def _attempt(self, exchange: Exchange, target: _Target) -> Answer | Failure:
        client = _pool.client()
        token = _ready_token(target, exchange.renew)
        try:
            if token is None:
                answer = _answer(client.send(_token_request(client, target)))
                token = _obtained(answer, target)
                if token is None:
                    return answer
        except httpx.TransportError as error:
            return Failure(error, sent=False)
        try:
            return _answer(client.send(_request(client, exchange, target, token)))
        except httpx.TransportError as error:
            return Failure(error, sent=not isinstance(error, _NOT_SENT))


class AsyncHttpTransport:
    """Calls the catalogue over HTTP from a coroutine."""

    def __init__(self, options: Options) -> None:
        self._options = options

    async def call(self, operation: Operation, path_id: str | None, payload: Schema | None) -> Any:
        """See :meth:`HttpTransport.call`."""
        exchange = Exchange(operation, path_id, payload, _patience(self._options))
        while True:
            target = _target(self._options, await self._connection(exchange.renew), exchange.waits)
            outcome = await self._attempt(exchange, target)
            pause = _judge(exchange, outcome, target)
            if isinstance(outcome, Answer) and pause is None:
                return exchange.result(outcome, target.address)
            await asyncio.sleep(pause or 0.0)

    async def _connection(self, renew: bool) -> Connection | None:
        if not _needs_connection(self._options):
            return None
        return await store.aget(self._options.conn_id, newer_than=REREAD_SECONDS if renew else FRESH_SECONDS)

    async def _attempt(self, exchange: Exchange, target: _Target) -> Answer | Failure:
        client = _pool.async_client()
        token = _ready_token(target, exchange.renew)
        try:
            if token is None:
                answer = _answer(await client.send(_token_request(client, target)))
                token = _obtained(answer, target)
                if token is None:
                    return answer
        except httpx.TransportError as error:
            return Failure(error, sent=False)
        try:
            return _answer(await client.send(_request(client, exchange, target, token)))
        except httpx.TransportError as error:
            return Failure(error, sent=not isinstance(error, _NOT_SENT))


def _needs_connection(options: Options) -> bool:
    return not (options.api_url and options.log_in)


def _target(options: Options, connection: Connection | None, waits: float) -> _Target:
    address = find_address(options.api_url, connection.url if connection else None, options.conn_id)
    tenant = options.tenant or (connection.tenant if connection else None)
    return _Target(address, credentials.choose(options, connection), tenant, _timeout(options, waits))


def _judge(exchange: Exchange, outcome: Answer | Failure, target: _Target) -> float | None:
    shown = target.credentials
    return exchange.judge(outcome, target.address, shown.describe(), renewable=shown.renewable)


def _ready_token(target: _Target, renew: bool) -> str | None:
    """Return a token that needs no request, None when the login must be exchanged for one."""
    shown = target.credentials
    if isinstance(shown, credentials.Managed):
        return shown.sign()
    if isinstance(shown, credentials.Bearer):
        return shown.token
    key = shown.key(target.address.tokens)
    if renew:
        credentials.tokens.drop(key)
    return credentials.tokens.get(key)


def _token_request(client: httpx.Client | httpx.AsyncClient, target: _Target) -> httpx.Request:
    login = target.credentials
    assert isinstance(login, credentials.Login)  # noqa: S101 - the other two always have a token
    return client.build_request(
        "POST",
        target.address.tokens,
        json={"username": login.username, "password": login.password},
        timeout=target.timeout,
    )


def _obtained(answer: Answer, target: _Target) -> str | None:
    """Return the token that came for a login, None when the answer is a failure worth judging like any other.

    :raises NotAuthenticated: the login is wrong.
    """
    import json

    login = target.credentials
    assert isinstance(login, credentials.Login)  # noqa: S101
    if answer.status in {200, 201}:
        token = str(json.loads(answer.body)["access_token"])
        return credentials.tokens.keep(login.key(target.address.tokens), token)
    if answer.status in {400, 401, 403, 422}:
        raise NotAuthenticated(
            f"{target.address.tokens} refused {login.describe()} with status {answer.status}.",
            hint="Check user name and password; sites with single sign-on may need a token instead.",
            http_status=answer.status,
        )
    return None


def _request(
    client: httpx.Client | httpx.AsyncClient, exchange: Exchange, target: _Target, token: str
) -> httpx.Request:
    headers = {"Authorization": f"Bearer {token}"}
    if target.tenant:
        headers[TENANT_HEADER] = target.tenant
    if exchange.body is not None:
        headers["Content-Type"] = "application/json"
    tokens = current_tokens()
    if tokens:
        headers[FENCING_HEADER] = fencing_header(tokens)
    return client.build_request(
        exchange.operation.method,
        target.address.api + exchange.path,
        params=exchange.params,
        content=exchange.body,
        headers=headers,
        timeout=target.timeout,
    )


def _answer(response: httpx.Response) -> Answer:
    return Answer(response.status_code, {k.lower(): v for k, v in response.headers.items()}, response.content)

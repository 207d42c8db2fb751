"""The Airflow connection behind a client: read once per process, again after five minutes."""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from dataclasses import dataclass
from typing import Any

from airflow_assets.client.options import check_login
from airflow_assets.exceptions import CatalogUnavailable, InvalidRequest
from airflow_assets.schemas.credentials import CONN_ID, ManagedSecret

HTTPS_PORT = 443
FRESH_SECONDS = 300.0
REREAD_SECONDS = 2.0
"""A refused token may make the connection be read again, but not more often than this."""


@dataclass(frozen=True)
class Connection:
    """What the client uses of an Airflow connection.

    :param url: address of the API server, None when the connection names no host.
    :param secret: set when the connection carries the managed secret.
    """

    conn_id: str
    url: str | None = None
    username: str | None = None
    password: str | None = None
    token: str | None = None
    tenant: str | None = None
    secret: ManagedSecret | None = None

    def __repr__(self) -> str:
        kind = (
            "a token"
            if self.token
            else "a login"
            if self.username
            else "a secret"
            if self.secret
            else "nothing"
        )
        return f"Connection({self.conn_id!r}, url={self.url!r}, with {kind})"

    @property
    def log_in(self) -> bool:
        """Whether the connection holds a token or a login."""
        return bool(self.token or self.username)


class ConnectionStore:
    """Connections by id, with their age. Safe to use from several threads; empty in a forked child."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, tuple[float, Connection]] = {}

    def get(self, conn_id: str, *, newer_than: float = FRESH_SECONDS) -> Connection:
        """Return the connection, read at most ``newer_than`` seconds ago.

        :raises CatalogUnavailable: there is no such connection.
        """
        known = self._fresh(conn_id, newer_than)
        return known or self._keep(_facts(conn_id, _read(conn_id), decode_extra))

    async def aget(self, conn_id: str, *, newer_than: float = FRESH_SECONDS) -> Connection:
        """Like :meth:`get`, for coroutines: the read goes through Airflow's asynchronous channel."""
        known = self._fresh(conn_id, newer_than)
        if known:
            return known
        found = await _aread(conn_id)
        extra = await _adecode_extra(found, conn_id)
        return self._keep(_facts(conn_id, found, lambda *_: extra))

    def forget(self) -> None:
        """Forget every connection."""
        with self._lock:
            self._known.clear()

    def _fresh(self, conn_id: str, newer_than: float) -> Connection | None:
        with self._lock:
            entry = self._known.get(conn_id)
        return entry[1] if entry and time.monotonic() - entry[0] < newer_than else None

    def _keep(self, connection: Connection) -> Connection:
        with self._lock:
            self._known[connection.conn_id] = (time.monotonic(), connection)
        return connection


store = ConnectionStore()


def _after_fork() -> None:
    # The parent's lock may have been held by a thread that does not exist here.
    store.__init__()  # type: ignore[misc]


os.register_at_fork(after_in_child=_after_fork)


def _read(conn_id: str) -> Any:
    from airflow.sdk import Connection as AirflowConnection

    try:
        return AirflowConnection.get(conn_id)
    except Exception as error:
        found = _read_on_server(conn_id)
        if found is None:
            raise _not_readable(conn_id, error) from error
        return found


def _read_on_server(conn_id: str) -> Any | None:
    """Read as the API server does; in a command the SDK, made for tasks, knows only the environment."""
    from airflow_assets.client.choose import may_use_database

    if not may_use_database():
        return None
    from airflow.models.connection import Connection as ServerConnection
    from airflow.sdk.exceptions import AirflowNotFoundException

    try:
        return ServerConnection.get_connection_from_secrets(conn_id)
    except AirflowNotFoundException:
        return None


async def _aread(conn_id: str) -> Any:
    from airflow.sdk import Connection as AirflowConnection

    try:
        return await AirflowConnection.async_get(conn_id)
    except Exception as error:
        found = await asyncio.to_thread(_read_on_server, conn_id)
        if found is None:
            raise _not_readable(conn_id, error) from error
        return found


def _not_readable(conn_id: str, error: Exception) -> CatalogUnavailable:
    if conn_id == CONN_ID:
        hint = "`airflow db migrate` and every start of the API server create it: run one of them."
    else:
        hint = "Create it (type Asset catalogue), or leave out conn_id to use the managed connection."
    return CatalogUnavailable(f"The Airflow connection {conn_id!r} cannot be read: {error}.", hint=hint)


def decode_extra(found: Any, conn_id: str) -> dict[str, Any]:
    """Return a connection's *extra* as a dict; Airflow masks its values in the logs from then on."""
    _check_extra(found, conn_id)
    return dict(found.extra_dejson or {})


async def _adecode_extra(found: Any, conn_id: str) -> dict[str, Any]:
    _check_extra(found, conn_id)
    decode = getattr(found, "aextra_dejson", None)
    return dict((await decode() if decode else found.extra_dejson) or {})


def _check_extra(found: Any, conn_id: str) -> None:
    try:
        extra = json.loads(found.extra or "{}")
    except ValueError:
        extra = None
    if not isinstance(extra, dict):
        raise InvalidRequest(
            f"The extra of the Airflow connection {conn_id!r} is not a JSON object.",
            hint="Correct it, or delete the connection: the managed one is created again within a minute.",
            field="extra",
        )


def _facts(conn_id: str, found: Any, extra_of: Any) -> Connection:
    extra = extra_of(found, conn_id)
    token, username, password = extra.get("token"), found.login, found.password
    check_login(token, username, password, f"the Airflow connection {conn_id!r}")
    return Connection(
        conn_id,
        _url(found),
        username or None,
        password or None,
        token,
        extra.get("tenant"),
        ManagedSecret.from_extra(extra),
    )


def _url(found: Any) -> str | None:
    """Read the address of a host field that is a host name or a whole URL; ``schema`` holds http or https."""
    host = (found.host or "").strip()
    if not host:
        return None
    if "://" not in host:
        host = f"{found.schema or ('https' if found.port == HTTPS_PORT else 'http')}://{host}"
    scheme, rest = host.split("://", 1)
    name, slash, path = rest.partition("/")
    if found.port and ":" not in name.rpartition("]")[2]:
        name = f"{name}:{found.port}"
    return f"{scheme}://{name}{slash}{path}".rstrip("/")

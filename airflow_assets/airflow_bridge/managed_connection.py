"""The Airflow connection that holds the secret with which tasks sign: made, made again, rotated, resolved.

The secret is found where Airflow finds connections: in the secrets backends and the environment first, then
in the database. What the first two supply is never written over.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from airflow_assets.airflow_bridge.context import get_service, orm
from airflow_assets.catalog.engine import db_now, read, retrying, write
from airflow_assets.exceptions import CatalogUnavailable, Conflict
from airflow_assets.schemas.credentials import CONN_ID, CONN_TYPE, ManagedSecret

if TYPE_CHECKING:
    from sqlalchemy import URL, Engine
    from sqlalchemy import Connection as DatabaseConnection

log = logging.getLogger(__name__)
_CACHE_SECONDS = 30.0


class _Cache:
    """The secret as it was read last, and of which database."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.clear()

    def clear(self) -> None:
        self.put(None, None)

    def put(self, url: URL | None, secret: ManagedSecret | None) -> None:
        self._known = (time.monotonic(), url, secret)  # one assignment: get() takes no lock

    def get(self, url: URL) -> ManagedSecret | None:
        read_at, known, secret = self._known
        return secret if known == url and time.monotonic() - read_at < _CACHE_SECONDS else None


_cache = _Cache()


def ensure_connection(engine: Engine) -> bool:
    """Make the connection if nothing supplies it; return whether this call made it. Safe to race."""
    if supplied_by() is not None:
        return False

    def make() -> bool:
        with write(engine) as conn:
            if _row(conn) is not None:
                return False
            _insert(conn, ManagedSecret.generate())
            return True

    made = retrying(make)
    if made:
        log.info("Made the Airflow connection %s, with which tasks reach the asset catalogue.", CONN_ID)
        forget_secret()
    return made


def rotate_secret(engine: Engine | None = None) -> ManagedSecret:
    """Replace the secret; the one before stays valid for ten minutes.

    Raises:
        Conflict: a secrets backend or the environment supplies the connection.
    """
    source = supplied_by()
    if source is not None:
        raise Conflict(
            f"The connection {CONN_ID} is supplied by {source}.",
            hint="Rotate the secret there.",
            source=source,
        )
    chosen = engine if engine is not None else get_service().engine

    def rotate() -> ManagedSecret:
        with write(chosen) as conn:
            with orm(conn) as session:
                row = session.scalar(_by_id().with_for_update())
                old = ManagedSecret.from_extra(_extra(row)) if row is not None else None
                new = old.rotated(db_now(conn)) if old else ManagedSecret.generate()
                if row is not None:
                    row.set_extra(json.dumps({**_extra(row), **json.loads(new.to_extra())}))
                    return new
            _insert(conn, new)
            return new

    secret = retrying(rotate)
    forget_secret()
    return secret


def resolve_secret(engine: Engine | None = None, *, fresh: bool = False) -> ManagedSecret | None:
    """Return the secret that tasks sign with, None when there is none; remembered for 30 s unless ``fresh``.

    Args:
        engine: of Airflow's database; default: this process's.
        fresh: do not use what was remembered.

    Raises:
        CatalogUnavailable: the stored secret cannot be decrypted.
    """
    chosen = engine if engine is not None else get_service().engine
    with _cache.lock:
        known = None if fresh else _cache.get(chosen.url)
        if known is None:
            known = _resolve(chosen)
            _cache.put(chosen.url, known)
        return known


def resolve_secrets(*, fresh: bool = False) -> list[bytes]:
    """Return the keys that verify a token now: the current one, and after a rotation the one before."""
    return _keys(resolve_secret(fresh=fresh))


def remembered_secrets() -> list[bytes]:
    """Return :func:`resolve_secrets` as far as it is remembered: asks nobody and waits for nobody."""
    return _keys(_cache.get(get_service().engine.url))


def forget_secret() -> None:
    """Have the next look-up read the secret again."""
    with _cache.lock:
        _cache.clear()


def supplied_by() -> str | None:
    """Return the secrets backend that supplies the connection ahead of Airflow's database, None for none."""
    for backend in _backends():
        if not _is_metastore(backend) and _ask(backend) is not None:
            return type(backend).__name__
    return None


def warn_without_fernet_key() -> None:
    """Log a warning if Airflow stores connections, and so the secret, in clear text."""
    from airflow.configuration import conf

    if not conf.get("core", "fernet_key", fallback=""):
        log.warning(
            "[core] fernet_key is empty: Airflow stores connections in clear text, also the secret of %s. "
            "Set a key and run 'airflow rotate-fernet-key'.",
            CONN_ID,
        )


def _resolve(engine: Engine) -> ManagedSecret | None:
    for backend in _backends():
        if _is_metastore(backend):
            with read(engine) as conn:
                found = _row(conn)
        else:
            found = _ask(backend)
        if found is not None:
            return ManagedSecret.from_extra(_extra(found))
    return None


def _backends() -> list[Any]:
    from airflow.configuration import ensure_secrets_loaded

    return list(ensure_secrets_loaded())


def _is_metastore(backend: Any) -> bool:
    from airflow.secrets.metastore import MetastoreBackend

    return isinstance(backend, MetastoreBackend)


def _ask(backend: Any) -> Any:
    """Ask as Airflow does: a backend that fails is passed over."""
    try:
        return backend.get_connection(conn_id=CONN_ID)
    except Exception:
        log.debug("The secrets backend %s failed for %s.", type(backend).__name__, CONN_ID, exc_info=True)
        return None


def _keys(secret: ManagedSecret | None) -> list[bytes]:
    return [key.encode() for key in secret.accepted()] if secret else []


def _row(conn: DatabaseConnection) -> Any:
    with orm(conn) as session:
        return session.scalar(_by_id())


def _by_id() -> Any:
    from airflow.models.connection import Connection

    return select(Connection).where(Connection.conn_id == CONN_ID)


def _insert(conn: DatabaseConnection, secret: ManagedSecret) -> None:
    from airflow.models.connection import Connection

    with orm(conn) as session:
        session.add(
            Connection(
                conn_id=CONN_ID,
                conn_type=CONN_TYPE,
                description="Made by airflow_assets: the secret with which tasks reach the asset catalogue.",
                extra=secret.to_extra(),
            )
        )


def _extra(connection: Any) -> dict[str, Any]:
    from cryptography.fernet import InvalidToken

    try:
        text = connection.extra
    except InvalidToken:
        raise CatalogUnavailable(
            f"The connection {CONN_ID} was encrypted with another Fernet key.",
            hint="Give this process the [core] fernet_key of the others, or delete the connection: it is "
            "made again within a minute.",
        ) from None
    try:
        decoded = json.loads(text or "{}")
    except ValueError:
        return {}
    return decoded if isinstance(decoded, dict) else {}


class ConnectionKeeper:
    """The job that makes the connection again after somebody deleted it."""

    name = "connection"
    interval = 30.0

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        warn_without_fernet_key()

    def step(self) -> bool:
        """Make the connection if it is not there."""
        ensure_connection(self._engine)
        return False

    def close(self) -> None:
        """Nothing to let go of."""

"""Statements that PostgreSQL plans once a connection, where planning costs as much as running them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast
from weakref import WeakSet

from sqlalchemy.exc import DBAPIError

from airflow_assets.catalog.engine import NOT_PREPARED, carries_commit, unless_lost

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

_pooled: WeakSet[Engine] = WeakSet()
"""Engines whose prepared statements do not stay, because a pooler changes the server's connection."""


def prepares(conn: Connection) -> bool:
    """Tell whether :class:`Prepared` works here: PostgreSQL, a driver we know, no pooler found so far."""
    dialect = conn.dialect
    known = dialect.name == "postgresql" and dialect.driver in {"psycopg", "psycopg2"}
    return known and conn.engine not in _pooled


class Prepared:
    """A statement with its parameters: ``text`` has each as ``{name}``, ``parameters`` its type by name.

    >>> Prepared("airflow_assets_next", "SELECT {n} + 1", {"n": "bigint"}).rows(conn, 1)
    [(2,)]
    """

    def __init__(self, name: str, text: str, parameters: dict[str, str]) -> None:
        self.name = name
        self._parameters = tuple(parameters)
        numbered = {parameter: f"${n}" for n, parameter in enumerate(parameters, 1)}
        self._prepare = f"PREPARE {name}({', '.join(parameters.values())}) AS {text.format(**numbered)}"
        self._execute = f"EXECUTE {name}({', '.join(['%s'] * len(parameters))})"
        self._inline = text.format(**{name: f"%({name})s::{kind}" for name, kind in parameters.items()})

    def rows(self, conn: Connection, *values: Any) -> list[tuple[Any, ...]]:
        """Run it with the values of all parameters and return its rows, as the driver gives them.

        It goes to the driver directly: SQLAlchemy's results cost more than these statements take.

        Raises:
            DBAPIError: also when a pooler took the statement away; then
                :func:`~airflow_assets.catalog.engine.retrying` runs the transaction again, and
                :func:`prepares` is false from then on.
        """
        try:
            return self._run(conn, values)
        except conn.dialect.loaded_dbapi.Error as error:
            raise self._wrapped(conn, error, values) from error

    def finish(self, conn: Connection, *values: Any) -> None:
        """Run it as the last statement of a transaction, and commit with it where that is possible.

        Raises:
            DBAPIError: as :meth:`rows`.
            CatalogUnavailable: the connection broke, so nobody knows whether the commit took place.
        """
        commits = carries_commit(conn)
        try:
            self._run(conn, values, "; COMMIT" if commits else "")
        except conn.dialect.loaded_dbapi.Error as error:
            wrapped = self._wrapped(conn, error, values)
            raise (unless_lost(wrapped) if commits else wrapped) from error

    def _run(self, conn: Connection, values: tuple[Any, ...], end: str = "") -> list[tuple[Any, ...]]:
        cursor = conn.connection.cursor()
        try:
            if conn.dialect.driver == "psycopg":  # prepares by itself what it has seen a few times
                cursor.execute(self._inline, dict(zip(self._parameters, values, strict=True)))
            else:
                if self.name not in conn.info:
                    cursor.execute(self._prepare)
                    conn.info[self.name] = True
                cursor.execute(self._execute + end, values)
            return [] if end else list(cursor.fetchall())
        finally:
            cursor.close()

    def _wrapped(self, conn: Connection, error: Any, values: tuple[Any, ...]) -> DBAPIError:
        """What SQLAlchemy would raise, after what it would do."""
        if getattr(error, "pgcode", None) in NOT_PREPARED:
            _pooled.add(conn.engine)
        lost = conn.dialect.is_disconnect(error, conn.connection.dbapi_connection, None)
        base = conn.dialect.loaded_dbapi.Error
        wrapped = DBAPIError.instance(self.name, values, error, base, connection_invalidated=lost)
        if lost:
            conn.invalidate(error)
        return cast("DBAPIError", wrapped)

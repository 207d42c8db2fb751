"""Connections and transactions: one way to read, one to write, one to try again.

A transaction that lost a race (dead lock, serialization error, locked database, a row that somebody else
inserted first) has done nothing; :func:`retrying` runs it again from its beginning. All times are the
database's clock, in UTC.
"""

from __future__ import annotations

import random
import sqlite3
import time
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import create_engine, event, make_url, select
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.pool import StaticPool
from sqlalchemy.sql.functions import FunctionElement

from airflow_assets.catalog.column_types import UtcDateTime
from airflow_assets.exceptions import CatalogUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy import URL, Connection, Engine

T = TypeVar("T")

NOT_PREPARED = frozenset({"26000", "42P05"})
"""PostgreSQL behind a pooler that gives each transaction another connection: nothing prepared stays."""
NO_SEQUENCE = "22012"
"""Division by zero: how :mod:`~airflow_assets.catalog.write_postgres` finds that there is no sequence row."""
_WRITES = "airflow_assets_writes"
_DRIVEN = "airflow_assets_driven"
_OPEN = frozenset({2, 3})
"""Psycopg's status of a good and of a failed transaction; 0 is none."""
# A database in memory is its connection: all threads share it, and have to take turns.
_ONE_CONNECTION = {"poolclass": StaticPool, "connect_args": {"check_same_thread": False}}
_BUSY_MS = 15_000
_ATTEMPTS = 12
_PATIENCE = 30.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.01, 0.5
_POSTGRES_RACES = frozenset({"40001", "40P01", "55P03", "23505", NO_SEQUENCE, *NOT_PREPARED})
_POSTGRES_NO_TABLE = "42P01"
_MYSQL_RACES = frozenset({1020, 1062, 1205, 1213})
_MYSQL_NO_TABLE = 1146
_SQLITE_OUTAGES = ("unable to open", "readonly", "disk", "full")


class utc_now(FunctionElement[datetime]):  # noqa: N801 - reads like the SQL function it is
    """The database's clock at this moment (not at the begin of the transaction), in UTC.

    Microseconds on PostgreSQL and MariaDB, milliseconds on SQLite, whatever the session's time zone.
    """

    type = UtcDateTime()
    inherit_cache = True


@compiles(utc_now)
def _now_elsewhere(*_: Any, **__: Any) -> str:
    return "clock_timestamp()"


@compiles(utc_now, "mysql")
@compiles(utc_now, "mariadb")
def _now_mysql(*_: Any, **__: Any) -> str:
    return "utc_timestamp(6)"


@compiles(utc_now, "sqlite")
def _now_sqlite(*_: Any, **__: Any) -> str:
    # In the form in which SQLAlchemy stores times, so that text order is time order.
    return "strftime('%Y-%m-%d %H:%M:%f000', 'now')"


def db_now(conn: Connection) -> datetime:
    """Return the database's clock as an aware UTC time."""
    return conn.execute(select(utc_now())).scalar_one()


def make_engine(url: str | URL, *, pool_size: int = 5) -> Engine:
    """Return an engine of our own for the catalogue at ``url``, with at most ``2 * pool_size`` connections.

    >>> engine = make_engine("postgresql+psycopg2://user@localhost/airflow")
    """
    target = make_url(url)
    backend = target.get_backend_name()
    options: dict[str, Any] = {"pool_size": pool_size, "max_overflow": pool_size, "pool_timeout": 10}
    if backend == "sqlite":
        engine = create_engine(target, **(dict(_ONE_CONNECTION) if is_in_memory(target) else options))
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    if backend in {"mysql", "mariadb"}:
        target = target.update_query_dict({"charset": "utf8mb4"})
        # A connection that idles longer than the server's wait_timeout would be cut.
        options["pool_recycle"] = 1_800
    if target.get_driver_name() == "psycopg2":
        # Its own executemany sends one row at a time.
        options["executemany_mode"] = "values_plus_batch"
    # Above READ COMMITTED two writers of one row would fail instead of waiting; MariaDB would lock gaps.
    if backend == "postgresql":
        engine = create_engine(target, **options)
        event.listen(engine, "connect", _prepare_postgres)
        return engine
    engine = create_engine(target, isolation_level="READ COMMITTED", **options)
    if backend in {"mysql", "mariadb"}:
        event.listen(engine, "connect", _prepare_mysql)
    return engine


@contextmanager
def read(engine: Engine) -> Iterator[Connection]:
    """Give a connection in a transaction that writes nothing."""
    with engine.connect() as conn, conn.begin():
        yield conn


@contextmanager
def write(engine: Engine) -> Iterator[Connection]:
    """Give a connection in a writing transaction: committed at the end, rolled back on an exception.

    Raises:
        CatalogUnavailable: the connection broke at the commit, so nobody knows whether it took place;
            :func:`retrying` does not repeat such a transaction, its caller decides.
    """
    with engine.connect() as conn:
        if conn.dialect.driver == "psycopg2":
            with _driven(conn):
                yield conn
            return
        if engine.dialect.name == "sqlite":
            conn.execution_options(**{_WRITES: True})
        with conn.begin() as transaction:
            yield conn
            with _ending():
                transaction.commit()


@contextmanager
def _driven(conn: Connection) -> Iterator[None]:
    """A transaction that we begin and end ourselves, so that its last statement may carry the COMMIT.

    The row of the sequence is locked from the last statement until the commit: one round trip less in
    between lets the next writer go on earlier.
    """
    with unmanaged(conn) as driver:
        conn.info[_DRIVEN] = True
        try:
            with conn.begin():  # SQLAlchemy only counts
                conn.exec_driver_sql("BEGIN")
                yield
                if driver.info.transaction_status:
                    with _ending():
                        conn.exec_driver_sql("COMMIT")
        finally:
            conn.info.pop(_DRIVEN, None)


@contextmanager
def unmanaged(conn: Connection) -> Iterator[Any]:
    """Give Psycopg's connection, on which nobody sends BEGIN, COMMIT or ROLLBACK but the caller.

    A statement alone is then a transaction. What is still open at the end is rolled back.
    """
    driver: Any = conn.connection.dbapi_connection
    driver.autocommit = True
    try:
        yield driver
    finally:
        _leave(conn, driver)


def carries_commit(conn: Connection) -> bool:
    """Tell whether the last statement of this transaction may end with ``; COMMIT``."""
    return _DRIVEN in conn.info


def _leave(conn: Connection, driver: Any) -> None:
    if conn.invalidated:
        return
    try:
        if driver.info.transaction_status in _OPEN:
            driver.cursor().execute("ROLLBACK")
        driver.autocommit = False
    except conn.dialect.loaded_dbapi.Error:
        conn.invalidate()  # the connection ends, and with it the transaction


@contextmanager
def _ending() -> Iterator[None]:
    try:
        yield
    except DBAPIError as error:
        raise unless_lost(error) from error


def unless_lost(error: DBAPIError) -> Exception:
    """Return the error of a commit, or what to say when it broke the connection."""
    if not error.connection_invalidated:
        return error
    return CatalogUnavailable(
        f"The connection to the catalogue's database broke at the commit ({_first_line(error)}).",
        hint="The write may or may not have been stored: look before you repeat it.",
    )


def retrying(work: Callable[[], T], *, attempts: int = _ATTEMPTS) -> T:
    """Return ``work()``, run again after a lost race or a lost connection, with growing jittered pauses.

    No attempt begins later than 30 s after the first.

    ``work`` is one whole transaction. Errors of ours pass through.

    Raises:
        CatalogUnavailable: when the races do not end, the database cannot be reached, or has no tables.
    """
    latest = time.monotonic() + _PATIENCE
    for attempt in range(1, attempts + 1):
        try:
            return work()
        except PoolTimeout as error:
            raise CatalogUnavailable(
                "All connections to the catalogue's database are in use.", hint="Try again in a moment."
            ) from error
        except DBAPIError as error:
            if not (_lost_race(error) or error.connection_invalidated):
                raise _translated(error) from error
            if attempt == attempts or time.monotonic() > latest:
                raise CatalogUnavailable(
                    f"The catalogue's database is busy: {attempt} attempts failed ({_first_line(error)}).",
                    hint="Try again in a moment.",
                ) from error
        time.sleep(_pause(attempt))
    raise AssertionError("unreachable")


def _pause(attempt: int) -> float:
    longest = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0 ** (attempt - 1))
    return random.uniform(0.2, 1.0) * longest  # noqa: S311 - not a secret


def _lost_race(error: DBAPIError) -> bool:
    cause: Any = error.orig
    if isinstance(cause, sqlite3.Error):
        text = str(cause)
        return "locked" in text or text.startswith("UNIQUE constraint failed")
    state = _sqlstate(cause)
    return state in _POSTGRES_RACES if state else _mysql_code(cause) in _MYSQL_RACES


def _translated(error: DBAPIError) -> Exception:
    cause: Any = error.orig
    state = _sqlstate(cause)
    no_table = "no such table" in str(cause) if isinstance(cause, sqlite3.Error) else False
    if no_table or state == _POSTGRES_NO_TABLE or _mysql_code(cause) == _MYSQL_NO_TABLE:
        return CatalogUnavailable(
            f"The catalogue's tables are missing ({_first_line(error)}).", hint="Run 'airflow db migrate'."
        )
    if not isinstance(error, OperationalError) or _is_sqlite_mistake(cause):
        return error
    return CatalogUnavailable(
        f"The catalogue's database cannot be used ({_first_line(error)}).",
        hint="Check that it runs and that [database] sql_alchemy_conn leads to it.",
    )


def _is_sqlite_mistake(cause: Any) -> bool:
    """SQLite calls a wrong statement an operational error too."""
    return isinstance(cause, sqlite3.Error) and not any(part in str(cause) for part in _SQLITE_OUTAGES)


def _sqlstate(cause: Any) -> str | None:
    """Psycopg 2 calls it ``pgcode``, psycopg 3 and asyncpg ``sqlstate``."""
    found: str | None = getattr(cause, "pgcode", None) or getattr(cause, "sqlstate", None)
    return found


def _mysql_code(cause: Any) -> int | None:
    code = cause.args[0] if getattr(cause, "args", ()) else None
    return code if isinstance(code, int) else None


def _first_line(error: DBAPIError) -> str:
    return str(error.orig).strip().partition("\n")[0]


def is_in_memory(url: URL) -> bool:
    """Tell whether a SQLite URL means a database in memory."""
    return url.database in {None, "", ":memory:"}


def _prepare_sqlite(connection: Any, *_: Any) -> None:
    # SQLAlchemy's begin event emits BEGIN; the driver must not begin by itself, and too late.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
    cursor.execute("PRAGMA foreign_keys = ON")
    # Answers with the mode it could get ("delete" on some network disks, "memory"): every mode is correct.
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.close()


def _begin_sqlite(conn: Connection) -> None:
    # A transaction that begins reading and then writes fails at once when somebody wrote in between.
    writes = conn.get_execution_options().get(_WRITES)
    conn.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _prepare_postgres(connection: Any, *_: Any) -> None:
    # Every look-up of ours has its index. With 4.0, the cost of a spinning disk, small tables would be read
    # whole again and again, and a prepared plan keeps doing so when they have grown. An array parameter looks
    # dearer to a generic plan, so the server would plan such a statement anew each time.
    cursor = connection.cursor()
    # As a setting of the session, so that the driver can switch its own BEGIN off and on without a word.
    cursor.execute("SET default_transaction_isolation = 'read committed'")
    cursor.execute("SET random_page_cost = 1.1")
    cursor.execute("SET plan_cache_mode = force_generic_plan")
    cursor.close()
    connection.commit()


def _prepare_mysql(connection: Any, *_: Any) -> None:
    # Without a strict mode the server cuts values that do not fit and only warns.
    cursor = connection.cursor()
    cursor.execute("SET SESSION sql_mode = CONCAT_WS(',', NULLIF(@@sql_mode, ''), 'STRICT_ALL_TABLES')")
    cursor.close()

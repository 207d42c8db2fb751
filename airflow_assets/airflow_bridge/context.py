"""Where this code runs: may it use Airflow's database, and the one service of a process that may."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sqlalchemy import event, make_url
from sqlalchemy.orm import Session

from airflow_assets.catalog.engine import make_engine
from airflow_assets.catalog.leases_owner import RUNS_ENDED

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from sqlalchemy import Connection, Engine

    from airflow_assets.airflow_bridge.service import AirflowService
    from airflow_assets.catalog.leases_owner import Run

REQUESTS = 10
"""Requests that the API server serves at once. The pool keeps a connection for each: a new one for a request
would cost more than the request, and what is planned once a connection would be planned again."""
_BLOCKED = "airflow-db-not-allowed"
_CONN_VARIABLES = ("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", "AIRFLOW__CORE__SQL_ALCHEMY_CONN")


def may_use_orm() -> bool:
    """Whether this process may use Airflow's database: API server, CLI on the server, ``dag.test()``, tests.

    False in tasks, triggers and the parsing of Dags, where Airflow blocks it. Safe to call anywhere; imports
    nothing that is not loaded.
    """
    if any(os.environ.get(name, "").startswith(_BLOCKED) for name in _CONN_VARIABLES):
        return False
    settings = sys.modules.get("airflow.settings")
    if settings is None:
        return False
    session = getattr(settings, "Session", None)
    if session is None or getattr(session, "__name__", "") == "BlockedDBSession":
        return False
    return not str(getattr(settings, "SQL_ALCHEMY_CONN", None) or _BLOCKED).startswith(_BLOCKED)


class _Process:
    """What this process has over Airflow's database; a fork gets its own."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.pid = 0
        self.url = ""
        self.service: AirflowService | None = None
        self.jobs_engine: Engine | None = None
        self.on_commit: list[Callable[[], None]] = []

    def renew(self, url: str) -> None:
        """Forget what belongs to the parent process or to another database."""
        if (self.pid, self.url) != (os.getpid(), url):
            self.pid, self.url = os.getpid(), url
            self.service = self.jobs_engine = None


_process = _Process()


def get_service() -> AirflowService:
    """Return this process's service over Airflow's database, made when first asked for.

    Raises:
        CatalogUnavailable: the database may not be used here.
    """
    url = _metadata_url()
    with _process.lock:
        _process.renew(url)
        if _process.service is None:
            from airflow_assets.airflow_bridge.service import AirflowService

            engine = make_airflow_engine(url, pool_size=REQUESTS)
            _process.service = AirflowService(engine, on_commit=announce_commit)
        return _process.service


def get_jobs_engine() -> Engine:
    """Return the engine of the background jobs: its own connections, so that requests never wait for them.

    Raises:
        CatalogUnavailable: the database may not be used here.
    """
    url = _metadata_url()
    with _process.lock:
        _process.renew(url)
        if _process.jobs_engine is None:
            _process.jobs_engine = make_airflow_engine(url, pool_size=3)
        return _process.jobs_engine


def call_on_commit(listener: Callable[[], None]) -> Callable[[], None]:
    """Have ``listener()`` called, in the writing thread, after each write here that made events.

    Returns:
        A function that ends this.
    """
    _process.on_commit.append(listener)
    return lambda: _process.on_commit.remove(listener)


def announce_commit() -> None:
    """Tell the listeners that a transaction with events has been committed."""
    for listener in list(_process.on_commit):
        listener()


def _metadata_url() -> str:
    if not may_use_orm():
        from airflow_assets.exceptions import CatalogUnavailable

        raise CatalogUnavailable(
            "Airflow's database may not be used in this process.",
            hint="Tasks, triggers and Dag files reach the catalogue over HTTP: use AssetCatalogHook.",
        )
    from airflow import settings

    return str(settings.SQL_ALCHEMY_CONN)


def make_airflow_engine(url: str, *, pool_size: int = 5) -> Engine:
    """Return an engine of our own for Airflow's database, with the connect arguments of Airflow's own."""
    from airflow.configuration import conf

    engine = make_engine(url, pool_size=pool_size)
    engine.update_execution_options(**{RUNS_ENDED: _ended_runs})
    if conf.has_option("database", "sql_alchemy_connect_args"):
        extra: dict[str, Any] = conf.getimport("database", "sql_alchemy_connect_args") or {}

        @event.listens_for(engine, "do_connect")
        def _add_arguments(_dialect: Any, _record: Any, _args: Any, parameters: dict[str, Any]) -> None:
            parameters.update(extra)

    if make_url(url).get_backend_name() in {"mysql", "mariadb"}:

        @event.listens_for(engine, "connect")
        def _utc(connection: Any, _record: Any) -> None:
            # Airflow's times are TIMESTAMPs, which the server reads in the zone of the connection.
            cursor = connection.cursor()
            cursor.execute("SET time_zone = '+00:00'")
            cursor.close()

    return engine


def _ended_runs(conn: Connection, runs: Collection[Run]) -> set[Run]:
    from airflow_assets.airflow_bridge.run_ends import ended_runs

    return ended_runs(conn, runs)


def give_way(engine: Engine, took: float) -> None:
    """Leave others a gap to begin in, after a transaction of ``took`` seconds that another will follow.

    SQLite has one writer and no queue: whoever waits looks again from time to time, for five seconds in
    Airflow's processes, and would never find a gap between transactions that follow each other at once.
    """
    if engine.dialect.name == "sqlite":
        time.sleep(min(0.2, max(0.005, took / 2)))


@contextmanager
def orm(conn: Connection) -> Iterator[Session]:
    """Give an ORM session inside the transaction of ``conn``, which alone commits or rolls back."""
    session = Session(bind=conn, autoflush=False, expire_on_commit=False)
    try:
        yield session
        session.flush()
    finally:
        session.close()

"""Transactions: what is repeated, what is not, and whose clock counts."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import Engine, event, func, insert, select, text
from sqlalchemy.exc import DBAPIError, IntegrityError

from airflow_assets.catalog import tables
from airflow_assets.catalog.engine import db_now, make_engine, read, retrying, write
from airflow_assets.catalog.service import CatalogService
from airflow_assets.exceptions import AssetNotFound, CatalogUnavailable
from airflow_assets.schemas.actors import Caller, Source, SourceKind
from airflow_assets.schemas.assets import AssetInput
from tests.support.ageless import ageless

if TYPE_CHECKING:
    from pathlib import Path

CALLER = Caller(source=Source(kind=SourceKind.CLI))


def numbers(engine: Engine) -> dict[str, int]:
    with read(engine) as conn:
        return {row.name: row.value for row in conn.execute(select(tables.sequence))}


def put(conn: Any, name: str, value: int = 0) -> None:
    conn.execute(insert(tables.sequence).values(name=name, value=value))


def test_a_failed_transaction_leaves_nothing(service: CatalogService) -> None:
    def work() -> None:
        with write(service.engine) as conn:
            put(conn, "a")
            raise LookupError("on purpose")

    with pytest.raises(LookupError):
        work()
    assert numbers(service.engine) == {}


def test_a_row_somebody_else_inserted_first_starts_the_transaction_again(service: CatalogService) -> None:
    if service.engine.dialect.name == "sqlite":
        pytest.skip("SQLite: one writer at a time, so nobody can be first in between")
    attempts: list[int] = []

    def work() -> None:
        with write(service.engine) as conn:
            attempts.append(len(attempts))
            if conn.execute(select(tables.sequence.c.value)).first() is None:
                with write(service.engine) as other:
                    put(other, "a", 1)
                put(conn, "a", 2)

    retrying(work)
    assert (attempts, numbers(service.engine)) == ([0, 1], {"a": 1})


def test_dead_locks_are_run_again(service: CatalogService) -> None:
    """Two transactions take two rows in opposite order, each after the other has its first."""
    if service.engine.dialect.name == "sqlite":
        pytest.skip("SQLite: one writer at a time, so there are no dead locks")
    with write(service.engine) as conn:
        put(conn, "a")
        put(conn, "b")
    both_have_one = threading.Barrier(2)
    attempts: list[str] = []

    def add(first: str, second: str) -> None:
        tries = 0

        def work() -> None:
            nonlocal tries
            tries += 1
            attempts.append(first)
            with write(service.engine) as conn:
                for name in (first, second):
                    row = tables.sequence.update().where(tables.sequence.c.name == name)
                    conn.execute(row.values(value=tables.sequence.c.value + 1))
                    if tries == 1 and name == first:
                        both_have_one.wait(30)

        retrying(work)

    threads = [threading.Thread(target=add, args=names) for names in (("a", "b"), ("b", "a"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(attempts) == 3
    assert numbers(service.engine) == {"a": 2, "b": 2}


def test_races_that_do_not_end_are_reported(service: CatalogService) -> None:
    attempts = []

    def work() -> None:
        attempts.append(1)
        with write(service.engine) as conn:
            put(conn, "a")
            put(conn, "a")

    with pytest.raises(CatalogUnavailable, match="3 attempts failed"):
        retrying(work, attempts=3)
    assert len(attempts) == 3


def test_other_errors_are_not_repeated(service: CatalogService) -> None:
    attempts = []

    def work(statement: str) -> None:
        attempts.append(1)
        with write(service.engine) as conn:
            conn.execute(text(statement))

    with pytest.raises(DBAPIError):
        retrying(lambda: work("selec 1"))
    with pytest.raises(IntegrityError):
        retrying(lambda: work("insert into airflow_assets_sequence (name) values ('a')"))
    with pytest.raises(AssetNotFound):
        CatalogService(service.engine).get_asset(CALLER, "nobody")
    assert len(attempts) == 2


def test_missing_tables_say_what_to_do(fresh_database_url: str) -> None:
    engine = make_engine(fresh_database_url)
    with pytest.raises(CatalogUnavailable, match="airflow db migrate"):
        CatalogService(engine).upsert_asset(CALLER, AssetInput(id="a", type="T"))
    engine.dispose()


def test_a_database_that_is_not_there(tmp_path: Path) -> None:
    for url in (
        f"postgresql+psycopg2://nobody@/x?host={tmp_path}",
        f"postgresql+psycopg://nobody@/x?host={tmp_path}",
        f"mysql+mysqldb://nobody@localhost/x?unix_socket={tmp_path}/s",
        f"sqlite:///{tmp_path}/no/such/folder/x.db",
    ):
        engine = make_engine(url)
        with pytest.raises(CatalogUnavailable, match="cannot be used"):
            CatalogService(engine).get_asset(CALLER, "a")


def test_a_connection_cut_in_between_is_replaced(service: CatalogService) -> None:
    dialect = service.engine.dialect.name
    if dialect == "sqlite":
        pytest.skip("SQLite: there is no connection to cut")
    engine, other = make_engine(service.engine.url, pool_size=1), make_engine(service.engine.url)
    with engine.connect() as conn:
        own = {"postgresql": "select pg_backend_pid()", "mysql": "select connection_id()"}[dialect]
        number = conn.execute(text(own)).scalar_one()
    with other.connect() as conn:
        cut = {"postgresql": f"select pg_terminate_backend({number})", "mysql": f"kill {number}"}[dialect]
        conn.execute(text(cut))
    assert CatalogService(engine).upsert_asset(CALLER, AssetInput(id="a", type="T")).created
    engine.dispose()
    other.dispose()


def test_a_commit_whose_answer_is_lost_is_not_repeated(service: CatalogService) -> None:
    """The connection is cut right before the commit reaches the server; the caller must learn that nobody knows."""
    dialect = service.engine.dialect.name
    if dialect == "sqlite":
        pytest.skip("SQLite: there is no connection to cut")
    engine, other = make_engine(service.engine.url), make_engine(service.engine.url)
    attempts = []

    def cut(conn: Any) -> None:
        attempts.append(1)
        with other.connect() as killer:
            if dialect == "postgresql":
                pid = conn.connection.driver_connection.info.backend_pid
                killer.execute(text(f"select pg_terminate_backend({pid})"))
            else:
                killer.execute(text(f"kill {conn.connection.driver_connection.thread_id()}"))

    if dialect == "postgresql":  # there the COMMIT is a statement of ours

        @event.listens_for(engine, "before_cursor_execute")
        def _before(conn: Any, cursor: Any, statement: str, *_: Any) -> None:
            if statement == "COMMIT":
                cut(conn)
    else:
        event.listen(engine, "commit", cut)
    with pytest.raises(CatalogUnavailable, match="may or may not"):
        CatalogService(engine).create_asset(CALLER, AssetInput(id="a", type="T"))
    assert attempts == [1]
    engine.dispose()
    other.dispose()


def test_clock_is_utc_whatever_the_time_zones(
    service: CatalogService, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = datetime.now(timezone.utc) - timedelta(seconds=5)
    for zone in ("Asia/Kathmandu", "-08:00"):
        engine = make_engine(service.engine.url)
        if engine.dialect.name != "sqlite":
            form = "set time zone '{}'" if engine.dialect.name == "postgresql" else "set time_zone = '{}'"
            named = zone if engine.dialect.name == "postgresql" else "-08:00"

            @event.listens_for(engine, "connect")
            def _zone(connection: Any, record: Any, statement: str = form.format(named)) -> None:
                with connection.cursor() as cursor:
                    cursor.execute(statement)
                connection.commit()

        with engine.connect() as conn:
            now = db_now(conn)
        assert now.utcoffset() == timedelta(0)
        assert before < now < datetime.now(timezone.utc) + timedelta(seconds=5)
        made = CatalogService(engine).upsert_asset(CALLER, AssetInput(id="a", type="T")).asset
        assert abs(made.updated - now) < timedelta(seconds=30)
        assert ageless(service.get_asset(CALLER, "a")) == made
        engine.dispose()


def test_sqlite_lets_readers_read_while_somebody_writes(tmp_path: Path) -> None:
    engine = make_engine(f"sqlite:///{tmp_path}/c.db")
    tables.metadata.create_all(engine)
    with write(engine) as conn:
        put(conn, "a")
        assert numbers(engine) == {}
        assert conn.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
    assert numbers(engine) == {"a": 0}
    engine.dispose()


def test_mariadb_refuses_what_does_not_fit(service: CatalogService) -> None:
    """No database may cut a value silently; SQLite knows no lengths."""
    if service.engine.dialect.name == "sqlite":
        pytest.skip("SQLite: columns have no length")
    with pytest.raises(DBAPIError), write(service.engine) as conn:
        put(conn, "x" * 31)
    with read(service.engine) as conn:
        assert conn.execute(select(func.count()).select_from(tables.sequence)).scalar_one() == 0

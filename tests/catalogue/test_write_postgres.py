"""The one-statement way of writing on PostgreSQL: the same rows as the general way, and a way out behind poolers."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import delete, func, select, text, update
from sqlalchemy.exc import DBAPIError

from airflow_assets.catalog import tables, write_postgres
from airflow_assets.catalog.engine import make_engine, read, write
from airflow_assets.catalog.prepared import Prepared
from airflow_assets.catalog.service import CatalogService
from airflow_assets.exceptions import CatalogUnavailable
from airflow_assets.schemas.actors import Caller, Source, SourceKind
from airflow_assets.schemas.assets import AssetInput, AssetRef, AssetUpdate, Rename
from airflow_assets.schemas.lineage import Bundle, TaskRun, TaskRunRecord, TaskState
from airflow_assets.schemas.queries import Batch, BatchAction, BatchItem
from tests.conftest import make_database
from tests.support.catalog_rows import counted_statements

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy import Engine, Table

    from tests.support.databases import Databases

TABLE = "airflow_assets.types.Table"
CALLER = Caller(source=Source(kind=SourceKind.TASK, dag_id="d", run_id="r", task_id="t", try_number=1))
LINES = "two\nlines"
HARD = "quote ' double \" back \\ slash, \u00fc \U0001f600 %s %(x)s {0} $1"
# Differs from one run to the next, or is the clock's.
VOLATILE = {"event_id", "created", "updated", "first_seen", "last_seen", "payload"}


@pytest.fixture(scope="module")
def urls(databases: Databases) -> Iterator[Callable[[], str]]:
    made: list[str] = []

    def new() -> str:
        made.append(make_database(databases, "postgres"))
        return made[-1]

    yield new
    for url in made:
        databases.server("postgres").drop_database(url)


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the prepared statements that ran: they go past SQLAlchemy, and so past its events."""
    names: list[str] = []
    run = Prepared._run

    def noted(self: Prepared, *arguments: Any) -> Any:
        names.append(self.name)
        return run(self, *arguments)

    monkeypatch.setattr(Prepared, "_run", noted)
    return names


@contextmanager
def catalogue(url: str) -> Iterator[CatalogService]:
    engine = make_engine(url)
    tables.metadata.create_all(engine)
    try:
        yield CatalogService(engine)
    finally:
        engine.dispose()


def record(service: CatalogService, number: int, *bundles: Bundle, **members: Any) -> None:
    task = TaskRun(dag_id="d", run_id="r", task_id="t", map_index=number, try_number=1)
    sent = TaskRunRecord(
        task=task, bundles=list(bundles), **{"state": TaskState.SUCCESS, "warnings": [HARD], **members}
    )
    assert not service.record_task_run(CALLER, sent).duplicate


def asset(name: str, **members: Any) -> AssetInput:
    return AssetInput(id=name, type=TABLE, **members)


def do_everything(service: CatalogService) -> None:
    """Writes of every kind, most of them twice: the first makes, the second finds."""
    long_text = "x" * 3000
    values: list[dict[str, Any]] = [
        {"owner": "a", "tier": 1, "tags": ["x"], "deep": {"k": [1, None]}, "big": 2**70, "rest": long_text},
        {"owner": "b", "tier": 1.5, "tags": ["y"], "deep": {"k": {"m": True}}, "flag": False, "rest": None},
        {"owner": HARD, "tier": -3, "rest": long_text + "!", HARD: LINES},
    ]
    for number, metadata in enumerate(values):
        outputs = [asset("out", metadata=metadata, description=HARD), asset("other", metadata={"n": number})]
        record(
            service, number, Bundle(inputs=[AssetRef(id="in")], outputs=outputs), Bundle(outputs=outputs[1:])
        )
    record(service, 10, Bundle(inputs=[AssetRef(id="in")], outputs=[asset("out")]), state=TaskState.FAILED)
    for owner in ("c", "c", None):
        service.upsert_asset(CALLER, asset("up", metadata={"owner": owner, "same": 1}, uri="s3://b/k"))
    service.update_asset(CALLER, "up", AssetUpdate(namespace="sales", display_name=HARD))
    service.update_asset(CALLER, "up", AssetUpdate(namespace=None))
    service.rename_asset(CALLER, Rename(old_id="up", new_id="up2"))
    service.upsert_asset(CALLER, asset("up", metadata={"through": "alias"}))
    service.delete_asset(CALLER, "up2")
    service.upsert_asset(CALLER, asset("up2", metadata={"second": "life"}))
    for action in (BatchAction.UPSERT, BatchAction.UPSERT):
        items = [BatchItem(action=action, asset=asset(f"b{n}", metadata={"n": n})) for n in range(30)]
        service.batch(CALLER, Batch(items=items))


def content(engine: Engine) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of all tables without what differs from run to run."""
    found = {}
    with engine.begin() as conn:
        for table in tables.metadata.sorted_tables:
            columns = [column for column in table.c if column.name not in VOLATILE]
            rows = [tuple(map(_comparable, row)) for row in conn.execute(select(*columns))]
            found[table.name] = sorted(rows, key=repr)
    return found


def _comparable(value: Any) -> Any:
    return bytes(value) if isinstance(value, memoryview) else value


def size(service: CatalogService, table: Table) -> int:
    with service.engine.begin() as conn:
        return conn.execute(select(func.count()).select_from(table)).scalar_one()


@pytest.mark.postgres
@pytest.mark.parametrize("driver", ["psycopg2", "psycopg"])
def test_it_writes_what_the_general_way_writes(
    urls: Callable[[], str], driver: str, prepared: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with catalogue(urls().replace("psycopg2", driver)) as quick, catalogue(urls()) as general:
        do_everything(quick)
        assert prepared.count("airflow_assets_write") >= 10
        monkeypatch.setattr(write_postgres, "fits", lambda *_: False)
        do_everything(general)
        ours, theirs = content(quick.engine), content(general.engine)
    for table, rows in theirs.items():
        assert ours[table] == rows, table
    assert len(ours["airflow_assets_event"]) > 60


@pytest.mark.postgres
def test_a_record_of_known_assets_takes_two_statements(urls: Callable[[], str], prepared: list[str]) -> None:
    with catalogue(urls()) as service:
        for number in range(2):
            record(service, number, Bundle(outputs=[asset("out", metadata={"rows": number})]))
        prepared.clear()
        with counted_statements(service.engine) as others:
            record(service, 3, Bundle(outputs=[asset("out", metadata={"rows": 3})]))
        assert prepared == ["airflow_assets_lock", "airflow_assets_write"]
        assert others == []


@pytest.mark.postgres
def test_an_edge_is_seen_again_only_after_an_hour(urls: Callable[[], str]) -> None:
    with catalogue(urls()) as service:
        edge = tables.edge.c

        def last_seen() -> Any:
            with service.engine.begin() as conn:
                return conn.execute(select(edge.last_seen)).scalar_one()

        for number in range(2):
            record(service, number, Bundle(outputs=[asset("out")]))
        first = last_seen()
        record(service, 2, Bundle(outputs=[asset("out")]))
        assert last_seen() == first
        with service.engine.begin() as conn:
            conn.execute(update(tables.edge).values(last_seen=first - write_postgres.EDGE_REST))
        record(service, 3, Bundle(outputs=[asset("out")]))
        assert last_seen() > first


@pytest.mark.postgres
def test_without_a_sequence_row_it_goes_on_behind_the_last_number(urls: Callable[[], str]) -> None:
    with catalogue(urls()) as service:
        service.upsert_asset(CALLER, asset("a", metadata={"n": 1}))
        with service.engine.begin() as conn:
            conn.execute(delete(tables.sequence))
        service.upsert_asset(CALLER, asset("a", metadata={"n": 2}))
        with service.engine.begin() as conn:
            assert conn.execute(select(tables.event.c.seq).order_by(tables.event.c.seq)).scalars().all() == [
                1,
                2,
            ]


@pytest.mark.postgres
def test_behind_a_transaction_pooler_the_general_way_writes(
    urls: Callable[[], str], prepared: list[str]
) -> None:
    """A pooler's next connection does not have the statement: here the server forgets it between transactions."""
    with catalogue(urls()) as service:
        for number in range(2):
            service.upsert_asset(CALLER, asset("a", metadata={"n": number}))
        with service.engine.begin() as conn:
            conn.exec_driver_sql("DEALLOCATE ALL")
        service.upsert_asset(CALLER, asset("a", metadata={"n": 5}))
        prepared.clear()
        service.upsert_asset(CALLER, asset("a", metadata={"n": 6}))
        assert prepared == []
        assert size(service, tables.event) == 4


@pytest.mark.postgres
@pytest.mark.parametrize("driver", ["psycopg2", "psycopg"])
def test_a_connection_that_the_server_cut_is_replaced(urls: Callable[[], str], driver: str) -> None:
    url = urls()
    with catalogue(url.replace("psycopg2", driver)) as service, catalogue(url) as other:
        for number in range(2):
            service.upsert_asset(CALLER, asset("a", metadata={"n": number}))
        with other.engine.begin() as conn:
            cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = "
            conn.exec_driver_sql(cut + "current_database()")
        service.upsert_asset(CALLER, asset("a", metadata={"n": 5}))
        assert size(service, tables.event) == 3


@pytest.mark.postgres
def test_a_statement_left_by_another_client_of_a_pooler_is_no_obstacle(urls: Callable[[], str]) -> None:
    with catalogue(urls()) as service:
        service.upsert_asset(CALLER, asset("a", metadata={"n": 1}))
        with service.engine.begin() as conn:
            conn.exec_driver_sql("PREPARE airflow_assets_write AS SELECT 1")
        service.upsert_asset(CALLER, asset("a", metadata={"n": 2}))
        assert size(service, tables.event) == 2


def test_a_connection_lost_with_the_commit_says_so_and_is_not_written_twice(
    urls: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with catalogue(urls()) as service:
        service.upsert_asset(CALLER, asset("a"))
        run = Prepared._run

        def cut_after(self: Prepared, conn: Any, values: Any, end: str = "") -> Any:
            """The statement arrives, with its COMMIT; its answer does not."""
            rows = run(self, conn, values, end)
            if end:
                driver = conn.connection.dbapi_connection
                with service.engine.connect() as killer:
                    killer.execute(select(func.pg_terminate_backend(driver.info.backend_pid)))
                driver.cursor().execute("SELECT 1")
            return rows

        monkeypatch.setattr(Prepared, "_run", cut_after)
        with pytest.raises(CatalogUnavailable, match="may or may not have been stored"):
            service.upsert_asset(CALLER, asset("a", metadata={"n": 1}))
        monkeypatch.setattr(Prepared, "_run", run)
        assert service.get_asset(CALLER, "a").metadata == {"n": 1}
        assert service.upsert_asset(CALLER, asset("a", metadata={"n": 2})).asset.metadata == {"n": 2}
        with service.engine.connect() as conn:
            assert conn.execute(select(func.count()).select_from(tables.event)).scalar_one() == 3


def test_an_exception_in_between_leaves_nothing_open(urls: Callable[[], str]) -> None:
    with catalogue(urls()) as service:
        with pytest.raises(DBAPIError), write(service.engine) as conn:
            conn.execute(text("INSERT INTO airflow_assets_sequence VALUES ('x', 1); SELECT 1 / 0"))
        for _ in range(20):  # every connection of the pool
            with write(service.engine) as conn:
                assert conn.execute(select(func.count()).select_from(tables.sequence)).scalar_one() == 0
        with read(service.engine) as conn:
            isolation = conn.execute(text("SHOW transaction_isolation")).scalar_one()
            assert isolation == "read committed"
            assert not conn.connection.dbapi_connection.autocommit

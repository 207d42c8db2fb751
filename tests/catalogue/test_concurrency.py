"""Several processes write the same assets: nothing is lost, nothing is doubled, nobody waits for ever."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import func, select, text

from airflow_assets.catalog import tables
from airflow_assets.catalog.log import read_after
from airflow_assets.catalog.record import record_key
from airflow_assets.schemas.events import EventKind
from tests.support.catalog_invariants import check_tables
from tests.support.catalog_writers import (
    CALLER,
    count_up,
    create_same,
    kill_in_between,
    numbered_records,
    record_overlapping,
    record_same,
    together,
    upsert_same,
)
from tests.support.processes import wait_until

if TYPE_CHECKING:
    from airflow_assets.catalog.service import CatalogService

WRITERS = 4


def count(service: CatalogService, table: str) -> int:
    with service.engine.connect() as conn:
        rows = select(func.count()).select_from(tables.metadata.tables[tables.PREFIX + table])
        return conn.execute(rows).scalar_one()


def deadlocks(service: CatalogService) -> int:
    """What PostgreSQL counted in this database; other databases do not tell, retries are bounded there."""
    if service.engine.dialect.name != "postgresql":
        return 0
    with service.engine.connect() as conn:
        conn.execute(text("select pg_stat_force_next_flush()")) if _flushes(service) else None
        found = conn.execute(
            text("select deadlocks from pg_stat_database where datname = current_database()")
        ).scalar_one()
        return int(found)


def _flushes(service: CatalogService) -> bool:
    with service.engine.connect() as conn:
        return bool(
            conn.execute(text("select 1 from pg_proc where proname = 'pg_stat_force_next_flush'")).first()
        )


def busy_sessions(service: CatalogService) -> int:
    """Sessions of killed clients in which the server still works."""
    others = {
        "postgresql": "select count(*) from pg_stat_activity where datname = current_database()"
        " and pid <> pg_backend_pid() and state <> 'idle'",
        "mysql": "select count(*) from information_schema.processlist where db = database()"
        " and id <> connection_id() and command <> 'Sleep'",
    }.get(service.engine.dialect.name, "select 0")
    with service.engine.connect() as conn:
        return int(conn.execute(text(others)).scalar_one())


def test_overlapping_assets_in_random_order(service: CatalogService, database_url: str) -> None:
    """4 writers, 50 shared assets that do not exist yet, each record locks 25 of them in another order."""
    before = deadlocks(service)
    jobs = [(record_overlapping, (seed, 10, 50, 25)) for seed in range(WRITERS)]
    assert together(database_url, jobs) == [10] * WRITERS
    assert deadlocks(service) == before
    with service.engine.connect() as conn:
        log = read_after(conn, "main", 0, 100_000)
    written = [event for event in log if event.event in {EventKind.CREATED, EventKind.UPDATED}]
    named = [event for event in written if event.asset.type == "T"]
    assert len(named) == WRITERS * 10 * 25
    assert len([event for event in log if event.event is EventKind.CREATED]) == 50 == count(service, "asset")
    assert len([event for event in log if event.event is EventKind.USED]) == WRITERS * 10 * 2
    assert count(service, "lineage") == WRITERS * 10
    by_asset: dict[str, list[object]] = {}
    for event in log:
        if event.event is not EventKind.USED:
            by_asset.setdefault(event.asset.id, []).append(event.asset.updated)
    assert all(times == sorted(set(times)) for times in by_asset.values())


def test_one_record_sent_by_all_is_recorded_once(service: CatalogService, database_url: str) -> None:
    answers = together(database_url, [(record_same, (20,))] * WRITERS)
    assert [sum(not duplicate for duplicate in column) for column in zip(*answers, strict=True)] == [1] * 20
    assert (count(service, "lineage"), count(service, "asset"), count(service, "event")) == (20, 40, 60)


def test_one_id_created_by_all_is_created_once(service: CatalogService, database_url: str) -> None:
    answers = together(database_url, [(create_same, (20,))] * WRITERS)
    assert [sum(column) for column in zip(*answers, strict=True)] == [1] * 20
    assert (count(service, "asset"), count(service, "event")) == (20, 20)


def test_one_id_upserted_by_all_has_what_each_wrote(service: CatalogService, database_url: str) -> None:
    answers = together(database_url, [(upsert_same, (20, f"m{n}")) for n in range(WRITERS)])
    assert [sum(column) for column in zip(*answers, strict=True)] == [1] * 20
    for n in range(20):
        assert service.get_asset(CALLER, f"up.{n}").metadata == {f"m{w}": n for w in range(WRITERS)}
    assert count(service, "event") == 20 * WRITERS


def test_no_update_is_lost(service: CatalogService, database_url: str) -> None:
    together(database_url, [(count_up, (25, f"w{n}.")) for n in range(WRITERS)])
    wanted = {f"w{w}.{n}" for w in range(WRITERS) for n in range(25)}
    assert set(service.get_asset(CALLER, "counter").metadata["items"]) == wanted
    assert count(service, "event") == 25 * WRITERS


def test_killed_writers_leave_whole_records_or_none(service: CatalogService, database_url: str) -> None:
    """Four writers are killed (-9) while they record; what they sent is then sent again, as a client would."""
    records = 5_000  # more than a writer gets done while those before it are killed
    assert kill_in_between(database_url, WRITERS, records, kills=8) == [-9] * WRITERS
    wait_until(lambda: not busy_sessions(service), 60, "the killed writers' sessions end")
    with service.engine.connect() as conn:
        check_tables(conn)
    left = count(service, "lineage")
    assert left % 2 == 0
    assert WRITERS * 8 * 2 <= left < WRITERS * records * 2
    again = [
        service.record_task_run(CALLER, sent) for n in range(WRITERS) for sent in numbered_records(n, 20)
    ]
    assert sum(result.duplicate for result in again) >= WRITERS * 8
    with service.engine.connect() as conn:
        check_tables(conn)
        keys = [bytes(key) for key in conn.execute(select(tables.lineage.c.record_key)).scalars()]
        wanted = [record_key("main", sent.task) for n in range(WRITERS) for sent in numbered_records(n, 20)]
    assert all(keys.count(key) == 2 for key in wanted)

"""Every way to write an asset asks its lock: refused for others, open and extending for the holder."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import event

from airflow_assets.catalog import tables
from airflow_assets.catalog.leases_owner import RUNS_ENDED
from airflow_assets.exceptions import AssetLocked, AssetNotFound
from airflow_assets.schemas.assets import AssetInput, AssetRef, AssetUpdate, Rename
from airflow_assets.schemas.events import EventKind
from airflow_assets.schemas.leases import LeaseQuery, LeaseScope
from airflow_assets.schemas.lineage import Bundle, RecordResult, TaskRun, TaskRunRecord, TaskState
from airflow_assets.schemas.operations import GetOptions
from airflow_assets.schemas.queries import (
    AssetQuery,
    Batch,
    BatchAction,
    BatchItem,
    EventQuery,
    HistoryQuery,
    LineageQuery,
)
from airflow_assets.schemas.transfer import ExportQuery, ExportRow, ImportRequest, RowKind
from tests.support.lock_callers import Locks, task, user, with_tokens

if TYPE_CHECKING:
    from collections.abc import Callable

    from airflow_assets.catalog.service import CatalogService
    from airflow_assets.schemas.actors import Caller

HOLDER, OTHER = task("r1"), task("r2")


@pytest.fixture
def locks(service: CatalogService) -> Locks:
    for name in ("a", "b"):
        service.create_asset(HOLDER, AssetInput(id=name, type="T"))
    return Locks(service)


def record(service: CatalogService, caller: Caller, *outputs: str, **more: Any) -> RecordResult:
    source = caller.source
    assert source.run_id
    assert source.task_id
    attempt = TaskRun(
        dag_id="dag",
        run_id=source.run_id,
        task_id=source.task_id,
        map_index=-1,
        try_number=source.try_number or 1,
    )
    bundle = Bundle(
        outputs=[AssetInput(id=name, type="T", description="recorded") for name in outputs], **more
    )
    sent = TaskRunRecord(task=attempt, state=TaskState.SUCCESS, bundles=[bundle])
    return service.record_task_run(caller, sent)


def batch(service: CatalogService, caller: Caller, *items: BatchItem) -> list[int]:
    return [one.status for one in service.batch(caller, Batch(items=list(items))).items]


WRITES: dict[str, Callable[[CatalogService, Caller], object]] = {
    "update": lambda service, who: service.update_asset(who, "a", AssetUpdate(description="x")),
    "upsert": lambda service, who: service.upsert_asset(who, AssetInput(id="a", description="x")),
    "delete": lambda service, who: service.delete_asset(who, "a"),
    "rename": lambda service, who: service.rename_asset(who, Rename(old_id="a", new_id="z")),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_write_of_a_locked_asset(locks: Locks, name: str) -> None:
    service, write = locks.service, WRITES[name]
    before = locks.acquire(HOLDER, "a", ttl=60)
    stored = locks.stored("a")
    for foreign in (OTHER, user(), user("dag / r1"), task("r1", dag="another")):
        with pytest.raises(AssetLocked, match="dag / r1"):
            write(service, foreign)
    assert locks.stored("a") == stored
    with pytest.raises(AssetLocked, match="number 0; by now the asset's is 1"):
        write(service, with_tokens(HOLDER, a=0))
    write(service, with_tokens(task("r1", "another task"), a=1))
    [lease] = service.list_leases(HOLDER, _ALL).items
    assert lease.locked_until > before.locked_until
    assert lease.fencing_token == 1
    assert lease.locked_until - before.locked_until < timedelta(seconds=30)


def test_a_write_never_shortens(locks: Locks) -> None:
    locks.acquire(HOLDER, "a", ttl=3_600)
    before = locks.acquire(HOLDER, "a", ttl=2)
    locks.service.update_asset(HOLDER, "a", AssetUpdate(description="x"))
    assert locks.of("a") == before


def test_a_task_lock_keeps_its_own_run_out(locks: Locks) -> None:
    service = locks.service
    locks.acquire(task("r1", index=0), "a", scope=LeaseScope.TASK)
    service.update_asset(task("r1", index=0), "a", AssetUpdate(description="mine"))
    for foreign in (task("r1", index=1), task("r1", "other")):
        with pytest.raises(AssetLocked):
            service.update_asset(foreign, "a", AssetUpdate(description="x"))


def test_creating_what_is_deleted_and_locked(locks: Locks) -> None:
    service = locks.service
    locks.acquire(HOLDER, "a")
    service.delete_asset(HOLDER, "a")
    for write in (service.create_asset, service.upsert_asset):
        with pytest.raises(AssetLocked):
            write(OTHER, AssetInput(id="a", type="T"))
    assert record(service, OTHER, "a").stored == []
    with pytest.raises(AssetNotFound):
        service.update_asset(OTHER, "a", AssetUpdate(description="x"))
    service.create_asset(HOLDER, AssetInput(id="a", type="T"))
    held = locks.of("a")
    assert held is not None
    assert held.fencing_token == 1


def test_a_batch_keeps_what_is_not_locked(locks: Locks) -> None:
    service = locks.service
    locks.acquire(HOLDER, "a")
    items = [
        BatchItem(action=BatchAction.UPSERT, asset=AssetInput(id="a", description="x")),
        BatchItem(action=BatchAction.UPDATE, id="b", changes=AssetUpdate(description="x")),
        BatchItem(action=BatchAction.DELETE, id="a"),
        BatchItem(action=BatchAction.CREATE, asset=AssetInput(id="new", type="T")),
    ]
    assert batch(service, OTHER, *items) == [423, 200, 423, 201]
    assert service.get_asset(OTHER, "b").description == "x"
    assert service.get_asset(OTHER, "a").description is None
    assert batch(service, HOLDER, *items[:1]) == [200]
    assert batch(service, with_tokens(HOLDER, a=0), *items[:2]) == [423, 200]


def test_a_record_stores_the_outputs_that_are_not_locked(locks: Locks) -> None:
    service = locks.service
    before = locks.acquire(HOLDER, "a")
    locks.acquire(HOLDER, "b")
    result = record(service, OTHER, "a", "new", inputs=[AssetRef(id="b")])
    assert result.stored == ["new"]
    [problem] = result.problems
    assert problem.asset_id == "a"
    assert problem.problem["type"] == "urn:airflow-assets:problem:asset-locked"
    assert service.get_asset(OTHER, "a").description is None
    assert service.get_asset(OTHER, "new").description == "recorded"
    again = record(service, OTHER, "a", "new", inputs=[AssetRef(id="b")])
    assert again.duplicate
    assert [one.problem["type"] for one in again.problems] == ["urn:airflow-assets:problem:asset-locked"]
    [line] = service.list_lineage(OTHER, LineageQuery(run_id="r2", dag_id="dag")).items
    assert {one.id for one in line.outputs} == {"a", "new"}
    assert "a [asset-locked] The asset 'a' is locked by dag / r1" in line.warnings[0]
    used = service.list_events(OTHER, EventQuery(events=[EventKind.USED])).items
    assert [one.asset.id for one in used] == ["b"]  # reading is not blocked

    mine = record(service, task("r1", "second"), "a")
    assert (mine.stored, mine.problems) == (["a"], [])
    extended = locks.of("a")
    assert extended is not None
    assert extended.locked_until > before.locked_until
    late = record(service, with_tokens(task("r1", "third"), a=0), "a")
    assert (late.stored, len(late.problems)) == ([], 1)


def test_an_import_changes_no_locked_asset(locks: Locks) -> None:
    service = locks.service
    locks.acquire(HOLDER, "a")
    rows = service.export_rows(OTHER, ExportQuery(log=False)).items
    alias = ExportRow(kind=RowKind.ALIAS, data={"id": "old", "asset": "a", "created": "2026-01-01T00:00:00Z"})
    assert service.import_rows(OTHER, ImportRequest(rows=rows)).imported == 0
    with pytest.raises(AssetLocked, match="'a' is locked by dag / r1"):
        service.import_rows(OTHER, ImportRequest(rows=[alias]))
    assert service.import_rows(HOLDER, ImportRequest(rows=[alias])).imported == 1
    assert service.get_asset(OTHER, "old").id == "a"


def test_a_number_counts_when_the_lock_is_free_too(locks: Locks) -> None:
    service = locks.service
    locks.acquire(HOLDER, "a")
    locks.release(HOLDER, "a")
    service.update_asset(with_tokens(HOLDER, a=1), "a", AssetUpdate(description="nobody came after"))
    locks.acquire(OTHER, "a")
    locks.release(OTHER, "a")
    for write in WRITES.values():
        with pytest.raises(AssetLocked, match="number 1; by now the asset's is 2"):
            write(service, with_tokens(HOLDER, a=1))
    service.update_asset(with_tokens(HOLDER, a=1), "b", AssetUpdate(description="another asset"))
    service.update_asset(HOLDER, "a", AssetUpdate(description="without a number"))


def test_an_expired_lock_stops_nobody_and_no_write_revives_it(locks: Locks) -> None:
    service = locks.service
    locks.acquire(HOLDER, "a")
    locks.expire("a")
    service.update_asset(HOLDER, "a", AssetUpdate(description="late"))
    assert locks.of("a") is None
    service.update_asset(OTHER, "a", AssetUpdate(description="x"))


def test_a_write_frees_what_an_ended_run_held(locks: Locks) -> None:
    service = locks.service
    locks.acquire(HOLDER, "a")
    engine = service.engine
    engine.update_execution_options(**{RUNS_ENDED: lambda _conn, runs: set(runs)})
    try:
        assert record(service, OTHER, "a").stored == ["a"]
    finally:
        engine.update_execution_options(**{RUNS_ENDED: None})
    with engine.connect() as conn:
        assert conn.execute(tables.asset.select().where(tables.asset.c.id == "a")).one().lock_until is None
        assert conn.execute(tables.lease.select()).one().owner_key is None


def test_reads_are_never_blocked(locks: Locks) -> None:
    service = locks.service
    locks.acquire(HOLDER, "a")
    assert service.get_asset(OTHER, "a", GetOptions()).id == "a"
    assert len(service.search_assets(OTHER, AssetQuery()).items) == 2
    assert service.list_history(OTHER, HistoryQuery(asset_id="a")).items


def test_an_unlocked_asset_costs_no_further_statement(locks: Locks) -> None:
    service = locks.service
    locks.acquire(HOLDER, "b")
    locks.acquire(HOLDER, "a")
    locks.release(HOLDER, "a")
    seen: list[str] = []

    def note(_conn: object, _cursor: object, statement: str, *_: object) -> None:
        seen.append(statement)

    event.listen(service.engine, "before_cursor_execute", note)
    try:
        service.update_asset(OTHER, "a", AssetUpdate(description="x"))
        record(service, OTHER, "a", "new", inputs=[AssetRef(id="b")])
    finally:
        event.remove(service.engine, "before_cursor_execute", note)
    assert not [statement for statement in seen if "airflow_assets_lease" in statement]


_ALL = LeaseQuery()

"""The log of lineage read forward, bookmarks, and the deletion of what has been shipped."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import event as sqlalchemy_event
from sqlalchemy import func, select, update

from airflow_assets.catalog import changes, shipping, tables
from airflow_assets.exceptions import Conflict, InvalidRequest, NotFound
from airflow_assets.schemas.actors import Caller, Source, SourceKind
from airflow_assets.schemas.assets import AssetInput, AssetRef, Rename
from airflow_assets.schemas.lineage import (
    Bundle,
    StateCorrection,
    TaskError,
    TaskRun,
    TaskRunRecord,
    TaskState,
)
from airflow_assets.schemas.purge import Purge
from airflow_assets.schemas.queries import LineageQuery
from airflow_assets.schemas.shipping import (
    BookmarkMove,
    BookmarksOpen,
    ChangesRead,
    LineageFilter,
    LineageRead,
    ShippedDelete,
    ShippedEvent,
    ShipperQuery,
    ShippingResult,
)
from airflow_assets.schemas.transfer import ExportQuery, ImportRequest
from tests.support.catalog_rows import CALLER, caller

if TYPE_CHECKING:
    from airflow_assets.catalog.service import CatalogService

TABLE, FILE = "airflow_assets.types.Table", "airflow_assets.types.File"
DAY = 24 * 3600.0


def record(service: CatalogService, run: str, *, dag: str = "etl", task: str = "load", **more: Any) -> None:
    bundle = Bundle(
        inputs=[AssetRef(id="orders", namespace="sales", type=TABLE)],
        outputs=[AssetInput(id=more.pop("output", "report"), type=FILE, metadata={"owner": "data"})],
    )
    service.record_task_run(
        CALLER,
        TaskRunRecord(
            task=TaskRun(dag_id=dag, run_id=run, task_id=task, try_number=1),
            state=more.pop("state", TaskState.SUCCESS),
            start_date=datetime(2026, 3, 1, tzinfo=timezone.utc),
            bundles=[bundle] * more.pop("bundles", 1),
            **more,
        ),
    )


def all_after(service: CatalogService, after: int = 0, limit: int = 500, **wanted: Any) -> list[ShippedEvent]:
    """Every page from there on."""
    found = []
    while True:
        page = service.read_lineage(
            CALLER, LineageRead(after=after, limit=limit, filter=LineageFilter(**wanted))
        )
        found += page.items
        assert page.next_after >= after
        if page.at_end:
            return found
        after = page.next_after


def runs(events: list[ShippedEvent]) -> list[str]:
    return [event.task.run_id for event in events]


def test_pages_hold_every_event_once_in_order_whatever_their_size(service: CatalogService) -> None:
    for number in range(7):
        record(service, f"r{number}", bundles=2)
    wanted = [f"r{number // 2}" for number in range(14)]
    for limit in (1, 2, 3, 14, 500):
        found = all_after(service, limit=limit)
        assert runs(found) == wanted
        assert [event.seq for event in found] == sorted({event.seq for event in found})
    half = found[6].seq
    assert runs(all_after(service, half)) == wanted[7:]


def test_a_page_carries_the_assets_as_they_are_now_by_the_names_of_then(service: CatalogService) -> None:
    record(service, "r1")
    service.rename_asset(CALLER, Rename(old_id="report", new_id="reports.daily"))
    service.delete_asset(CALLER, "orders")
    record(service, "r2", state=TaskState.FAILED, output="never stored")
    page = service.read_lineage(CALLER, LineageRead(after=0))
    assert [ref.id for event in page.items for ref in event.outputs] == ["report", "never stored"]
    assert set(page.assets) == {"report", "orders"}
    assert page.assets["report"].id == "reports.daily"
    assert page.assets["report"].metadata == {"owner": "data"}
    assert page.assets["orders"].deleted
    assert page.at_end
    assert page.items[1].state is TaskState.FAILED


def test_the_exception_of_a_try_is_told_everywhere_and_without_its_secrets(service: CatalogService) -> None:
    error = TaskError(type="ValueError", message="no answer from s3://me:hunter2@b/x, token=abc")
    record(service, "r1", state=TaskState.FAILED, bundles=2, error=error)
    record(service, "r2")
    told = TaskError(type="ValueError", message="no answer from s3://me:***@b/x, token=***")
    wanted = [told, told, None]
    assert [event.error for event in all_after(service)] == wanted
    listed = service.list_lineage(CALLER, LineageQuery()).items
    assert [event.error for event in reversed(listed)] == wanted

    rows = service.export_rows(CALLER, ExportQuery()).items
    other = CALLER.model_copy(update={"tenant": "other"})
    service.import_rows(other, ImportRequest(rows=rows))
    page = service.read_lineage(other, LineageRead(after=0))
    assert [event.error for event in page.items] == wanted

    task = TaskRun(dag_id="etl", run_id="r2", task_id="load", try_number=1)
    failed = TaskError(type="FailedByAssets", message="asset_failure_behavior=FAIL")
    service.correct_state(CALLER, StateCorrection(task=task, state=TaskState.FAILED, error=failed))
    assert all_after(service)[-1].error == failed


def test_an_empty_page_still_leads_on(service: CatalogService) -> None:
    assert service.read_lineage(CALLER, LineageRead(after=0)).at_end
    for number in range(5):
        record(service, f"r{number}")
    service.upsert_asset(CALLER, AssetInput(id="other", type=TABLE))  # events have numbers too
    query = LineageRead(after=0, limit=2, filter=LineageFilter(asset_namespace="nowhere"))
    first = service.read_lineage(CALLER, query)
    assert (first.items, first.at_end) == ([], False)
    assert first.next_after > 0
    assert all_after(service, limit=2, asset_namespace="nowhere") == []
    last = service.read_lineage(CALLER, LineageRead(after=0))
    assert last.next_after > last.items[-1].seq, "what is behind the last event need not be looked at again"
    assert service.read_lineage(CALLER, LineageRead(after=last.next_after)).next_after == last.next_after


def test_filters(service: CatalogService) -> None:
    record(service, "a", dag="sales.load")
    record(service, "b", dag="sales")
    record(service, "c", dag="sales_other", task="save")
    assert runs(all_after(service, dag_namespace="sales")) == ["a", "b"]
    assert runs(all_after(service, dag_id="sales")) == ["b"]
    assert runs(all_after(service, task_id="save")) == ["c"]
    assert runs(all_after(service, asset_namespace="sales")) == ["a", "b", "c"]
    assert runs(all_after(service, asset_namespace="sales", asset_types=[FILE])) == []  # not the same asset
    assert runs(all_after(service, asset_types=[FILE, "Other"], dag_id="sales_other")) == ["c"]


def test_what_is_hidden_is_not_shipped(service: CatalogService) -> None:
    record(service, "a")
    page = service.read_lineage(caller("sales"), LineageRead(after=0))
    assert [ref.id for ref in page.items[0].inputs] == []
    assert set(page.assets) == {"report"}


def test_a_page_is_bounded_by_its_bytes(service: CatalogService, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(6):
        record(service, f"r{number}", output=f"report {number}")
        service.upsert_asset(CALLER, AssetInput(id=f"report {number}", type=FILE, description="x" * 3_000))
    monkeypatch.setattr(shipping, "PAGE_BYTES", 7_000)
    page = service.read_lineage(CALLER, LineageRead(after=0))
    assert (len(page.items), page.at_end) == (2, False)
    monkeypatch.setattr(shipping, "PAGE_BYTES", 10)
    assert len(service.read_lineage(CALLER, LineageRead(after=0)).items) == 1
    assert runs(all_after(service)) == [f"r{number}" for number in range(6)]


def test_a_page_is_bounded_by_its_names_and_takes_three_statements(
    service: CatalogService, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        record(service, f"r{number}", output=f"report {number}", bundles=2)
    service.rename_asset(CALLER, Rename(old_id="report 3", new_id="third report"))
    statements: list[str] = []

    def note(_conn: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if not statement.startswith("BEGIN"):  # SQLite's alone goes through a cursor
            statements.append(statement)

    sqlalchemy_event.listen(service.engine, "before_cursor_execute", note)
    monkeypatch.setattr(shipping, "PAGE_NAMES", 3)
    page = service.read_lineage(caller("sales"), LineageRead(after=0, limit=1_000))
    assert [event.task.run_id for event in page.items] == ["r0", "r0", "r1", "r1"], "orders and two reports"
    assert not page.at_end
    assert len(statements) == 3, "also where namespaces are hidden"
    assert runs(all_after(service)) == [f"r{number // 2}" for number in range(12)]
    monkeypatch.setattr(shipping, "PAGE_NAMES", 1)
    page = service.read_lineage(CALLER, LineageRead(after=0))
    assert (len(page.items), set(page.assets)) == (1, {"orders", "report 0"}), "one event comes whole"


def opened(
    service: CatalogService, *exporters: str, key: str = "dag.ship", lookback: float = DAY, **wanted: Any
):  # type: ignore[no-untyped-def]
    return service.open_bookmarks(
        CALLER,
        BookmarksOpen(key=key, exporters=list(exporters), lookback=lookback, filter=LineageFilter(**wanted)),
    ).items


def moved(service: CatalogService, exporter: str, expected: int, seq: int, key: str = "dag.ship") -> int:
    return service.move_bookmark(
        CALLER, BookmarkMove(key=key, exporter=exporter, expected=expected, seq=seq)
    ).seq


def test_a_bookmark_begins_a_lookback_ago_and_moves_forward_only(service: CatalogService) -> None:
    record(service, "old")
    with service.engine.begin() as conn:
        conn.execute(update(tables.lineage).values(created=datetime.now(timezone.utc) - timedelta(days=2)))
    record(service, "new")
    (a,) = opened(service, "a")
    assert runs(all_after(service, a.seq)) == ["new"]
    (late,) = opened(service, "late", lookback=3 * DAY)
    assert runs(all_after(service, late.seq)) == ["old", "new"]
    (none,) = opened(service, "none", lookback=0)
    assert all_after(service, none.seq) == []

    assert moved(service, "a", a.seq, a.seq + 5) == a.seq + 5
    assert moved(service, "a", a.seq, a.seq + 5) == a.seq + 5, "a repeat after a lost answer"
    with pytest.raises(Conflict, match="another run ships"):
        moved(service, "a", a.seq, a.seq + 6)
    with pytest.raises(InvalidRequest, match="forward only"):
        moved(service, "a", a.seq + 5, a.seq)
    with pytest.raises(NotFound, match=r"'b' of shipper .* has no bookmark"):
        moved(service, "b", 0, 1)
    again = opened(service, "late", "a", lookback=0)
    assert [bookmark.seq for bookmark in again] == [late.seq, a.seq + 5]
    assert again[1].begin == a.seq


def test_of_many_that_move_one_bookmark_one_succeeds(service: CatalogService) -> None:
    for number in range(3):
        record(service, f"r{number}")
    (a,) = opened(service, "a")
    results: list[Any] = []

    def move(seq: int) -> None:
        try:
            results.append(moved(service, "a", a.seq, seq))
        except Conflict as error:
            results.append(error)

    threads = [threading.Thread(target=move, args=(a.seq + step,)) for step in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(isinstance(result, Conflict) for result in results) == [False, True, True, True]


def deleted(service: CatalogService, *exporters: str, key: str = "dag.ship") -> int:
    total, after = 0, 0
    while True:
        answer = service.delete_shipped(
            CALLER, ShippedDelete(key=key, exporters=list(exporters), after=after, limit=2)
        )
        total += answer.deleted
        if answer.next_after is None:
            return total
        after = answer.next_after


def test_only_what_every_exporter_has_confirmed_is_deleted(service: CatalogService) -> None:
    record(service, "before")
    with service.engine.begin() as conn:
        conn.execute(update(tables.lineage).values(created=datetime.now(timezone.utc) - timedelta(days=2)))
    for number in range(5):
        record(service, f"r{number}")
    a, b = opened(service, "a", "b")
    seqs = [event.seq for event in all_after(service, a.seq)]
    moved(service, "a", a.seq, seqs[4])
    assert deleted(service, "a", "b") == 0
    moved(service, "b", b.seq, seqs[2])
    assert deleted(service, "a", "b") == 3
    assert runs(all_after(service)) == ["before", "r3", "r4"]
    with service.engine.connect() as conn:
        assert conn.execute(select(func.count()).select_from(tables.usage)).scalar() == 2 * 3

    opened(service, "c", key="another")
    moved(service, "b", seqs[2], seqs[4])
    assert deleted(service, "a", "b") == 0, "the other shipper still needs them"
    with service.engine.begin() as conn:
        old = datetime.now(timezone.utc) - timedelta(days=31)
        conn.execute(update(tables.lineage).values(created=old))
        conn.execute(
            update(tables.consumer).where(tables.consumer.c.name == "main/another/c").values(updated=old)
        )
    assert deleted(service, "a", "b") == 2, "it has been given up"
    assert runs(all_after(service)) == ["before"]


def test_a_bookmark_is_known_by_its_whole_name(service: CatalogService) -> None:
    record(service, "a")
    long = "k" * 990
    one, two = opened(service, "x", key=long + "1"), opened(service, "x", key=long + "2", lookback=0)
    assert one[0].seq < two[0].seq
    assert opened(service, "x", key=long + "1") == one
    with service.engine.connect() as conn:
        names = conn.scalars(select(tables.consumer.c.name)).all()
    assert {len(name) for name in names} == {250}
    opened(service, "x", key="a/b")
    opened(service, "x", key="a")
    with service.engine.connect() as conn:
        assert {"main/a/b/x", "main/a/x"} < set(conn.scalars(select(tables.consumer.c.name)))


def test_a_changed_filter_deletes_nothing_that_was_never_shipped(service: CatalogService) -> None:
    record(service, "a", dag="one")
    record(service, "b", dag="two")
    (x,) = opened(service, "x", dag_id="one")
    end = all_after(service)[-1].seq
    moved(service, "x", x.seq, end)
    opened(service, "x", dag_id="two")
    assert deleted(service, "x") == 0
    assert runs(all_after(service)) == ["a", "b"]


def test_nothing_hidden_is_deleted(service: CatalogService) -> None:
    record(service, "a")
    stranger = caller("sales")
    body = BookmarksOpen(key="k", exporters=["x"], lookback=DAY)
    (x,) = service.open_bookmarks(stranger, body).items
    move = BookmarkMove(key="k", exporter="x", expected=x.seq, seq=x.seq + 100)
    service.move_bookmark(stranger, move)
    assert service.delete_shipped(stranger, ShippedDelete(key="k", exporters=["x"])).deleted == 0
    assert runs(all_after(service)) == ["a"]


def test_shippers_are_listed_with_what_waits_for_them(service: CatalogService) -> None:
    begin = datetime.now(timezone.utc) - timedelta(minutes=1)
    opened(service, "a", "b", "c")
    assert len(service.list_shippers(CALLER, ShipperQuery()).items) == 3, "also before the log has an entry"
    other = CALLER.model_copy(update={"tenant": "main0"})
    service.open_bookmarks(other, BookmarksOpen(key="dag.ship", exporters=["x"], lookback=DAY))
    record(service, "r1")
    end = all_after(service)[-1].seq
    (a, b, _) = opened(service, "a", "b", "c")
    result = ShippingResult(size=1)
    service.move_bookmark(
        CALLER, BookmarkMove(key="dag.ship", exporter="a", expected=a.seq, seq=end, result=result)
    )
    failed = ShippingResult(size=0, error="no answer from https://me:hunter2@h/x")
    service.move_bookmark(
        CALLER, BookmarkMove(key="dag.ship", exporter="b", expected=b.seq, seq=b.seq, result=failed)
    )
    first = service.list_shippers(CALLER, ShipperQuery(limit=2))
    rest = service.list_shippers(CALLER, ShipperQuery(limit=2, cursor=first.next_cursor))
    assert rest.next_cursor is None
    a_now, b_now, c_now = [*first.items, *rest.items]
    assert [one.exporter for one in (a_now, b_now, c_now)] == ["a", "b", "c"]
    assert (a_now.seq, a_now.waiting_since) == (end, None)
    assert a_now.confirmed is not None
    assert a_now.confirmed > begin
    assert a_now.result is not None
    assert (a_now.result.size, a_now.result.error, a_now.result.ended) == (1, None, a_now.confirmed)
    assert (b_now.backlog, b_now.confirmed) == (c_now.backlog, None)
    assert b_now.backlog > a_now.backlog
    assert b_now.waiting_since is not None
    assert b_now.waiting_since > begin
    assert b_now.result is not None
    assert b_now.result.error == "no answer from https://me:***@h/x"
    assert c_now.result is None


def all_changes(service: CatalogService, after: int, upto: int, limit: int) -> list[tuple[str, str, Any]]:
    found: list[tuple[str, str, Any]] = []
    while after < upto:
        page = service.read_changes(CALLER, ChangesRead(after=after, upto=upto, limit=limit))
        assert page.next_after > after
        found += [(one.event.value, one.asset.id, one.uri) for one in page.items]
        after = page.next_after
    return found


def test_changes_are_those_that_no_lineage_tells(
    service: CatalogService, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = Caller(source=Source(kind=SourceKind.TASK, dag_id="etl"))
    service.create_asset(CALLER, AssetInput(id="a", type=TABLE, uri="s3://lake/a"))
    service.create_asset(task, AssetInput(id="b", type=TABLE))
    service.rename_asset(CALLER, Rename(old_id="a", new_id="c"))
    service.delete_asset(task, "b")
    wanted = [("CREATED", "a", "s3://lake/a"), ("UPDATED", "c", "s3://lake/a"), ("DELETED", "b", None)]
    for limit in (1, 2, 100):
        assert all_changes(service, 0, 100, limit) == wanted
    monkeypatch.setattr(changes, "PAGE_BYTES", 1)
    assert all_changes(service, 0, 100, 100) == wanted
    page = service.read_changes(CALLER, ChangesRead(after=0, upto=3))
    assert [one.former_id for one in page.items] == [None], "one change a page"
    assert page.items[0].seq == page.next_after
    purge = Purge(end_date=datetime.now(timezone.utc) + timedelta(days=1))
    service.purge(CALLER, purge)
    monkeypatch.undo()
    assert all_changes(service, 0, 100, 100) == [*wanted, ("DELETED", "c", "s3://lake/a")]
    hidden = service.read_changes(caller("x"), ChangesRead(after=0, upto=100, asset_types=["Other"]))
    assert hidden.items == []

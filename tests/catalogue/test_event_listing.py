"""The event log and the history as people read them."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import event as sa_event

from airflow_assets.catalog.log import (
    find_event,
    first_seq_since,
    last_seq,
    mark_suppressed,
    read_after,
)
from airflow_assets.exceptions import AssetNotFound, EventNotFound, InvalidCursor
from airflow_assets.schemas.actors import Caller, Source, SourceKind
from airflow_assets.schemas.assets import AssetInput, Rename
from airflow_assets.schemas.lineage import Bundle, TaskRun, TaskRunRecord, TaskState
from airflow_assets.schemas.metadata_query import MetadataCondition
from airflow_assets.schemas.queries import Batch, BatchItem, EventQuery, HistoryQuery

if TYPE_CHECKING:
    from airflow_assets.catalog.service import CatalogService
    from airflow_assets.schemas.base import Page
    from airflow_assets.schemas.events import Event

CALLER = Caller(source=Source(kind=SourceKind.UI, user="ada"))


def write(service: CatalogService, *assets: dict[str, Any]) -> None:
    items = [BatchItem(action="upsert", asset=AssetInput(**{"type": "T", **asset})) for asset in assets]
    assert {item.status for item in service.batch(CALLER, Batch(items=items)).items} <= {200, 201}


def listed(service: CatalogService, **query: Any) -> list[str]:
    page = service.list_events(CALLER, EventQuery(**query))
    return [f"{event.event.value} {event.asset.id}" for event in page.items]


def pages(service: CatalogService, **query: Any) -> list[Page[Event]]:
    found = [service.list_events(CALLER, EventQuery(**query))]
    while cursor := found[-1].next_cursor:
        found.append(service.list_events(CALLER, EventQuery(**query, cursor=cursor)))
    return found


def test_pages_are_the_log_in_either_order(service: CatalogService) -> None:
    write(service, *({"id": f"a{n}"} for n in range(25)))
    for newest_first in (False, True):
        found = pages(service, limit=10, newest_first=newest_first)
        assert [len(page.items) for page in found] == [10, 10, 5]
        seqs = [event.seq for page in found for event in page.items]
        assert seqs == sorted(seqs, reverse=newest_first)
        assert len(set(seqs)) == 25
    assert [len(page.items) for page in pages(service, limit=25)] == [25]


def test_cursor_of_another_listing_is_refused(service: CatalogService) -> None:
    write(service, *({"id": f"a{n}"} for n in range(3)))
    cursor = service.list_events(CALLER, EventQuery(limit=1)).next_cursor
    with pytest.raises(InvalidCursor):
        service.list_events(CALLER, EventQuery(limit=1, newest_first=True, cursor=cursor))


def test_filters(service: CatalogService) -> None:
    write(service, {"id": "a", "namespace": "n", "metadata": {"tier": 1}})
    write(service, {"id": "b", "type": "U", "namespace": "n.m"})
    write(service, {"id": "a", "metadata": {"tier": 2}})
    write(service, {"id": "a"})
    service.delete_asset(CALLER, "b")
    assert listed(service, asset_id="b") == ["CREATED b", "DELETED b"]
    assert listed(service, asset_id="nobody") == []
    assert listed(service, namespace="n") == ["CREATED a", "UPDATED a", "UPDATED a"]
    assert listed(service, asset_type="U") == ["CREATED b", "DELETED b"]
    assert listed(service, events=["DELETED", "UPDATED"]) == ["UPDATED a", "UPDATED a", "DELETED b"]
    assert listed(service, events=[]) == []
    assert listed(service, only_changes=True) == ["CREATED a", "CREATED b", "UPDATED a", "DELETED b"]
    [first, second, *_] = service.list_events(CALLER, EventQuery()).items
    assert len(listed(service, after=second.seq)) == 3
    assert listed(service, to_time=second.event_time) == ["CREATED a"]
    assert len(listed(service, from_time=second.event_time)) == 4
    assert first.event_time < second.event_time


def test_filter_by_id_follows_a_rename(service: CatalogService) -> None:
    write(service, {"id": "old"})
    service.rename_asset(CALLER, Rename(old_id="old", new_id="new"))
    for asset_id in ("old", "new"):
        assert listed(service, asset_id=asset_id) == ["CREATED old", "UPDATED new"]


def test_metadata_is_that_of_the_moment(service: CatalogService) -> None:
    for tier in (1, 2, 3, 2):
        write(service, {"id": "a", "metadata": {"tier": tier}})
    wanted = [MetadataCondition(field="tier", type="GREATER_THAN_OR_EQUAL_TO", value=2)]
    assert listed(service, metadata_query=wanted) == ["UPDATED a"] * 3


def test_rare_matches_are_found_with_four_statements_a_page(service: CatalogService) -> None:
    for start in range(0, 4000, 1000):
        write(
            service,
            *(
                {"id": f"a{n}", "metadata": {"rare": True} if n in {0, 2500, 3999} else {}}
                for n in range(start, start + 1000)
            ),
        )
    statements: list[str] = []

    def count(conn: Any, cursor: Any, statement: str, *_: Any) -> None:
        if "SELECT" in statement:
            statements.append(statement)

    sa_event.listen(service.engine, "before_cursor_execute", count)
    try:
        wanted = [MetadataCondition(field="rare", type="EQUAL_TO", value=True)]
        found = pages(service, metadata_query=wanted, limit=2)
    finally:
        sa_event.remove(service.engine, "before_cursor_execute", count)
    assert [event.asset.id for page in found for event in page.items] == ["a0", "a2500", "a3999"]
    assert len(statements) <= 4 * len(found)


def test_history_leaves_out_reading(service: CatalogService) -> None:
    write(service, {"id": "a"})
    task = TaskRun(dag_id="d", run_id="r", task_id="t", try_number=1)
    used = Bundle(inputs=[{"id": "a"}])
    service.record_task_run(CALLER, TaskRunRecord(task=task, state=TaskState.SUCCESS, bundles=[used]))
    write(service, {"id": "a", "description": "d"})
    service.delete_asset(CALLER, "a")
    first = service.list_history(CALLER, HistoryQuery(asset_id="a", limit=2))
    rest = service.list_history(CALLER, HistoryQuery(asset_id="a", limit=2, cursor=first.next_cursor))
    assert [change.event.value for change in (*first.items, *rest.items)] == ["DELETED", "UPDATED", "CREATED"]
    assert rest.next_cursor is None
    assert first.items[0].diff == {"deleted": (False, True)}
    with pytest.raises(AssetNotFound):
        service.list_history(CALLER, HistoryQuery(asset_id="nobody"))


def test_one_event_by_its_id(service: CatalogService) -> None:
    write(service, {"id": "a"})
    [event] = service.list_events(CALLER, EventQuery()).items
    assert service.get_event(CALLER, event.id) == event
    assert service.get_event(CALLER, event.id.upper()) == event
    other = CALLER.model_copy(update={"tenant": "other"})
    for caller, event_id in ((CALLER, "0" * 36), (CALLER, "x" * 5000), (other, event.id)):
        with pytest.raises(EventNotFound):
            service.get_event(caller, event_id)


def test_a_follower_reads_from_a_number_or_a_time(service: CatalogService) -> None:
    write(service, {"id": "a"}, {"id": "b"})
    write(service, {"id": "c"})
    with service.engine.begin() as conn:
        log = read_after(conn, "main", 0, 10)
        assert [event.asset.id for event in read_after(conn, "main", log[0].seq, 1)] == ["b"]
        assert last_seq(conn) == log[-1].seq
        assert first_seq_since(conn, "main", log[0].event_time) == 0
        assert first_seq_since(conn, "main", log[2].event_time) == log[1].seq
        assert first_seq_since(conn, "main", log[2].event_time + timedelta(seconds=1)) == log[2].seq
        mark_suppressed(conn, [log[1].seq])
        assert [event.suppressed for event in read_after(conn, "main", 0, 10)] == [None, "loop", None]
        assert find_event(conn, "main", log[1].id) == read_after(conn, "main", log[0].seq, 1)[0]

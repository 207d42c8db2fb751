"""Export and import: taking a catalogue over and exporting it again gives the same rows."""

from __future__ import annotations

import copy
import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import func, insert, select

from airflow_assets.catalog import tables
from airflow_assets.catalog.service import CatalogService
from airflow_assets.exceptions import AssetCatalogError, InvalidCursor, InvalidRequest, NamespaceNotAllowed
from airflow_assets.schemas.assets import AssetInput, AssetRef, Rename
from airflow_assets.schemas.lineage import Bundle, Direction, TaskRun, TaskRunRecord, TaskState
from airflow_assets.schemas.queries import (
    AssetQuery,
    DependencyQuery,
    EventQuery,
    LineageQuery,
    UsageQuery,
)
from airflow_assets.schemas.transfer import ExportQuery, ExportRow, ImportRequest, RowKind
from tests.support.catalog_rows import CALLER, NOON, add_assets, caller, engine_with_tables
from tests.support.json_values import metadatas

if TYPE_CHECKING:
    from pathlib import Path

IDS = ("a", "b", "größe", "s3://b/k?x=#", "x" * 300, "\N{GRINNING FACE}")
NAMESPACES = (None, "n", "secret.n")


def exported(
    service: CatalogService, by: Any = CALLER, *, limit: int = 500, log: bool = True
) -> list[dict[str, Any]]:
    rows, cursor = [], None
    while True:
        page = service.export_rows(by, ExportQuery(limit=limit, log=log, cursor=cursor))
        assert len(page.items) <= limit
        rows += [json.loads(row.model_dump_json(by_alias=True)) for row in page.items]
        cursor = page.next_cursor
        if cursor is None:
            return rows


def imported(
    service: CatalogService, rows: list[dict[str, Any]], *, portion: int = 1_000, by: Any = CALLER
) -> tuple[int, int]:
    done = skipped = 0
    for start in range(0, len(rows), portion):
        request = ImportRequest(rows=[ExportRow.model_validate(row) for row in rows[start : start + portion]])
        result = service.import_rows(by, request)
        done, skipped = done + result.imported, skipped + result.skipped
    return done, skipped


def emptied(service: CatalogService) -> None:
    with service.engine.begin() as conn:
        for table in reversed(tables.metadata.sorted_tables):
            conn.execute(table.delete())


upserts = st.builds(
    lambda asset_id, namespace, metadata: ("upsert", AssetInput(id=asset_id, type="T", namespace=namespace, metadata=metadata)),
    st.sampled_from(IDS), st.sampled_from(NAMESPACES), metadatas,
)  # fmt: skip
records = st.builds(
    lambda task, run, inputs, outputs, state: (
        "record",
        TaskRunRecord(
            task=TaskRun(dag_id="d\u00a0é", run_id=run, task_id=task, try_number=1, map_index=-1),
            state=state,
            start_date=NOON,
            bundles=[Bundle(inputs=[AssetRef(id=one) for one in inputs], outputs=[AssetInput(id=one, type="T") for one in outputs])],
            warnings=["careful"],
        ),
    ),
    st.sampled_from(["t1", "t2", "t3"]), st.sampled_from(["r1", "r2", "r3"]),
    st.lists(st.sampled_from(IDS), max_size=3, unique=True), st.lists(st.sampled_from(IDS), max_size=3, unique=True),
    st.sampled_from([TaskState.SUCCESS, TaskState.SUCCESS, TaskState.FAILED]),
)  # fmt: skip
others = st.one_of(
    st.builds(lambda one: ("delete", one), st.sampled_from(IDS)),
    st.builds(lambda old, new: ("rename", Rename(old_id=old, new_id=new)), st.sampled_from(IDS), st.sampled_from(["new1", "new2", *IDS])),
)  # fmt: skip


def perform(service: CatalogService, steps: list[tuple[str, Any]]) -> None:
    calls: dict[str, Any] = {
        "upsert": service.upsert_asset,
        "record": service.record_task_run,
        "delete": service.delete_asset,
        "rename": service.rename_asset,
    }
    for name, argument in steps:
        try:
            calls[name](CALLER, argument)
        except AssetCatalogError:
            continue  # a step that the rules forbid is no step


@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
    ],
)
@given(
    steps=st.lists(st.one_of(upserts, records, others), min_size=1, max_size=14),
    limit=st.sampled_from([1, 3, 500]),
)
def test_export_import_export_is_the_identity(
    service: CatalogService, steps: list[tuple[str, Any]], limit: int
) -> None:
    emptied(service)
    perform(service, steps)
    before = exported(service)
    assert exported(service, limit=limit) == before
    emptied(service)
    assert imported(service, before, portion=limit) == (len(before), 0)
    assert exported(service) == before
    assert imported(service, before) == (0, len(before))
    assert exported(service) == before


@pytest.fixture
def lived_in(service: CatalogService) -> CatalogService:
    """A catalogue with one of everything."""
    service.upsert_asset(
        CALLER, AssetInput(id="raw", type="T", namespace="secret", metadata={"k": [1, None], "n": 2**60})
    )
    for n, (inputs, outputs) in enumerate(
        [(["raw"], ["stage"]), (["stage"], ["report", "raw"]), (["report"], [])]
    ):
        bundle = Bundle(
            inputs=[AssetRef(id=one) for one in inputs],
            outputs=[AssetInput(id=one, type="T") for one in outputs],
        )
        run = TaskRun(dag_id="d", run_id=f"r{n}", task_id=f"t{n}", try_number=1)
        service.record_task_run(CALLER, TaskRunRecord(task=run, state=TaskState.SUCCESS, bundles=[bundle]))
    service.rename_asset(CALLER, Rename(old_id="stage", new_id="staged"))
    service.delete_asset(CALLER, "report")
    return service


def test_a_restored_catalogue_answers_like_the_first(lived_in: CatalogService, tmp_path: Path) -> None:
    """Between two databases, read through every listing."""
    rows = exported(lived_in)
    assert {row["kind"] for row in rows} == {kind.value for kind in RowKind}
    other = CatalogService(engine_with_tables(f"sqlite:///{tmp_path}/other.db"))
    imported(other, rows, portion=7)
    for call, query in (
        ("search_assets", AssetQuery(include_deleted=True)),
        (
            "search_assets",
            AssetQuery.model_validate(
                {"metadata_query": [{"field": "k", "type": "CONTAINS", "value": None}]}
            ),
        ),
        ("list_usages", UsageQuery()),
        ("list_lineage", LineageQuery(asset_id="stage")),
        ("list_lineage", LineageQuery()),
        ("list_events", EventQuery()),
        ("dependencies", DependencyQuery(asset_id="stage", direction=Direction.BOTH, depth=3)),
    ):
        assert _said(getattr(other, call)(CALLER, query)) == _said(getattr(lived_in, call)(CALLER, query)), (
            call
        )
    assert other.get_asset(CALLER, "stage").aliases == ["stage"]
    other.engine.dispose()


_OWN = {"seq", "lineageSeq", "suppressed", "freshness"}


def _said(answer: Any) -> Any:
    """An answer without the numbers of the log, which are each catalogue's own, and what time changes."""

    def cleaned(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: cleaned(v) for k, v in value.items() if k not in _OWN}
        return [cleaned(one) for one in value] if isinstance(value, list) else value

    return cleaned(answer.to_json())


def test_restored_events_come_after_all_others_and_start_nothing(lived_in: CatalogService) -> None:
    rows = exported(lived_in)
    events = [row for row in rows if row["kind"] == "event"]
    emptied(lived_in)
    lived_in.upsert_asset(CALLER, AssetInput(id="first", type="T"))
    last = lived_in.list_events(CALLER, EventQuery(newest_first=True, limit=1)).items[0].seq
    imported(lived_in, rows)
    restored = lived_in.list_events(CALLER, EventQuery(after=last)).items
    assert [event.id for event in restored] == [row["data"]["eventId"] for row in events]
    assert {event.suppressed for event in restored} == {"import"}
    assert all(row["data"]["suppressed"] is None for row in events)
    later = lived_in.upsert_asset(CALLER, AssetInput(id="later", type="T"))
    assert later.created
    assert (
        lived_in.list_events(CALLER, EventQuery(newest_first=True, limit=1)).items[0].seq > restored[-1].seq
    )


def test_why_an_event_was_suppressed_survives(service: CatalogService) -> None:
    service.upsert_asset(CALLER, AssetInput(id="a", type="T"))
    with service.engine.begin() as conn:
        conn.execute(tables.event.update().values(suppressed="loop"))
    rows = exported(service)
    emptied(service)
    imported(service, rows)
    assert service.list_events(CALLER, EventQuery()).items[0].suppressed == "import:loop"
    assert exported(service) == rows


def test_what_is_there_stays_as_it_is(service: CatalogService) -> None:
    service.upsert_asset(CALLER, AssetInput(id="a", type="T", description="from elsewhere"))
    rows = exported(service, log=False)
    emptied(service)
    service.upsert_asset(CALLER, AssetInput(id="a", type="T", description="mine"))
    assert imported(service, rows) == (0, 1)
    assert service.get_asset(CALLER, "a").description == "mine"
    assert len(service.list_events(CALLER, EventQuery()).items) == 1


def test_without_the_log(lived_in: CatalogService) -> None:
    kinds = {row["kind"] for row in exported(lived_in, log=False)}
    assert kinds == {"asset", "alias", "edge"}


def test_closed_namespaces_are_left_out_with_all_that_names_them(lived_in: CatalogService) -> None:
    rows = exported(lived_in, caller("secret"))
    assert {row["data"]["id"] for row in rows if row["kind"] == "asset"} == {"staged", "report"}
    assert '"raw"' not in json.dumps(rows)
    emptied(lived_in)
    imported(lived_in, rows)
    assert exported(lived_in) == rows


def test_rows_of_a_closed_namespace_are_refused(lived_in: CatalogService) -> None:
    rows = exported(lived_in)
    emptied(lived_in)
    with pytest.raises(NamespaceNotAllowed, match="Row 1 is about 'raw'"):
        imported(lived_in, rows, by=caller("secret"))
    assert exported(lived_in) == []


def test_a_row_that_names_what_is_not_there_is_refused_whole(lived_in: CatalogService) -> None:
    rows = exported(lived_in)
    emptied(lived_in)
    for kind in ("alias", "edge", "event", "lineage"):
        first = next(row for row in rows if row["kind"] == kind and row["data"].get("usages") != [])
        with pytest.raises(InvalidRequest, match=r"Row 1 names the asset .* which is not there"):
            imported(lived_in, [first])
    with pytest.raises(InvalidRequest, match="Row 2 names the asset"):
        imported(lived_in, [rows[0], next(row for row in rows if row["kind"] == "edge")])
    with lived_in.engine.connect() as conn:
        assert conn.scalar(select(func.count()).select_from(tables.asset)) == 0


def test_rows_that_cannot_be_understood_are_named(lived_in: CatalogService) -> None:
    rows = {row["kind"]: row for row in exported(lived_in)}
    changes: list[tuple[str, str, Any, str]] = [
        ("asset", "id", " x", r"Row 1 \(asset\): The id ' x' begins or ends with white space"),
        ("asset", "created", "yesterday", r"Row 1 \(asset\): 'yesterday' is not a time"),
        ("asset", "metadata", {"k": float("nan")}, "JSON cannot hold"),
        ("asset", "extra", 1, r"Row 1 \(asset\): extra"),
        ("alias", "asset", None, r"Row 1 \(alias\)"),
        ("edge", "dagId", "x" * 251, r"Row 1 \(edge\): dagId"),
        ("edge", "taskId", "nul\0", r"Row 1 \(edge\): taskId"),
        ("event", "eventId", "7", r"Row 1 \(event\): eventId"),
        ("event", "event", "EXPLODED", "Unknown event"),
        ("event", "payload", {}, r"Row 1 \(event\): payload"),
        ("event", "depth", 2**40, r"Row 1 \(event\): depth"),
        ("lineage", "state", "odd", r"Row 1 \(lineage\): state"),
        ("lineage", "bundle", 99_999, r"Row 1 \(lineage\): bundle"),
        ("lineage", "tryNumber", "many", r"Row 1 \(lineage\): tryNumber"),
    ]
    for kind, member, value, problem in changes:
        row = copy.deepcopy(rows[kind])
        row["data"][member] = value
        with pytest.raises(InvalidRequest, match=problem):
            imported(lived_in, [row])
    with pytest.raises(InvalidRequest, match="format version 2"):
        imported(lived_in, [{**rows["asset"], "version": 2}])


@pytest.mark.parametrize("limit", [1, 2, 5, 1_000])
def test_edges_page_exactly_where_many_tasks_join_two_assets(service: CatalogService, limit: int) -> None:
    with service.engine.begin() as conn:
        pks = add_assets(conn, [{"id": one} for one in "abc"])
        pairs = [(0, "a"), ("a", "b"), ("a", "b"), ("a", "b"), ("a", "c"), ("b", 0), ("b", "c"), ("b", "c")]
        conn.execute(
            insert(tables.edge),
            [
                {"edge_key": bytes([n] * 16), "source_pk": pks.get(str(s), 0), "target_pk": pks.get(str(t), 0),
                 "dag_id": f"d{n % 2}", "task_id": f"t{9 - n}", "first_seen": NOON, "last_seen": NOON + timedelta(hours=n)}
                for n, (s, t) in enumerate(pairs)
            ],
        )  # fmt: skip
    rows = [row["data"] for row in exported(service, log=False, limit=limit) if row["kind"] == "edge"]
    ends = [(row["source"], row["target"]) for row in rows]
    assert ends == [
        (None, "a"),
        ("a", "b"),
        ("a", "b"),
        ("a", "b"),
        ("a", "c"),
        ("b", None),
        ("b", "c"),
        ("b", "c"),
    ]
    assert [(row["dagId"], row["taskId"]) for row in rows[1:4]] == [("d0", "t7"), ("d1", "t6"), ("d1", "t8")]


@pytest.mark.parametrize("cursor", ["", "x", "WyJleHBvcnQ6bm90aGluZyJd", "WyJhc3NldHM6aWQiXQ"])
def test_a_cursor_of_something_else_is_refused(service: CatalogService, cursor: str) -> None:
    with pytest.raises(InvalidCursor):
        service.export_rows(CALLER, ExportQuery(cursor=cursor))


def test_an_empty_catalogue_is_an_empty_export(service: CatalogService) -> None:
    assert exported(service) == []
    assert imported(service, []) == (0, 0)

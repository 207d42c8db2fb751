"""Declared edges: beside the recorded ones, told apart, ended and kept when the declaration goes."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import select, update

from airflow_assets.catalog import declarations as declarations_module
from airflow_assets.catalog import tables
from airflow_assets.catalog.declarations import Declarations, DeclaredTask
from airflow_assets.schemas.assets import AssetInput, AssetRef, AssetUpdate, Rename
from airflow_assets.schemas.lineage import Bundle, Direction, NodeKind, TaskRun, TaskRunRecord, TaskState
from airflow_assets.schemas.queries import DependencyQuery
from airflow_assets.schemas.rules import DEFAULT_TENANT
from airflow_assets.schemas.transfer import ExportQuery
from tests.support.catalog_rows import CALLER, TABLE, counted_statements

if TYPE_CHECKING:
    from airflow_assets.catalog.service import CatalogService
    from airflow_assets.schemas.lineage import Graph

LOAD = DeclaredTask("etl", "load", frozenset({"raw"}), frozenset({"stage"}))
MAIL = DeclaredTask("etl", "mail", frozenset({"stage"}))
STARTED = DeclaredTask("follower", "", frozenset({"stage"}))


@pytest.fixture
def declarations(service: CatalogService) -> Declarations:
    for asset_id in ("raw", "stage", "other"):
        service.upsert_asset(CALLER, AssetInput(id=asset_id, type=TABLE))
    return Declarations(service.engine, DEFAULT_TENANT)


def graph(service: CatalogService, asset_id: str = "stage", **query: Any) -> Graph:
    return service.dependencies(CALLER, DependencyQuery(asset_id=asset_id, **query))


def lines(found: Graph) -> set[tuple[str, str, str, bool, bool]]:
    ids = {node.uid: node.id for node in found.nodes}
    return {
        (ids[one.source], one.relation.value, ids[one.target], one.recorded, one.declared)
        for one in found.edges
    }


def record_load(service: CatalogService) -> None:
    bundle = Bundle(inputs=[AssetRef(id="raw")], outputs=[AssetInput(id="stage", type=TABLE)])
    task = TaskRun(dag_id="etl", run_id="r", task_id="load", try_number=1)
    service.record_task_run(CALLER, TaskRunRecord(task=task, state=TaskState.SUCCESS, bundles=[bundle]))


def test_declared_and_recorded_edges_are_told_apart(
    service: CatalogService, declarations: Declarations
) -> None:
    declarations.put([LOAD, MAIL, STARTED])
    declared_only = {
        ("raw", "UPSTREAM_OF", "stage", False, True),
        ("raw", "CONSUMED_BY", "etl.load", False, True),
        ("etl.load", "PRODUCES", "stage", False, True),
        ("stage", "CONSUMED_BY", "etl.mail", False, True),
        ("stage", "TRIGGERS", "follower", False, True),
    }
    assert lines(graph(service)) == declared_only
    record_load(service)
    found = graph(service)
    assert {one[:3] for one in lines(found)} == {one[:3] for one in declared_only}
    assert {one[:3] for one in lines(found) if one[3]} == {
        one[:3] for one in declared_only if "mail" not in one[2]
    } - {("stage", "TRIGGERS", "follower")}
    [dag] = [node for node in found.nodes if node.kind is NodeKind.DAG]
    assert (dag.uid, dag.dag_id, dag.task_id) == ("dag:follower", "follower", None)


def test_dags_stand_for_their_tasks(service: CatalogService, declarations: Declarations) -> None:
    declarations.put([LOAD, MAIL, STARTED])
    found = graph(service, dags=True)
    assert {(node.kind.value, node.id) for node in found.nodes} == {
        ("ASSET", "raw"), ("ASSET", "stage"), ("DAG", "etl"), ("DAG", "follower"),
    }  # fmt: skip
    assert {one[:3] for one in lines(found)} == {
        ("raw", "UPSTREAM_OF", "stage"), ("raw", "CONSUMED_BY", "etl"), ("etl", "PRODUCES", "stage"),
        ("stage", "CONSUMED_BY", "etl"), ("stage", "TRIGGERS", "follower"),
    }  # fmt: skip
    upstream = graph(service, dags=True, direction=Direction.UPSTREAM)
    assert "follower" not in {node.id for node in upstream.nodes}


def test_what_is_no_longer_declared_is_left_to_earlier_times(
    service: CatalogService, declarations: Declarations
) -> None:
    declarations.put([LOAD, STARTED])
    with service.engine.begin() as conn:
        long_ago = datetime.now(timezone.utc) - timedelta(days=2)
        conn.execute(update(tables.edge).values(first_seen=long_ago, last_seen=long_ago))
    declarations.put([STARTED])
    assert {one[:3] for one in lines(graph(service))} == {("stage", "TRIGGERS", "follower")}
    yesterday = datetime.now(timezone.utc) - timedelta(days=1)
    assert ("raw", "UPSTREAM_OF", "stage", False, True) in lines(graph(service, as_of=yesterday))
    assert lines(graph(service, as_of=yesterday - timedelta(days=2))) == set()
    # A new holder of the job reads what is stored; what comes back is the same row.
    Declarations(service.engine, DEFAULT_TENANT).put([LOAD, STARTED])
    with service.engine.connect() as conn:
        assert set(conn.execute(select(tables.edge.c.first_seen, tables.edge.c.ended))) == {(long_ago, None)}


def test_nothing_is_written_when_nothing_has_changed(
    service: CatalogService, declarations: Declarations
) -> None:
    declarations.put([LOAD, MAIL])
    with counted_statements(service.engine) as statements:
        declarations.put([MAIL, LOAD])
    assert len(statements) == 2
    assert all(statement.startswith("SELECT") for statement in statements)


def test_assets_get_their_edges_when_they_come_and_keep_them_under_a_new_name(
    service: CatalogService, declarations: Declarations
) -> None:
    later = DeclaredTask("etl", "load", frozenset({"raw"}), frozenset({"late"}))
    declarations.put([later])
    assert lines(graph(service, "raw")) == {("raw", "CONSUMED_BY", "etl.load", False, True)}
    service.upsert_asset(CALLER, AssetInput(id="late", type=TABLE))
    declarations.put([later])
    assert ("raw", "UPSTREAM_OF", "late", False, True) in lines(graph(service, "raw"))
    service.rename_asset(CALLER, Rename(old_id="late", new_id="renamed"))
    declarations.put([later])
    assert ("raw", "UPSTREAM_OF", "renamed", False, True) in lines(graph(service, "raw"))


def test_a_task_with_too_many_pairs_is_shown_without_them(
    service: CatalogService, declarations: Declarations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(declarations_module, "MAX_EDGES", 0)
    declarations.put([LOAD])
    assert lines(graph(service)) == {("etl.load", "PRODUCES", "stage", False, True)}


def test_an_export_has_only_what_was_recorded(service: CatalogService, declarations: Declarations) -> None:
    declarations.put([LOAD, STARTED])
    assert "EDGE" not in {row.kind.value.upper() for row in service.export_rows(CALLER, ExportQuery()).items}


def test_nodes_tell_how_fresh_and_whether_locked(service: CatalogService, declarations: Declarations) -> None:
    declarations.put([LOAD])
    service.update_asset(CALLER, "raw", AssetUpdate(metadata={"freshness": "PT1H"}, display_name="Raw data"))
    with service.engine.begin() as conn:
        now = datetime.now(timezone.utc)
        of_raw = tables.asset.c.id == "raw"
        conn.execute(update(tables.asset).where(of_raw).values(updated=now - timedelta(hours=2)))
        conn.execute(
            update(tables.asset)
            .where(tables.asset.c.id == "stage")
            .values(lock_until=now + timedelta(hours=1))
        )
    nodes = {node.id: node for node in graph(service).nodes}
    raw, stage = nodes["raw"].freshness, nodes["stage"].freshness
    assert raw is not None
    assert stage is not None
    assert (raw.state.value, stage.state.value) == ("STALE", "UNKNOWN")
    assert raw.age == pytest.approx(7200, abs=60)
    assert (nodes["raw"].locked, nodes["stage"].locked) == (False, True)
    assert nodes["raw"].display_name == "Raw data"
    assert nodes["etl.load"].freshness is None

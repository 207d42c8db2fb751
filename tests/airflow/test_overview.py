"""What pages and monitors are told of Airflow's Dags: their triggers, and the edges that they declare."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, Asset

from airflow_assets.airflow_bridge.declared_edges import DeclaredEdges
from airflow_assets.airflow_bridge.dispatcher import Dispatcher
from airflow_assets.airflow_bridge.gauges import Gauges
from airflow_assets.schemas.leases import AcquireLeases
from airflow_assets.schemas.polls import CheckReport, PollRef
from airflow_assets.schemas.queries import DependencyQuery
from airflow_assets.schemas.trigger_listing import TriggerKind, TriggerQuery
from airflow_assets.triggers import EventTrigger, FreshnessTrigger, ScriptTrigger, any_of
from airflow_assets.types import Table
from tests.support.airflow_database import CALLER, AirflowDatabase
from tests.support.catalog_rows import caller, counted_statements

if TYPE_CHECKING:
    from collections.abc import Iterator

    from airflow_assets.schemas.lineage import Graph
    from airflow_assets.schemas.trigger_listing import TriggerInfo


@pytest.fixture(scope="module")
def db(database_url: str) -> Iterator[AirflowDatabase]:
    found = AirflowDatabase(database_url)
    yield found
    found.close()


def put(db: AirflowDatabase, dag_id: str, schedule: Any = None, **task: Any) -> None:
    with DAG(dag_id, schedule=schedule) as dag:
        EmptyOperator(task_id="only", **task)
    db.put_dag(dag)


def listed(db: AirflowDatabase, by: Any = CALLER, **query: Any) -> list[TriggerInfo]:
    """All pages of one."""
    found: list[TriggerInfo] = []
    cursor = None
    while True:
        page = db.service.list_triggers(by, TriggerQuery(limit=1, cursor=cursor, **query))
        found += page.items
        cursor = page.next_cursor
        if cursor is None:
            return found


def test_triggers_are_listed_with_what_came_of_them(db: AirflowDatabase) -> None:
    stale = FreshnessTrigger("PT0.001S", interval="PT1H", namespace="t.sales", mode="transitions", id="stale")
    script = ScriptTrigger("print(1)", "exit 0", interval="PT5M", id="script")
    events = EventTrigger(namespace="t.sales", id="sales", events=["CREATED"], stop_after=["failed"])
    put(db, "t_events", events.as_schedule())
    put(db, "t_polls", any_of(stale, script))
    put(db, "t_plain", [Asset("t.plain")])
    with closing(Dispatcher(db.engine)) as dispatcher:
        dispatcher.step()
        before = {one.trigger_id: one for one in listed(db)}
        assert [one.last_firing for one in before.values()] == [None] * 3
        assert before["stale"].poll is None
        db.upsert("t.orders", namespace="t.sales")
        _report(db, stale.poll())
        number = db.service.next_check(CALLER, PollRef(poll=script.poll())).number
        db.service.report_check(
            CALLER, CheckReport(poll=script.poll(), number=number, error="The interpreter is missing.")
        )
        while dispatcher.step():
            pass
    with counted_statements(db.engine) as statements:
        page = db.service.list_triggers(CALLER, TriggerQuery())
    assert len(statements) <= 5
    assert page.next_cursor is None
    assert page.items == listed(db)
    assert [(one.dag_id, one.kind.value, one.trigger_id) for one in page.items] == [
        ("t_events", "event", "sales"), ("t_polls", "freshness", "stale"), ("t_polls", "script", "script"),
    ]  # fmt: skip
    by_event, by_age, by_script = page.items
    assert by_event.filter is not None
    assert (by_event.filter.namespace, by_event.stop_after, by_event.poll) == ("t.sales", ["failed"], None)
    assert by_event.title == "events of assets in t.sales (CREATED)"
    assert (by_event.last_run_id or "").startswith("asset_event__")
    assert (by_event.dag_paused, by_event.held, by_event.unread) == (False, False, 0)
    assert by_age.poll is not None
    assert by_age.poll.check is not None
    assert by_age.poll.check.namespace == "t.sales"
    assert by_age.poll.next_check - by_age.poll.last_check == timedelta(hours=1)
    assert (by_age.poll.mode, by_age.poll.checks) == ("transitions", 1)
    assert (by_age.poll.edge_state and by_age.poll.edge_state.stale) == 1
    assert by_age.last_firing is not None
    assert (by_age.last_run_id or "").startswith("freshness__")
    assert by_script.poll is not None
    assert (by_script.poll.edge, by_script.poll.last_error) == (True, "The interpreter is missing.")
    assert (by_script.last_firing, by_script.last_run_id) == (None, None)

    assert [one.trigger_id for one in listed(db, kind=TriggerKind.SCRIPT)] == ["script"]
    assert [one.trigger_id for one in listed(db, dag_id="t_events")] == ["sales"]
    # Who may not see a namespace is told of no trigger that names it, nor of one that does not say what it names.
    assert listed(db, caller("t")) == []
    assert [one.trigger_id for one in listed(db, caller("other"))] == ["sales", "stale"]


def _report(db: AirflowDatabase, poll: Any) -> None:
    number = db.service.next_check(CALLER, PollRef(poll=poll)).number
    assert db.service.report_check(CALLER, CheckReport(poll=poll, number=number)).firing_id


def arrows(found: Graph) -> set[tuple[str, str, str, bool]]:
    ids = {node.uid: node.id for node in found.nodes}
    return {(ids[one.source], one.relation.value, ids[one.target], one.declared) for one in found.edges}


def test_what_dags_declare_is_in_the_graph(db: AirflowDatabase) -> None:
    job = DeclaredEdges(db.engine)
    for name in ("größe", "d.native", "d.out"):
        db.upsert(name, namespace=None)
    put(db, "d_make", inlets=[Table("größe"), Asset("d.native")], outlets=[Table("d.out"), Table("d.late")])
    put(db, "d_native", [Asset("d.out", uri="s3://bucket/d.out")])
    put(db, "d_follow", EventTrigger(asset_id="d.out").as_schedule())
    put(db, "d_template", outlets=[Table("d.{{ ds }}")])

    def graph(depth: int = 1) -> Graph:
        job.step()
        return db.service.dependencies(CALLER, DependencyQuery(asset_id="d.out", depth=depth))

    wanted = {
        ("größe", "UPSTREAM_OF", "d.out", True), ("d.native", "UPSTREAM_OF", "d.out", True),
        ("größe", "CONSUMED_BY", "d_make.only", True), ("d.native", "CONSUMED_BY", "d_make.only", True),
        ("d_make.only", "PRODUCES", "d.out", True), ("d.out", "TRIGGERS", "d_native", True),
        ("d.out", "TRIGGERS", "d_follow", True),
    }  # fmt: skip
    assert arrows(graph()) == wanted
    with counted_statements(db.engine) as statements:
        assert job.step() is False
    assert len(statements) == 5
    db.upsert("d.late", namespace=None)
    put(db, "d_follow")
    db.set_dag("d_native", is_stale=True)
    assert arrows(graph()) == {one for one in wanted if one[1] != "TRIGGERS"}
    found = db.service.dependencies(CALLER, DependencyQuery(asset_id="d.late"))
    assert ("größe", "UPSTREAM_OF", "d.late", True) in arrows(found)


def test_the_gauges_go_through_airflows_metrics(db: AirflowDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the sending is replaced: where it goes is Airflow's business."""
    from airflow.observability.stats import Stats

    sent: dict[str, float] = {}
    monkeypatch.setattr(Stats, "gauge", lambda name, value: sent.update({name: value}))
    db.upsert("g.stale", namespace="t.gauges", freshness="PT0.001S")
    db.service.acquire_leases(CALLER, AcquireLeases(asset_ids=["g.stale"]))
    put(db, "g.dag", EventTrigger(namespace="t.gauges").as_schedule())
    with closing(Dispatcher(db.engine)) as dispatcher:
        dispatcher.step()
    assert Gauges(db.engine).step() is False
    assert sent["airflow_assets.assets.table"] == sent["airflow_assets.assets_total"] >= 1
    assert sent["airflow_assets.stale_assets"] == sent["airflow_assets.locks_held"] == 1
    assert sent["airflow_assets.events_last_minute"] >= 1
    assert "airflow_assets.dispatcher_unread_entries.g_dag" in sent
    assert "airflow_assets.dispatcher_lag_seconds" in sent

"""What tasks read and wrote: usages, lineage events, and the graph they make."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import insert, update

from airflow_assets.catalog import dependencies as dependencies_module
from airflow_assets.catalog import tables
from airflow_assets.exceptions import AssetNotFound, InvalidCursor, InvalidQuery
from airflow_assets.schemas.assets import AssetInput, AssetRef, Rename
from airflow_assets.schemas.lineage import Bundle, Direction, Role, TaskRun, TaskRunRecord, TaskState
from airflow_assets.schemas.queries import DependencyQuery, LineageQuery, UsageQuery
from tests.support.ageless import ageless_graph
from tests.support.catalog_rows import CALLER, NOON, TABLE, add_assets, caller, counted_statements

if TYPE_CHECKING:
    from collections.abc import Iterable

    from airflow_assets.catalog.service import CatalogService
    from airflow_assets.schemas.lineage import Graph


def record(
    service: CatalogService, task: str, inputs: Iterable[str] = (), outputs: Iterable[str] = (), *,
    dag: str = "d", run: str = "r", state: TaskState = TaskState.SUCCESS, more: Iterable[Bundle] = (),
) -> None:  # fmt: skip
    bundle = Bundle(
        inputs=[AssetRef(id=one) for one in inputs],
        outputs=[AssetInput(id=one, type=TABLE, namespace=_namespace(one)) for one in outputs],
    )
    run_of_task = TaskRun(dag_id=dag, run_id=run, task_id=task, try_number=1)
    service.record_task_run(CALLER, TaskRunRecord(task=run_of_task, state=state, bundles=[bundle, *more]))


def _namespace(asset_id: str) -> str | None:
    return "secret" if asset_id.startswith("s-") else None


def usages(service: CatalogService, by: Any = CALLER, **query: Any) -> list[tuple[str, str, str]]:
    page = service.list_usages(by, UsageQuery(**query))
    return [(one.asset_id, one.role.value, one.task.task_id) for one in page.items]


@pytest.fixture
def chain(service: CatalogService) -> CatalogService:
    """raw -> load -> stage -> build -> report and s-secret; a report task only reads."""
    record(service, "load", ["raw"], ["stage"])
    record(service, "build", ["stage"], ["report", "s-secret"])
    record(service, "send", ["report", "s-secret"], [], dag="mail", run="r2")
    record(service, "build", ["stage"], ["report"], run="r3", state=TaskState.FAILED)
    return service


def test_usages_are_listed_newest_first_by_any_filter(chain: CatalogService) -> None:
    everything = usages(chain)
    assert [one[2] for one in everything] == ["build"] * 2 + ["send"] * 2 + ["build"] * 3 + ["load"] * 2
    assert usages(chain, asset_id="raw") == [("raw", "input", "load")]
    assert usages(chain, asset_id="stage") == [("stage", "input", "build")] * 2 + [
        ("stage", "output", "load")
    ]
    assert usages(chain, asset_id="stage", role=Role.OUTPUT) == [("stage", "output", "load")]
    assert usages(chain, dag_id="mail", role=Role.INPUT, task_id="send") == [
        one for one in everything if one[2] == "send"
    ]
    assert usages(chain, run_id="r3") == everything[:2]
    assert usages(chain, asset_id="nothing") == []
    assert usages(chain, dag_id="D") == []
    states = {one.state for one in chain.list_usages(CALLER, UsageQuery(run_id="r3")).items}
    assert states == {TaskState.FAILED}


def test_lineage_is_listed_newest_first_by_any_filter(chain: CatalogService) -> None:
    events = chain.list_lineage(CALLER, LineageQuery()).items
    assert [one.task.task_id for one in events] == ["build", "send", "build", "load"]
    assert [ref.id for ref in events[2].inputs] == ["stage"]
    assert [(ref.id, ref.type, ref.namespace) for ref in events[2].outputs] == [
        ("report", TABLE, None), ("s-secret", TABLE, "secret"),
    ]  # fmt: skip
    assert events[0].state is TaskState.FAILED
    assert [one.seq for one in events] == sorted((one.seq for one in events), reverse=True)
    for query, expected in (
        ({"asset_id": "report"}, [events[0], events[1], events[2]]),
        ({"asset_id": "raw"}, [events[3]]),
        ({"asset_id": "nothing"}, []),
        ({"dag_id": "d", "run_id": "r3"}, [events[0]]),
        ({"task_id": "load"}, [events[3]]),
    ):
        assert chain.list_lineage(CALLER, LineageQuery.model_validate(query)).items == expected, query


def test_a_bundle_that_reads_and_writes_an_asset_is_one_event(service: CatalogService) -> None:
    record(service, "merge", ["a"], ["a", "b"], more=[Bundle(inputs=[AssetRef(id="a")])])
    assert len(service.list_lineage(CALLER, LineageQuery(asset_id="a")).items) == 2
    assert usages(service, asset_id="a") == [
        ("a", "input", "merge"), ("a", "output", "merge"), ("a", "input", "merge"),
    ]  # fmt: skip


def test_pages_of_usages_and_lineage_join_seamlessly(service: CatalogService) -> None:
    for n in range(7):
        record(service, f"t{n}", ["a", "b"], ["a", "c"], run=f"r{n}")
    for asset_id in (None, "a"):
        calls: Any = ((service.list_usages, UsageQuery), (service.list_lineage, LineageQuery))
        for call, model in calls:
            whole = call(CALLER, model(asset_id=asset_id, limit=1_000)).items
            for limit in (1, 3, 5):
                walked: list[Any] = []
                cursor = None
                while True:
                    page = call(CALLER, model(asset_id=asset_id, limit=limit, cursor=cursor))
                    walked += page.items
                    cursor = page.next_cursor
                    if cursor is None:
                        break
                assert walked == whole
    cursor = service.list_usages(CALLER, UsageQuery(limit=1)).next_cursor
    with pytest.raises(InvalidCursor):
        service.list_lineage(CALLER, LineageQuery(cursor=cursor))
    with counted_statements(service.engine) as statements:
        service.list_lineage(caller("x"), LineageQuery(asset_id="a"))
        service.list_usages(caller("x"), UsageQuery(asset_id="a"))
    assert len(statements) <= 8


def test_closed_namespaces_leave_listings(chain: CatalogService) -> None:
    by = caller("secret")
    assert all(not one[0].startswith("s-") for one in usages(chain, by))
    assert usages(chain, by, asset_id="s-secret") == []
    events = chain.list_lineage(by, LineageQuery()).items
    assert [[ref.id for ref in (*one.inputs, *one.outputs)] for one in events] == [
        ["stage", "report"], ["report"], ["stage", "report"], ["raw", "stage"],
    ]  # fmt: skip
    assert chain.list_lineage(by, LineageQuery(asset_id="s-secret")).items == []


def test_an_asset_that_is_closed_today_is_left_out_under_its_old_name_too(service: CatalogService) -> None:
    record(service, "load", ["plain"], ["out"])
    service.rename_asset(CALLER, Rename(old_id="plain", new_id="renamed"))
    service.upsert_asset(CALLER, AssetInput(id="renamed", namespace="secret"))
    (event,) = service.list_lineage(caller("secret"), LineageQuery()).items
    assert event.inputs == []
    assert [ref.id for ref in event.outputs] == ["out"]


def test_renamed_and_deleted_assets_keep_their_past(service: CatalogService) -> None:
    record(service, "load", ["in"], ["old"])
    service.rename_asset(CALLER, Rename(old_id="old", new_id="new"))
    service.delete_asset(CALLER, "in")
    assert usages(service, asset_id="new") == [("new", "output", "load")]
    assert usages(service, asset_id="old") == usages(service, asset_id="new")
    assert usages(service, asset_id="in") == [("in", "input", "load")]
    (event,) = service.list_lineage(CALLER, LineageQuery(asset_id="new")).items
    assert [ref.id for ref in event.outputs] == ["old"]


def graph(service: CatalogService, asset_id: str, by: Any = CALLER, **query: Any) -> Graph:
    found = ageless_graph(service.dependencies(by, DependencyQuery(asset_id=asset_id, **query)))
    uids = [node.uid for node in found.nodes]
    assert len(uids) == len(set(uids))
    assert {edge.source for edge in found.edges} | {edge.target for edge in found.edges} <= set(uids)
    return found


def names(found: Graph) -> set[str]:
    return {node.id for node in found.nodes}


def arrows(found: Graph) -> set[tuple[str, str, str]]:
    by_uid = {node.uid: node.id for node in found.nodes}
    return {(by_uid[edge.source], edge.relation.value, by_uid[edge.target]) for edge in found.edges}


def test_one_hop_shows_assets_and_the_tasks_between(chain: CatalogService) -> None:
    found = graph(chain, "stage")
    assert [node.id for node in found.nodes] == ["stage", "raw", "report", "s-secret", "d.build", "d.load"]
    assert arrows(found) == {
        ("raw", "UPSTREAM_OF", "stage"), ("raw", "CONSUMED_BY", "d.load"), ("d.load", "PRODUCES", "stage"),
        ("stage", "UPSTREAM_OF", "report"), ("stage", "UPSTREAM_OF", "s-secret"), ("stage", "CONSUMED_BY", "d.build"),
        ("d.build", "PRODUCES", "report"), ("d.build", "PRODUCES", "s-secret"),
    }  # fmt: skip
    assert (found.hidden, found.truncated) == (0, 0)
    assert names(graph(chain, "stage", tasks=False)) == {"stage", "raw", "report", "s-secret"}
    assert arrows(graph(chain, "stage", tasks=False, direction=Direction.UPSTREAM)) == {
        ("raw", "UPSTREAM_OF", "stage")
    }


def test_depth_and_direction(chain: CatalogService) -> None:
    assert names(graph(chain, "raw", direction=Direction.DOWNSTREAM, tasks=False)) == {"raw", "stage"}
    assert names(graph(chain, "raw", depth=2, tasks=False)) == {"raw", "stage", "report", "s-secret"}
    assert names(graph(chain, "raw", direction=Direction.UPSTREAM, depth=20)) == {"raw"}
    # The sibling of what was asked for is neither ancestor nor descendant.
    assert names(graph(chain, "report", depth=20, tasks=False)) == {"report", "stage", "raw"}
    # Who only reads is shown beside what it reads, and only where the search went on.
    assert "mail.send" in names(graph(chain, "report"))
    assert "mail.send" not in names(graph(chain, "stage"))


def test_a_failed_run_adds_nothing_to_the_graph(service: CatalogService) -> None:
    record(service, "load", ["a"], ["b"], state=TaskState.FAILED)
    assert names(graph(service, "a")) == {"a"}


def test_cycles_end(service: CatalogService) -> None:
    record(service, "t", ["a"], ["b"])
    record(service, "t", ["b"], ["c"], run="r2")
    record(service, "t", ["c"], ["a"], run="r3")
    record(service, "self", ["a"], ["a"], run="r4")
    found = graph(service, "a", depth=20)
    assert names(found) == {"a", "b", "c", "d.t", "d.self"}
    assert ("a", "UPSTREAM_OF", "a") in arrows(found)
    assert (found.truncated, found.hidden) == (0, 0)


def test_deleted_assets_leave_the_graph_and_their_tasks_stay(chain: CatalogService) -> None:
    chain.delete_asset(CALLER, "report")
    found = graph(chain, "stage", depth=3)
    assert names(found) == {"stage", "raw", "s-secret", "d.load", "d.build", "mail.send"}
    with pytest.raises(AssetNotFound):
        graph(chain, "report")
    chain.delete_asset(CALLER, "s-secret")
    assert ("stage", "CONSUMED_BY", "d.build") in arrows(graph(chain, "stage"))


def test_hidden_neighbours_are_counted_and_not_crossed(chain: CatalogService) -> None:
    record(chain, "leak", ["s-secret"], ["beyond"])
    found = graph(chain, "stage", caller("secret"), depth=20)
    assert {"s-secret", "beyond"}.isdisjoint(names(found))
    assert (found.hidden, found.truncated) == (1, 0)
    assert "s-secret" not in found.model_dump_json()
    with pytest.raises(AssetNotFound):
        graph(chain, "s-secret", caller("secret"))


def test_former_names_lead_to_the_graph(chain: CatalogService) -> None:
    chain.rename_asset(CALLER, Rename(old_id="stage", new_id="staged"))
    assert graph(chain, "stage") == graph(chain, "staged")


def test_the_node_limit_counts_what_it_leaves_out(service: CatalogService) -> None:
    record(service, "fan", ["hub"], [f"out{n:03}" for n in range(30)])
    for n in range(5):
        record(service, f"reader{n}", ["hub"], [], run=f"r{n}")
    found = graph(service, "hub", max_nodes=10)
    assert [node.id for node in found.nodes] == ["hub", *(f"out{n:03}" for n in range(9))]
    assert found.truncated == 21 + 6
    found = graph(service, "hub", max_nodes=33)
    assert len(found.nodes) == 33
    assert found.truncated == 4
    assert graph(service, "hub", max_nodes=37).truncated == 0


def test_neither_direction_starves_the_other(service: CatalogService) -> None:
    for n in range(8):
        record(service, f"up{n}", [f"anc{n + 1}"], [f"anc{n}"], run=f"u{n}")
    record(service, "down", ["anc0"], ["desc"])
    shown = [node.id for node in graph(service, "anc0", depth=8, max_nodes=4, tasks=False).nodes]
    assert shown == ["anc0", "anc1", "desc", "anc2"]


def test_too_many_edges_are_an_error_with_a_way_out(
    service: CatalogService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dependencies_module, "MAX_EDGES", 3)
    record(service, "t", ["a"], ["b", "c", "d", "e"])
    with pytest.raises(InvalidQuery, match="smaller depth or max_nodes"):
        graph(service, "a")


def test_as_of_shows_what_had_been_seen_by_then(chain: CatalogService) -> None:
    edge = tables.edge
    with chain.engine.begin() as conn:
        conn.execute(update(edge).values(first_seen=NOON, last_seen=NOON + timedelta(days=9)))
        conn.execute(
            update(edge).where(edge.c.task_id == "build").values(first_seen=NOON + timedelta(days=2))
        )
    found = graph(chain, "stage", as_of=NOON + timedelta(days=1))
    assert names(found) == {"stage", "raw", "d.load"}
    assert {(one.first_seen, one.last_seen) for one in found.edges} == {(NOON, NOON + timedelta(days=1))}
    assert names(graph(chain, "stage", as_of=NOON - timedelta(days=1))) == {"stage"}
    assert "report" in names(graph(chain, "stage", as_of=NOON + timedelta(days=2)))


def test_statements_grow_with_hops_not_with_edges(service: CatalogService) -> None:
    for n in range(6):
        record(service, f"t{n}", [f"{n}a", f"{n}b"], [f"{n + 1}a", f"{n + 1}b", f"{n + 1}c"], run=str(n))
    with counted_statements(service.engine) as statements:
        graph(service, "3a", caller("x"), depth=3)
    assert len(statements) <= 1 + 2 * 3 + 4


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    pairs=st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=20),
    depth=st.integers(1, 5),
    direction=st.sampled_from(Direction),
)
def test_reach_is_that_of_a_plain_search(
    service: CatalogService, pairs: set[tuple[int, int]], depth: int, direction: Direction
) -> None:
    with service.engine.begin() as conn:
        for table in (tables.edge, tables.asset):
            conn.execute(table.delete())
        pks = add_assets(conn, [{"id": str(n)} for n in range(8)])
        rows = [
            {"edge_key": bytes([s, t] * 8), "source_pk": pks[str(s)], "target_pk": pks[str(t)], "dag_id": "d",
             "task_id": f"t{s}", "first_seen": NOON, "last_seen": NOON}
            for s, t in pairs
        ]  # fmt: skip
        if rows:
            conn.execute(insert(tables.edge), rows)
    reached = {0}
    for way in (Direction.UPSTREAM, Direction.DOWNSTREAM):
        if direction in {way, Direction.BOTH}:
            step = pairs if way is Direction.DOWNSTREAM else {(t, s) for s, t in pairs}
            near = {0}
            for _ in range(depth):
                near |= {t for s, t in step if s in near}
            reached |= near
    found = graph(service, "0", depth=depth, direction=direction, tasks=False)
    assert names(found) == {str(n) for n in reached}
    between = {(str(s), "UPSTREAM_OF", str(t)) for s, t in pairs if {s, t} <= reached}
    assert arrows(found) == between

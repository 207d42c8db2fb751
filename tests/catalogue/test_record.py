"""What a task run leaves: once for each try, on every database."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import func, select

from airflow_assets.catalog import tables
from airflow_assets.catalog.log import read_after
from airflow_assets.exceptions import InvalidAsset, InvalidRequest
from airflow_assets.schemas.actors import Caller, Source, SourceKind
from airflow_assets.schemas.assets import AssetInput, AssetRef, Rename
from airflow_assets.schemas.lineage import (
    Bundle,
    RecordResult,
    StateCorrection,
    TaskRun,
    TaskRunRecord,
    TaskState,
)
from airflow_assets.schemas.rules import EXTERNAL_TYPE
from tests.support.ageless import ageless

if TYPE_CHECKING:
    from airflow_assets.catalog.service import CatalogService
    from airflow_assets.schemas.events import Event

TASK = TaskRun(
    dag_id="d", run_id="r", task_id="t", try_number=1, ti_id="01890000-0000-7000-8000-000000000000"
)
TABLE = "airflow_assets.types.Table"


def caller(run_id: str = "r", **members: Any) -> Caller:
    source = Source(kind=SourceKind.TASK, dag_id="d", run_id=run_id, task_id="t", try_number=1)
    return Caller(source=source, **members)


def bundle(inputs: str = "", outputs: str = "") -> Bundle:
    return Bundle(
        inputs=[AssetRef(id=name) for name in inputs.split()],
        outputs=[AssetInput(id=name, type=TABLE) for name in outputs.split()],
    )


def record(
    service: CatalogService,
    *bundles: Bundle,
    task: TaskRun = TASK,
    state: TaskState = TaskState.SUCCESS,
    by: Caller | None = None,
    **members: Any,
) -> RecordResult:
    sent = TaskRunRecord(task=task, state=state, bundles=list(bundles), **members)
    return service.record_task_run(by or caller(), sent)


def next_try(n: int) -> TaskRun:
    return TASK.model_copy(update={"try_number": n})


def events(service: CatalogService) -> list[Event]:
    with service.engine.connect() as conn:
        return read_after(conn, "main", 0, 10_000)


def kinds(service: CatalogService) -> list[str]:
    return [f"{event.event.value} {event.asset.id}" for event in events(service)]


def edges(service: CatalogService) -> set[tuple[str | None, str | None]]:
    with service.engine.connect() as conn:
        ids = {0: None, **{row.pk: row.id for row in conn.execute(select(tables.asset))}}
        return {(ids[row.source_pk], ids[row.target_pk]) for row in conn.execute(select(tables.edge))}


def usages(service: CatalogService) -> set[tuple[str, str]]:
    with service.engine.connect() as conn:
        joined = select(tables.asset.c.id, tables.usage.c.role).join(
            tables.usage, tables.usage.c.asset_pk == tables.asset.c.pk
        )
        return {(row.id, row.role) for row in conn.execute(joined)}


def lineage(service: CatalogService) -> list[Any]:
    with service.engine.connect() as conn:
        return list(conn.execute(select(tables.lineage).order_by(tables.lineage.c.seq)))


def everything(service: CatalogService) -> dict[str, Any]:
    with service.engine.connect() as conn:
        return {t.name: sorted(map(repr, conn.execute(select(t)))) for t in tables.metadata.sorted_tables}


def test_success_stores_assets_lineage_and_events(service: CatalogService) -> None:
    service.create_asset(caller(), AssetInput(id="known", type="T"))
    result = record(service, bundle("known new", "out"), warnings=["w"])
    assert result == RecordResult(duplicate=False, stored=["out"], problems=[])
    assert kinds(service) == ["CREATED known", "USED known", "CREATED out", "CREATED new", "USED new"]
    assert service.get_asset(caller(), "new").type == EXTERNAL_TYPE
    assert service.get_asset(caller(), "out").type == TABLE
    assert edges(service) == {("known", "out"), ("new", "out")}
    assert usages(service) == {("known", "i"), ("new", "i"), ("out", "o")}
    [row] = lineage(service)
    assert (row.dag_id, row.run_id, row.task_id, row.map_index, row.try_number) == ("d", "r", "t", -1, 1)
    assert (row.state, row.warnings, row.ti_id) == ("success", '["w"]', TASK.ti_id)
    assert row.outputs == '[{"id":"out","type":"airflow_assets.types.Table","namespace":null}]'


def test_a_repeat_changes_nothing(service: CatalogService) -> None:
    sent = (bundle("in", "out"), Bundle(outputs=[AssetInput(id="untyped")]))
    first = record(service, *sent)
    before = everything(service)
    for only_if_missing in (False, True):
        again = record(service, *sent, only_if_missing=only_if_missing)
        assert again.duplicate
        assert [problem.asset_id for problem in again.problems] == ["untyped"]
        assert again.problems[0].problem["type"] == first.problems[0].problem["type"]
    assert record(service, bundle("x", "y"), state=TaskState.FAILED).duplicate
    assert everything(service) == before


def test_each_try_and_map_index_is_its_own_record(service: CatalogService) -> None:
    for change in (
        {},
        {"try_number": 2},
        {"map_index": 0},
        {"task_id": "u"},
        {"run_id": "q"},
        {"dag_id": "e"},
    ):
        task = TASK.model_copy(update=change)
        assert not record(service, bundle(outputs="out"), task=task).duplicate
    assert len(lineage(service)) == 6
    assert kinds(service) == ["CREATED out"] + ["UPDATED out"] * 5


def test_edges_stay_inside_a_bundle(service: CatalogService) -> None:
    record(service, bundle("a b", "c"), bundle("d", "e"), bundle("f"), bundle("", "g"))
    assert edges(service) == {("a", "c"), ("b", "c"), ("d", "e"), ("f", None), (None, "g")}
    assert [row.bundle for row in lineage(service)] == [0, 1, 2, 3]


def test_an_input_is_used_once_a_try(service: CatalogService) -> None:
    record(service, bundle("a", "b"), bundle("a", "c"))
    record(service, bundle("a"), task=next_try(2))
    assert kinds(service).count("USED a") == 2


@pytest.mark.parametrize("state", [TaskState.FAILED, TaskState.SKIPPED, TaskState.UP_FOR_RETRY])
def test_no_success_touches_no_asset(service: CatalogService, state: TaskState) -> None:
    service.create_asset(caller(), AssetInput(id="known", type="T"))
    before = service.get_asset(caller(), "known")
    result = record(service, bundle("unknown known", "known never"), state=state)
    assert result == RecordResult(duplicate=False, stored=[], problems=[])
    assert ageless(service.get_asset(caller(), "known")) == ageless(before)
    assert kinds(service) == ["CREATED known", "CREATED unknown"]
    assert usages(service) == {("unknown", "i"), ("known", "i"), ("known", "o")}
    assert edges(service) == set()
    [row] = lineage(service)
    assert row.state == state.value
    assert '"id":"never"' in row.outputs


def test_one_bad_output_does_not_hold_back_the_others(service: CatalogService) -> None:
    sent = Bundle(
        inputs=[AssetRef(id="in")],
        outputs=[
            AssetInput(id="untyped"),
            AssetInput(id="good", type=TABLE),
            AssetInput(id="closed", type=TABLE, namespace="secret.x"),
        ],
    )
    result = record(service, sent, by=caller(hidden_namespaces=("secret",)))
    assert result.stored == ["good"]
    assert {p.asset_id: p.problem["status"] for p in result.problems} == {"untyped": 422, "closed": 403}
    assert edges(service) == {("in", "good")}
    [row] = lineage(service)
    assert "Not stored: untyped [invalid-asset] The asset 'untyped' is new and has no type." in row.warnings


def test_an_input_that_is_hidden_is_refused_without_its_details(service: CatalogService) -> None:
    service.create_asset(caller(), AssetInput(id="h", type="Secret", namespace="secret"))
    result = record(service, bundle("h", "out"), by=caller(hidden_namespaces=("secret",)))
    assert [p.asset_id for p in result.problems] == ["h"]
    assert (result.stored, edges(service)) == (["out"], {(None, "out")})
    assert "Secret" not in lineage(service)[0].inputs
    assert "USED h" not in kinds(service)


def test_malformed_input_is_refused_before_anything_is_written(service: CatalogService) -> None:
    with pytest.raises(InvalidAsset):
        record(service, bundle(outputs="good"), Bundle(outputs=[{"id": "", "type": "T"}]))
    many = " ".join(f"a{n}" for n in range(400))
    with pytest.raises(InvalidRequest, match="160,000 pairs"):
        record(service, bundle(outputs="good"), bundle(many, many))
    assert events(service) == []


def test_outputs_with_one_id_are_one_write(service: CatalogService) -> None:
    service.create_asset(caller(), AssetInput(id="old", type="T"))
    service.rename_asset(caller(), Rename(old_id="old", new_id="new"))
    record(
        service,
        Bundle(outputs=[AssetInput(id="old", metadata={"a": 1, "l": [1]})]),
        Bundle(outputs=[AssetInput(id="new", metadata={"b": 2, "l": [2]}), AssetInput(id="old", type="U")]),
    )
    assert service.get_asset(caller(), "new").metadata == {"a": 1, "b": 2, "l": [1, 2]}
    assert kinds(service)[2:] == ["UPDATED new"]
    assert events(service)[-1].changed == ["type", "metadata.a", "metadata.l", "metadata.b"]


def test_an_asset_read_and_made_by_one_try_is_no_placeholder(service: CatalogService) -> None:
    record(service, bundle("raw", "mid"), bundle("mid", "end"))
    assert service.get_asset(caller(), "mid").type == TABLE
    assert kinds(service) == ["CREATED mid", "CREATED end", "CREATED raw", "USED raw", "USED mid"]


def test_placeholder_takes_the_given_type_and_namespace(service: CatalogService) -> None:
    record(service, Bundle(inputs=[AssetRef(id="in", type="Bucket", namespace="n")]))
    made = service.get_asset(caller(), "in")
    assert (made.type, made.namespace) == ("Bucket", "n")


def test_reading_a_deleted_asset_does_not_revive_it(service: CatalogService) -> None:
    service.create_asset(caller(), AssetInput(id="in", type="T"))
    service.delete_asset(caller(), "in")
    record(service, bundle("in", "out"))
    assert kinds(service) == ["CREATED in", "DELETED in", "USED in", "CREATED out"]


def test_state_is_corrected_and_the_update_stands(service: CatalogService) -> None:
    record(service, bundle("in", "out"), bundle("in", "out2"))
    log = events(service)
    result = service.correct_state(caller(), StateCorrection(task=TASK, state=TaskState.FAILED))
    assert result.duplicate
    assert [row.state for row in lineage(service)] == ["failed", "failed"]
    assert events(service) == log
    missing = StateCorrection(task=next_try(9), state=TaskState.FAILED)
    assert not service.correct_state(caller(), missing).duplicate


def test_nothing_declared_leaves_nothing_but_warnings_do(service: CatalogService) -> None:
    record(service, Bundle())
    assert lineage(service) == []
    record(service, Bundle(), warnings=["an output could not be rendered"])
    assert [row.outputs for row in lineage(service)] == ["[]"]
    assert record(service, Bundle(), warnings=["x"]).duplicate


def test_depth_follows_the_event_that_started_the_run(service: CatalogService) -> None:
    record(service, bundle(outputs="a"))
    [first] = events(service)
    names = (f"asset_event__{first.id}", f"asset_event__{first.id}__replay_x", f"freshness__{first.id}")
    for n, run_id in enumerate(names, 2):
        record(service, bundle(outputs="a"), task=next_try(n), by=caller(run_id))
    second = events(service)[1]
    record(service, bundle(outputs="a"), task=next_try(7), by=caller(f"asset_event__{second.id}"))
    for n, run_id in enumerate((f"manual__{first.id}", "asset_event__" + "0" * 36, "scheduled"), 8):
        record(service, bundle(outputs="a"), task=next_try(n), by=caller(run_id))
    assert [event.depth for event in events(service)] == [0, 1, 1, 1, 2, 0, 0, 0]


def test_last_seen_of_an_edge_rests_for_an_hour(service: CatalogService) -> None:
    def seen() -> list[Any]:
        with service.engine.connect() as conn:
            return list(conn.execute(select(tables.edge.c.first_seen, tables.edge.c.last_seen)))

    record(service, bundle("a", "b"))
    [(first, last)] = seen()
    assert first == last
    record(service, bundle("a", "b"), task=next_try(2))
    assert seen() == [(first, first)]
    with service.engine.begin() as conn:
        old = first.replace(year=first.year - 1)
        conn.execute(tables.edge.update().values(first_seen=old, last_seen=old))
    record(service, bundle("a", "b"), task=next_try(3))
    [(first, last)] = seen()
    assert (first, last > old) == (old, True)


def test_thousand_outlets_are_one_quick_record(service: CatalogService) -> None:
    def thousand(n: int) -> Bundle:
        return Bundle(
            inputs=[AssetRef(id="in")],
            outputs=[
                AssetInput(id=f"o{i}", type=TABLE, metadata={"rows": i, "try": n, "owner": "x"})
                for i in range(1000)
            ],
        )

    took = []
    for n in (1, 2):
        started = time.monotonic()
        assert len(record(service, thousand(n), task=next_try(n)).stored) == 1000
        took.append(time.monotonic() - started)
    with service.engine.connect() as conn:
        assert conn.execute(select(func.count()).select_from(tables.metadata_value)).scalar_one() == 3000
        assert conn.execute(select(func.count()).select_from(tables.edge)).scalar_one() == 1000
    print(f"{service.engine.dialect.name}: 1,000 outlets, new {took[0]:.2f} s, again {took[1]:.2f} s")
    assert max(took) < 30, took

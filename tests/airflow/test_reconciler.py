"""Tries that could not record themselves are recorded from what their tasks declare; states are set right."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, Asset, AssetAlias
from sqlalchemy import select

from airflow_assets.airflow_bridge.reconciler import Reconciler
from airflow_assets.schemas.lineage import (
    Bundle,
    TaskRun,
    TaskRunRecord,
    TaskState,
)
from airflow_assets.schemas.queries import AssetQuery, EventQuery, LineageQuery
from airflow_assets.types import Table
from tests.support.ageless import ageless
from tests.support.airflow_database import CALLER, AirflowDatabase

if TYPE_CHECKING:
    from airflow_assets.schemas.lineage import LineageEvent


@pytest.fixture(scope="module")
def db(database: AirflowDatabase) -> AirflowDatabase:
    return database


@pytest.fixture
def reconciler(db: AirflowDatabase) -> Reconciler:
    return Reconciler(db.engine)


def declare(db: AirflowDatabase, dag_id: str, **arguments: Any) -> None:
    """A Dag of one task, and one run of it that has not begun."""
    arguments = arguments or {"outlets": [Table(f"out of {dag_id}")], "inlets": [Table(f"in of {dag_id}")]}
    with DAG(dag_id, schedule=None) as dag:
        EmptyOperator(task_id="only", **arguments)
    db.put_dag(dag)
    db.make_run(dag_id, "run")


def lineage(db: AirflowDatabase, dag_id: str) -> list[LineageEvent]:
    return db.service.list_lineage(CALLER, LineageQuery(dag_id=dag_id)).items


def kinds(db: AirflowDatabase, asset_id: str) -> list[str]:
    return [
        event.event.value for event in db.service.list_events(CALLER, EventQuery(asset_id=asset_id)).items
    ]


def recorded(db: AirflowDatabase, dag_id: str, ti_id: str, state: TaskState) -> None:
    """What the recorder in the task sends."""
    task = TaskRun(dag_id=dag_id, run_id="run", task_id="only", try_number=1, ti_id=ti_id)
    bundle = Bundle(outputs=[Table(f"out of {dag_id}").declared.output()])
    db.service.record_task_run(CALLER, TaskRunRecord(task=task, state=state, bundles=[bundle]))


def test_a_successful_try_without_record_gets_one(db: AirflowDatabase, reconciler: Reconciler) -> None:
    declare(db, "lost")
    ti_id = db.end_task("lost", "run", "only", "success")
    for _ in range(2):
        reconciler.step()
    Reconciler(db.engine).step()
    (line,) = lineage(db, "lost")
    assert (line.state.value, line.task.ti_id, line.task.try_number) == ("success", ti_id, 1)
    assert [ref.id for ref in line.inputs] == ["in of lost"]
    assert kinds(db, "out of lost") == ["CREATED"]
    assert db.service.get_asset(CALLER, "out of lost").type == "airflow_assets.types.Table"


def test_a_task_that_recorded_itself_is_left_alone(db: AirflowDatabase, reconciler: Reconciler) -> None:
    declare(db, "done")
    recorded(db, "done", db.end_task("done", "run", "only", "success"), TaskState.SUCCESS)
    reconciler.step()
    assert len(lineage(db, "done")) == 1
    assert kinds(db, "out of done") == ["CREATED"]


def test_a_failed_try_leaves_lineage_and_no_asset(db: AirflowDatabase, reconciler: Reconciler) -> None:
    declare(db, "dead")
    db.end_task("dead", "run", "only", "failed")
    reconciler.step()
    assert [line.state.value for line in lineage(db, "dead")] == ["failed"]
    assert kinds(db, "out of dead") == []


@pytest.mark.parametrize(
    ("final", "expected"), [("failed", "failed"), ("skipped", "skipped"), ("success", "success")]
)
def test_the_recorded_state_follows_the_final_one(
    db: AirflowDatabase, reconciler: Reconciler, final: str, expected: str
) -> None:
    dag_id = f"turned_{final}"
    declare(db, dag_id)
    ti_id = db.end_task(dag_id, "run", "only", final)
    recorded(db, dag_id, ti_id, TaskState.SUCCESS)
    reconciler.step()
    assert [line.state.value for line in lineage(db, dag_id)] == [expected]
    assert kinds(db, f"out of {dag_id}") == ["CREATED"]  # what was written stands


def test_a_state_set_by_hand_later_is_followed(db: AirflowDatabase, reconciler: Reconciler) -> None:
    declare(db, "by_hand")
    db.end_task("by_hand", "run", "only", "failed")
    reconciler.step()
    db.end_task("by_hand", "run", "only", "success", age=timedelta(seconds=30))
    reconciler.step()
    assert [line.state.value for line in lineage(db, "by_hand")] == ["success"]


@pytest.mark.parametrize(
    ("state", "columns"),
    [
        ("success", {"age": timedelta(seconds=1)}),  # its own record may still be on the way
        ("success", {"age": timedelta(hours=1)}),
        ("running", {}),
        ("upstream_failed", {}),
        ("skipped", {"try_number": 0}),  # a branch went another way: it never began
    ],
)
def test_tries_that_are_none_of_its_business(
    db: AirflowDatabase, reconciler: Reconciler, state: str, columns: dict[str, Any]
) -> None:
    dag_id = f"other_{state}_{len(columns)}_{columns.get('age', timedelta()).seconds}"
    declare(db, dag_id)
    db.end_task(dag_id, "run", "only", state, **columns)
    reconciler.step()
    assert lineage(db, dag_id) == []


def test_an_earlier_try_is_found_in_the_history(db: AirflowDatabase, reconciler: Reconciler) -> None:
    from airflow.models.taskinstance import TaskInstance
    from airflow.models.taskinstancehistory import TaskInstanceHistory

    declare(db, "retried")
    first_id = db.end_task("retried", "run", "only", "failed")

    def retry(session: Any) -> None:
        ti = session.scalars(select(TaskInstance).where(TaskInstance.dag_id == "retried")).one()
        TaskInstanceHistory.record_ti(ti, session=session)
        session.flush()
        ti.prepare_db_for_next_try(session) if hasattr(ti, "prepare_db_for_next_try") else None

    db.in_session(retry)
    db.end_task("retried", "run", "only", "success", try_number=2)
    reconciler.step()
    found = {line.task.try_number: line for line in lineage(db, "retried")}
    assert {number: line.state.value for number, line in found.items()} == {1: "failed", 2: "success"}
    assert found[1].task.ti_id == first_id


def test_what_only_the_task_can_know_is_left_out(db: AirflowDatabase, reconciler: Reconciler) -> None:
    declare(
        db,
        "templated",
        outlets=[
            Table("plain {{ ds }}"),
            Table("templated rows", metadata={"rows": "{{ result }}", "owner": "data"}),
            Asset("native", uri="s3://bucket/native"),
            AssetAlias("whatever"),
        ],
        inlets=[Asset.ref(name="native")],
    )
    db.end_task("templated", "run", "only", "success")
    reconciler.step()
    (line,) = lineage(db, "templated")
    assert [ref.id for ref in line.outputs] == ["templated rows", "native"]
    assert [ref.id for ref in line.inputs] == ["native"]
    assert db.service.get_asset(CALLER, "templated rows").metadata == {"owner": "data"}
    assert db.service.get_asset(CALLER, "native").uri == "s3://bucket/native"


def test_a_task_without_declarations_costs_nothing(db: AirflowDatabase, reconciler: Reconciler) -> None:
    declare(db, "plain", outlets=[], inlets=[])
    db.end_task("plain", "run", "only", "success")
    before = [ageless(asset) for asset in db.service.search_assets(CALLER, AssetQuery()).items]
    reconciler.step()
    assert lineage(db, "plain") == []
    assert [ageless(asset) for asset in db.service.search_assets(CALLER, AssetQuery()).items] == before

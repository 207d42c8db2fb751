"""Airflow's own asset events come into the catalogue once, however they were made and however late they commit."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG
from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from airflow_assets.airflow_bridge.follower import PAGE, WINDOW, Follower
from airflow_assets.catalog import tables
from airflow_assets.exceptions import AssetNotFound
from airflow_assets.schemas.assets import AssetInput
from airflow_assets.schemas.lineage import Bundle, TaskRun, TaskRunRecord, TaskState
from airflow_assets.schemas.queries import EventQuery, LineageQuery
from airflow_assets.triggers import EventTrigger
from airflow_assets.types import Table
from tests.support.airflow_database import CALLER, AirflowDatabase, insert_event

if TYPE_CHECKING:
    from airflow_assets.schemas.events import Event


@pytest.fixture(scope="module")
def db(database: AirflowDatabase) -> AirflowDatabase:
    Follower(database.engine).step()  # from now on
    return database


@pytest.fixture
def follower(db: AirflowDatabase) -> Follower:
    return Follower(db.engine)


def follow(follower: Follower) -> None:
    while follower.step():
        pass


def events(db: AirflowDatabase, asset_id: str) -> list[Event]:
    return db.service.list_events(CALLER, EventQuery(asset_id=asset_id)).items


def produce(db: AirflowDatabase, dag_id: str, outlets: list[Any]) -> None:
    with DAG(dag_id, schedule=None) as dag:
        EmptyOperator(task_id="write", outlets=outlets)
    db.put_dag(dag)
    db.make_run(dag_id, "run")


def test_an_event_without_a_task_becomes_an_event_of_the_catalogue(
    db: AirflowDatabase, follower: Follower
) -> None:
    db.add_event("by_rest", extra={"from_rest_api": True, "rows": 3}, uri="s3://bucket/by_rest")
    db.add_event("by_rest")
    follow(follower)
    follow(Follower(db.engine))
    first, second = events(db, "by_rest")
    assert (first.event.value, second.event.value) == ("CREATED", "UPDATED")
    assert first.asset.metadata == {"rows": 3}
    assert first.source.kind.value == "airflow"
    assert db.service.get_asset(CALLER, "by_rest").uri == "s3://bucket/by_rest"


def test_a_name_with_a_password_is_masked_and_is_one_asset(db: AirflowDatabase, follower: Follower) -> None:
    for _ in range(2):
        db.add_event("s3://user:pw@bucket/key", uri="s3://bucket/key")
    follow(follower)
    db.add_event("s3://user:pw@bucket/key")
    follow(follower)
    assert [event.event.value for event in events(db, "s3://user:***@bucket/key")] == [
        "CREATED",
        "UPDATED",
        "UPDATED",
    ]


def test_what_the_catalogue_knows_better_stays(db: AirflowDatabase, follower: Follower) -> None:
    db.service.upsert_asset(
        CALLER, AssetInput(id="known", type="airflow_assets.types.Table", metadata={"tier": 1})
    )
    db.add_event("known")
    follow(follower)
    asset = db.service.get_asset(CALLER, "known")
    assert (asset.type, asset.metadata) == ("airflow_assets.types.Table", {"tier": 1})


def test_events_of_our_own_markers_are_passed_over(db: AirflowDatabase, follower: Follower) -> None:
    marker = EventTrigger(namespace="any").as_schedule()
    db.add_event(marker.name, uri=marker.uri, group=marker.group)
    follow(follower)
    with pytest.raises(AssetNotFound):
        db.service.get_asset(CALLER, marker.name)


def test_a_task_that_recorded_itself_is_not_recorded_again(db: AirflowDatabase, follower: Follower) -> None:
    produce(db, "recorded", [Table("of_recorded")])
    ti_id = db.end_task("recorded", "run", "write", "success")
    task = TaskRun(dag_id="recorded", run_id="run", task_id="write", try_number=1, ti_id=ti_id)
    output = AssetInput(id="of_recorded", type="airflow_assets.types.Table")
    db.service.record_task_run(
        CALLER, TaskRunRecord(task=task, state=TaskState.SUCCESS, bundles=[Bundle(outputs=[output])])
    )
    db.add_event("of_recorded", source_dag_id="recorded", source_run_id="run", source_task_id="write")
    follow(follower)
    assert len(events(db, "of_recorded")) == 1


def test_a_task_in_another_language_gets_its_record(db: AirflowDatabase, follower: Follower) -> None:
    produce(db, "foreign", [Table("of_foreign", namespace="sales", metadata={"owner": "data"})])
    db.end_task("foreign", "run", "write", "success")
    db.add_event("of_foreign", source_dag_id="foreign", source_run_id="run", source_task_id="write")
    db.add_event("dynamic", source_dag_id="foreign", source_run_id="run", source_task_id="write")
    follow(follower)
    assert [event.event.value for event in events(db, "of_foreign")] == ["CREATED"]
    assert len(events(db, "dynamic")) == 1
    asset = db.service.get_asset(CALLER, "of_foreign")
    assert (asset.namespace, asset.metadata) == ("sales", {"owner": "data"})
    (line,) = db.service.list_lineage(CALLER, LineageQuery(dag_id="foreign")).items
    assert (line.state.value, line.task.try_number) == ("success", 1)


def test_an_event_that_breaks_a_rule_is_logged_and_holds_back_none(
    db: AirflowDatabase, follower: Follower, caplog: pytest.LogCaptureFixture
) -> None:
    db.add_event("huge", extra={"text": "x" * 300_000})
    db.add_event("behind_huge")
    follow(follower)
    follow(follower)
    assert len(events(db, "behind_huge")) == 1
    assert sum("not taken over" in record.message for record in caplog.records) == 1


def test_more_events_than_a_page(db: AirflowDatabase, follower: Follower) -> None:
    marker = EventTrigger(namespace="page").as_schedule()
    db.in_session(
        lambda session: [
            insert_event(session, marker.name, uri=marker.uri, group=marker.group) for _ in range(PAGE + 20)
        ]
    )
    db.add_event("behind_a_page")
    follow(follower)
    assert len(events(db, "behind_a_page")) == 1


def test_a_late_commit_is_found(db: AirflowDatabase, follower: Follower) -> None:
    if db.engine.dialect.name == "sqlite":
        pytest.skip("SQLite has one writer at a time: ids are committed in their order")
    with Session(db.engine) as late:
        early_id = insert_event(late, "late")
        assert db.add_event("punctual") > early_id
        follow(follower)
        assert len(events(db, "punctual")) == 1
        late.commit()
    follow(follower)
    follow(Follower(db.engine))
    assert len(events(db, "late")) == 1
    assert len(events(db, "punctual")) == 1


def test_two_followers_at_once_take_each_event_once(db: AirflowDatabase) -> None:
    for number in range(20):
        db.add_event(f"raced_{number}")
    problems: list[Exception] = []

    def work() -> None:
        try:
            follow(Follower(db.engine))
        except Exception as error:  # noqa: BLE001  (a lost race may end a pass; the job makes it again)
            problems.append(error)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    follow(Follower(db.engine))
    assert [len(events(db, f"raced_{number}")) for number in range(20)] == [1] * 20


def test_claims_are_forgotten_behind_the_window(db: AirflowDatabase, follower: Follower) -> None:
    newest = db.add_event("old")
    follow(follower)
    followed = tables.followed
    with db.engine.begin() as conn:
        conn.execute(
            update(followed).values(created=datetime.now(timezone.utc) - WINDOW - timedelta(minutes=1))
        )
    assert follower._move_floor() == newest
    with db.engine.connect() as conn:
        assert conn.execute(select(func.count()).select_from(followed)).scalar_one() == 0
    follow(Follower(db.engine))
    assert len(events(db, "old")) == 1

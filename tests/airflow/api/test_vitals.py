"""The gauges show what is true: readers of the log, what they have not seen, runs that wait, jobs; on every database."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG
from sqlalchemy import event, insert, update

from airflow_assets.airflow_bridge.dispatcher import Dispatcher
from airflow_assets.airflow_bridge.leases import Lease
from airflow_assets.airflow_bridge.vitals import jobs, vitals
from airflow_assets.catalog import tables
from airflow_assets.catalog.engine import write
from airflow_assets.triggers import EventTrigger
from tests.support.airflow_database import AirflowDatabase

if TYPE_CHECKING:
    from collections.abc import Iterator

EVENTS = 3


@pytest.fixture(scope="module")
def db(database_url: str) -> Iterator[AirflowDatabase]:
    """A Dag that follows every event and has had three."""
    found = AirflowDatabase(database_url)
    with DAG("follower_dag", schedule=EventTrigger(namespace="sales").as_schedule()) as dag:
        EmptyOperator(task_id="only")
    found.put_dag(dag)
    dispatcher = Dispatcher(found.engine)
    dispatcher.step()
    for n in range(EVENTS):
        found.upsert("orders", n=n)
    before = vitals(found.engine)
    assert before.unread == {"follower_dag": EVENTS}
    assert before.oldest_unread > 0
    assert before.pending == {}
    while dispatcher.step():
        pass
    dispatcher.close()
    yield found
    found.close()


def test_a_dispatched_log_has_no_lag_and_its_runs_are_pending(db: AirflowDatabase) -> None:
    now = vitals(db.engine)
    assert now.log_position == EVENTS
    assert now.unread == {"follower_dag": 0}
    assert now.oldest_unread == 0
    assert now.pending == {"follower_dag": EVENTS}


def test_only_queued_runs_that_events_made_are_pending(db: AirflowDatabase) -> None:
    db.make_run("follower_dag", "asset_eventXY_not_ours")
    assert db.set_runs("follower_dag", "queued", "success", 1) == 1
    try:
        assert vitals(db.engine).pending == {"follower_dag": EVENTS - 1}
    finally:
        db.set_runs("follower_dag", "success", "queued")


def test_a_dag_that_is_gone_holds_back_nothing(db: AirflowDatabase) -> None:
    consumer = tables.consumer
    with write(db.engine) as conn:
        conn.execute(
            insert(consumer).values(
                kind="dag",
                name="gone_dag",
                seq=0,
                state='{"gone_since": "2026-03-29T00:00:00Z"}',
                updated=datetime.now(timezone.utc),
            )
        )
    assert set(vitals(db.engine).unread) == {"follower_dag"}
    assert vitals(db.engine).oldest_unread == 0


def test_a_job_is_alive_while_its_lease_lasts(db: AirflowDatabase) -> None:
    assert jobs(db.engine) == ()
    Lease(db.engine, "dispatcher", "host:1").hold()
    [job] = jobs(db.engine)
    assert (job.name, job.owner, job.alive) == ("dispatcher", "host:1", True)
    with write(db.engine) as conn:
        conn.execute(update(tables.job).values(expires=job.expires - timedelta(minutes=1)))
    [job] = jobs(db.engine)
    assert job.alive is False


def test_the_gauges_cost_six_statements(db: AirflowDatabase) -> None:
    statements: list[str] = []

    def note(*arguments: object) -> None:
        if arguments[2] != "BEGIN":  # SQLite's only: elsewhere the driver begins by itself
            statements.append(str(arguments[2]))

    event.listen(db.engine, "before_cursor_execute", note)
    try:
        vitals(db.engine)
    finally:
        event.remove(db.engine, "before_cursor_execute", note)
    assert len(statements) == 6, statements

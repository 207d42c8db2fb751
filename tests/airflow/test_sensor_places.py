"""The places of sensors are kept as long as their tries may go on."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG
from sqlalchemy import insert, select

from airflow_assets.airflow_bridge import sensor_places
from airflow_assets.airflow_bridge.sensor_places import SensorPlaces
from airflow_assets.catalog import tables
from airflow_assets.catalog.engine import utc_now
from airflow_assets.schemas.waiting import EventWait
from tests.support.airflow_database import CALLER, AirflowDatabase

if TYPE_CHECKING:
    import pytest

WAITING = ("running", "deferred", "up_for_reschedule", "scheduled", "queued")
OVER = ("success", "failed", "skipped", "up_for_retry", "removed")


def test_only_places_of_tries_that_have_ended_are_forgotten(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sensor_places, "PAGE", 3)
    db = AirflowDatabase(database_url)
    with DAG("places", schedule=None) as dag:
        for state in (*WAITING, *OVER):
            EmptyOperator(task_id=state)
    db.put_dag(dag)
    db.make_run("places", "run")
    tries = {state: db.end_task("places", "run", state, state) for state in (*WAITING, *OVER)}
    tries["of another try"] = str(uuid.uuid4())
    for ti_id in tries.values():
        db.service.wait_events(CALLER, EventWait(keep_for=uuid.UUID(ti_id), resume=True))
    consumer = tables.consumer
    with db.engine.begin() as conn:
        conn.execute(insert(consumer).values(kind="dag", name=tries["success"], seq=1, updated=utc_now()))
    job = SensorPlaces(db.engine)
    while job.step():
        pass
    with db.engine.connect() as conn:
        left = {(row.kind, row.name) for row in conn.execute(select(consumer.c.kind, consumer.c.name))}
    expected = {("sensor", tries[state]) for state in WAITING} | {("dag", tries["success"])}
    assert left == expected
    assert job.step() is True, "it begins at the front again"
    db.close()

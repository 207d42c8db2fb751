"""Purging inside Airflow: by a Dag, by the command, in the background; and what Airflow's own readers keep."""

from __future__ import annotations

import json
import logging
import re
import shlex
import uuid
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG
from sqlalchemy import select, update

from airflow_assets.airflow_bridge import retention as retention_module
from airflow_assets.airflow_bridge.dispatcher import Dispatcher
from airflow_assets.airflow_bridge.registry import GONE
from airflow_assets.airflow_bridge.retention import Retention
from airflow_assets.catalog import tables
from airflow_assets.catalog.engine import make_engine, read, write
from airflow_assets.catalog.log_readers import read_readers
from airflow_assets.schemas.purge import Purge
from airflow_assets.triggers import EventTrigger
from tests.support.airflow_database import CALLER, AirflowDatabase
from tests.support.catalog_log import add_events, add_reader, count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.airflow_process import AirflowProcess

API = "/airflow_assets/api/v1"
EVENTS = Purge(
    end_date=datetime(2200, 1, 1, tzinfo=timezone.utc),
    purge_assets=False,
    purge_asset_usages=False,
    purge_asset_lineages=False,
    purge_asset_events=True,
)
DAG_FILE = """
from datetime import datetime, timezone

from airflow.sdk import DAG

from airflow_assets.operators import PurgeAssets, Set

with DAG("making", schedule=None):
    for name in ("one", "two"):
        Set(task_id=f"made_{name}", asset_id=f"purging.{name}", asset_type="T", namespace=f"purging.{name}")

with DAG("purging", schedule=None):
    what = {
        "end_date": "{{ dag_run.run_after + macros.timedelta(days=1) }}",
        "purge_asset_events": "{{ params.get('events', True) }}",
    }
    dry = PurgeAssets(task_id="dry", namespace="{{ dag.dag_id }}", dry_run=True, **what)
    one = PurgeAssets(task_id="one", namespace="purging.one", purge_asset_usages=False, **what)
    dry >> one
"""


@pytest.fixture
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AirflowDatabase]:
    found = AirflowDatabase(f"sqlite:///{tmp_path_factory.mktemp('purge')}/airflow.db")
    yield found
    found.close()


def left(db: AirflowDatabase) -> int:
    with db.engine.connect() as conn:
        return count(conn, tables.event)


def subscribed(db: AirflowDatabase, dag_id: str, *, paused: bool = False) -> None:
    with DAG(dag_id, schedule=EventTrigger(namespace="sales").as_schedule()) as dag:
        EmptyOperator(task_id="only")
    db.put_dag(dag, paused=paused)


def test_events_that_a_dag_has_yet_to_read_stay(db: AirflowDatabase) -> None:
    """Also of a Dag so new that the dispatcher has not met it; its runs are all made after the purge."""
    db.upsert("before")
    subscribed(db, "new")
    for n in range(3):
        db.upsert("orders", n=n)
    done = db.service.purge(CALLER, EVENTS)
    assert (done.kept_for_readers_count, [one.name for one in done.readers]) == (3, ["new"])
    dispatcher = Dispatcher(db.engine)
    while dispatcher.step():
        pass
    dispatcher.close()
    assert [one["asset"]["metadata"] for one in db.payloads("new") if one["asset"]["id"] == "orders"] == [
        {"n": n} for n in range(3)
    ]
    assert db.service.purge(CALLER, EVENTS).purged_asset_events_count == 3
    assert left(db) == 0


def test_a_sensor_holds_events_back_until_its_try_ends(db: AirflowDatabase) -> None:
    from airflow.models.taskinstance import TaskInstance

    subscribed(db, "sensing", paused=True)
    db.make_run("sensing", "r")
    db.upsert("orders")
    with db.engine.begin() as conn:
        ti_id = conn.execute(select(TaskInstance.id)).scalar_one()
        conn.execute(update(tables.consumer).values(seq=10_000))
        now = datetime.now(timezone.utc)
        add_reader(conn, "sensor", str(uuid.UUID(str(ti_id))), 0, now)
        add_reader(conn, "sensor", str(uuid.uuid4()), 0, now)  # of a try that is gone
        add_reader(conn, "dag", "sensing", 10_000, now)
    for state, purged in (("deferred", 0), ("up_for_reschedule", 0), ("success", 1)):
        with db.engine.begin() as conn:
            conn.execute(update(TaskInstance).values(state=state))
        assert db.service.purge(CALLER, EVENTS).purged_asset_events_count == purged, state


def test_retention_purges_old_events_and_reports_who_is_idle(
    db: AirflowDatabase, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = datetime.now(timezone.utc)
    with db.engine.begin() as conn:
        add_events(conn, 50, start=now - timedelta(days=91))
        add_events(conn, 5, start=now - timedelta(days=89))
        add_reader(conn, "dag", "forgotten", 10, now - timedelta(days=60))
    monkeypatch.setattr(retention_module, "_STEP", 20)
    monkeypatch.setenv("AIRFLOW__AIRFLOW_ASSETS__EVENT_RETENTION", "")
    assert Retention(db.engine).step() is False
    assert left(db) == 55
    monkeypatch.delenv("AIRFLOW__AIRFLOW_ASSETS__EVENT_RETENTION")
    job = Retention(db.engine)
    with caplog.at_level(logging.INFO):
        assert job.step() is True
        while job.step():
            pass
    assert left(db) == 5
    assert "Purged 50 events older than P90D." in caplog.text
    assert "The dag forgotten has not read the log beyond 10" in caplog.text
    monkeypatch.setenv("AIRFLOW__AIRFLOW_ASSETS__EVENT_RETENTION", "P88D")
    assert job.step() is False
    assert left(db) == 0
    monkeypatch.setenv("AIRFLOW__AIRFLOW_ASSETS__EVENT_RETENTION", "90 days")
    from airflow.exceptions import AirflowConfigException

    with pytest.raises(AirflowConfigException, match="ISO 8601"):
        job.step()


@pytest.mark.real_airflow
@pytest.mark.slow
def test_a_dag_and_the_command_purge(airflow: AirflowProcess) -> None:
    airflow.write_dag("purging.py", DAG_FILE)
    for dag_id in ("making", "purging"):
        airflow.unpause(dag_id)
    airflow.wait_for_run("making", airflow.trigger_dag("making")["dag_run_id"])
    _wait_for_readers(airflow)
    run_id = airflow.trigger_dag("purging")["dag_run_id"]
    airflow.wait_for_run("purging", run_id)

    def result(task_id: str) -> Any:
        return airflow.xcom("purging", run_id, task_id)

    assert result("dry") == {
        "purgedAssetsCount": 2, "purgedAssetUsagesCount": 0, "purgedAssetLineagesCount": 0,
        "purgedAssetEventsCount": 2,
    }  # fmt: skip
    assert result("one") == {
        "purgedAssetsCount": 1, "purgedAssetUsagesCount": None, "purgedAssetLineagesCount": 0,
        "purgedAssetEventsCount": 1,
    }  # fmt: skip
    assert airflow.request("GET", f"{API}/assets/purging.one").status_code == 404
    events = airflow.api("GET", f"{API}/events", params={"assetId": "purging.one"})["items"]
    assert [(one["event"], one["source"]["taskId"]) for one in events] == [("DELETED", "one")]

    here = (
        "assets-catalog",
        "purge",
        "--end_date",
        "2200-01-01T00:00:00Z",
        "--namespace",
        "purging",
        "-o",
        "json",
    )
    counted = json.loads(airflow.cli(*here, "--dry_run").stdout)
    assert (counted["purgedAssetsCount"], counted["purgedAssetEventsCount"]) == (1, None)
    _wait_for_readers(airflow)
    purged = json.loads(airflow.cli(*here, "--events", "--yes").stdout)
    assert (purged["purgedAssetsCount"], purged["purgedAssetEventsCount"]) == (1, 2)
    assert airflow.request("GET", f"{API}/assets/purging.two").status_code == 404

    page = (Path(__file__).parents[2] / "docs" / "purge.md").read_text()
    (line,) = re.findall(r"^\$ airflow (db clean .+)$", page, re.MULTILINE)
    cleaned = airflow.cli(*shlex.split(line), "--error-on-cleanup-failure")
    assert "asset_event" in cleaned.stdout + cleaned.stderr

    doctor = json.loads(airflow.cli("assets-catalog", "doctor", "-o", "json").stdout)
    assert any("retention" in json.dumps(check) for check in doctor), "the job runs"


def _wait_for_readers(airflow: AirflowProcess) -> None:
    """Until the Dags of other tests have read everything; those that are gone are forgotten an hour early."""
    engine = make_engine(airflow.database_url)
    consumer = tables.consumer
    with write(engine) as conn:
        conn.execute(consumer.delete().where(consumer.c.kind == "dag", consumer.c.state.contains(GONE)))

    def level() -> bool:
        with read(engine) as conn:
            readers = read_readers(conn)
            return readers.floor(lineage=False) == readers.end

    airflow.wait_until(level, 240, "every reader to be level")
    engine.dispose()

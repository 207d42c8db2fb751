"""The API server is away for 20 seconds while deferred sensors wait: nothing is lost and nothing seen twice."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

import pytest

from airflow_assets.catalog.engine import make_engine
from airflow_assets.catalog.service import CatalogService
from airflow_assets.schemas.actors import Caller, Source, SourceKind
from airflow_assets.schemas.assets import AssetInput

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.airflow_process import AirflowProcess

pytestmark = [pytest.mark.real_airflow, pytest.mark.slow]
AWAY = 20.0
SENSORS = ("first", "second", "third")
CALLER = Caller(source=Source(kind=SourceKind.CLI))

DAG = f"""
from airflow.sdk import dag
from airflow_assets.sensors import AssetEventSensor


@dag(schedule=None)
def outage():
    for name in {SENSORS!r}:
        found = AssetEventSensor(task_id=name, asset_id=f"outage.{{name}}", since="task", deferrable=True)
        found >> AssetEventSensor(
            task_id=f"{{name}}_next", asset_id=f"outage.{{name}}", deferrable=True,
            since=f"{{{{{{{{ ti.xcom_pull('{{name}}')['cursor'] }}}}}}}}",
        )


outage()
"""


@pytest.fixture
def catalog(airflow: AirflowProcess) -> Iterator[CatalogService]:
    """The catalogue on the database itself, for writes while there is no API server."""
    engine = make_engine(airflow.database_url)
    yield CatalogService(engine)
    engine.dispose()


def states(airflow: AirflowProcess, run_id: str) -> dict[str, str | None]:
    return {ti["task_id"]: ti["state"] for ti in airflow.task_instances("outage", run_id)}


def stop(airflow: AirflowProcess) -> None:
    """Told to stop, the server answers those who wait and is done long before their 25 seconds are over."""
    done = "Finished server process"
    before = airflow.logs("api-server").count(done)
    os.kill(airflow.pid("api-server"), signal.SIGTERM)
    airflow.wait_until(
        lambda: airflow.logs("api-server").count(done) > before, 20, "the API server to let everybody go"
    )


def test_an_outage_of_the_api_server(airflow: AirflowProcess, catalog: CatalogService) -> None:
    airflow.write_dag("outage.py", DAG)
    airflow.unpause("outage")
    run_id = airflow.trigger_dag("outage")["dag_run_id"]
    airflow.wait_until(
        lambda: [states(airflow, run_id)[name] for name in SENSORS] == ["deferred"] * 3,
        240,
        "sensors to wait",
    )
    if airflow.database_url.startswith("sqlite"):
        stop(airflow)
    airflow.kill("api-server")
    airflow.close()
    went = time.monotonic()
    for n in (1, 2):
        for name in SENSORS:
            catalog.upsert_asset(CALLER, AssetInput(id=f"outage.{name}", type="t", metadata={"n": n}))
    time.sleep(max(0.0, went + AWAY - time.monotonic()))  # the outage is what is tested
    airflow.restart("api-server")
    assert time.monotonic() - went >= AWAY
    airflow.wait_for_run("outage", run_id, "success")
    tasks = airflow.task_instances("outage", run_id)
    assert {ti["try_number"] for ti in tasks} == {1}
    seen = {ti["task_id"]: airflow.xcom("outage", run_id, ti["task_id"])["metadata"]["n"] for ti in tasks}
    assert seen == dict.fromkeys(SENSORS, 1) | {f"{name}_next": 2 for name in SENSORS}

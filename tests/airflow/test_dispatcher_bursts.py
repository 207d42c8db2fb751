"""A hundred events at once start exactly a hundred runs in a real Airflow on SQLite, whatever else goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.event_burst import API, Runs, add_consumer, burst

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.airflow_process import AirflowProcess

pytestmark = [pytest.mark.real_airflow, pytest.mark.slow]
HUNDRED = list(range(100))
# Tasks are tried again: Airflow itself fails one now and then when its SQLite is locked for longer than it waits.
READER = """
from airflow.sdk import DAG, task
from airflow_assets.triggers import EventTrigger

with DAG("burst_reader", schedule=EventTrigger(namespace="burst.plain").as_schedule(), max_active_runs=16):
    @task(retries=5, retry_delay=0)
    def read() -> int:
        from airflow_assets import trigger_asset
        return trigger_asset["metadata"]["n"]
    read()
"""
LOOP = """
from airflow.sdk import DAG
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow_assets.triggers import EventTrigger
from airflow_assets.types import Table

with DAG("burst_loop", schedule=EventTrigger(asset_id="burst_loop").as_schedule(), max_active_runs=16):
    EmptyOperator(
        task_id="again", outlets=[Table("burst_loop", namespace="burst.loop")], retries=5, retry_delay=0
    )
"""
PARTITIONED = """
from airflow.sdk import DAG, Asset, PartitionedAssetTimetable
from airflow.providers.standard.operators.empty import EmptyOperator

both = Asset("burst_left") & Asset("burst_right")
with DAG("burst_partitioned", schedule=PartitionedAssetTimetable(assets=both)):
    EmptyOperator(task_id="never")
"""


@pytest.fixture(scope="module")
def runs(airflow: AirflowProcess) -> Iterator[Runs]:
    found = Runs(airflow)
    yield found
    found.close()


@pytest.fixture(scope="module")
def loop(airflow: AirflowProcess) -> str:
    """A Dag that starts itself again and again; it runs beside the other tests."""
    airflow.write_dag("burst_loop.py", LOOP)
    airflow.unpause("burst_loop")
    airflow.trigger_dag("burst_loop")
    return "burst_loop"


def test_a_plain_burst(airflow: AirflowProcess, runs: Runs, loop: str) -> None:
    airflow.write_dag("burst_reader.py", READER)
    airflow.unpause("burst_reader")
    burst(airflow, "burst.plain", 100)
    airflow.wait_until(lambda: runs.count("burst_reader", "success") >= 100, 900, "100 runs to succeed")
    assert runs.count("burst_reader") == 100
    assert runs.numbers("burst_reader") == HUNDRED
    told = [airflow.xcom("burst_reader", run["dag_run_id"], "read") for run in airflow.runs("burst_reader")]
    assert sorted(told) == HUNDRED


def test_while_the_consumer_is_paused_and_unpaused(airflow: AirflowProcess, runs: Runs) -> None:
    add_consumer(airflow, "burst_paused", "namespace='burst.paused'", paused=True)
    burst(airflow, "burst.paused", 60)
    airflow.wait_until(lambda: runs.count("burst_paused") == 60, 400, "60 runs to be queued")
    assert runs.count("burst_paused", "queued") == 60
    airflow.pause("burst_paused", paused=False)
    burst(airflow, "burst.paused", 40, start=60)
    airflow.wait_until(lambda: runs.count("burst_paused", "success") >= 100, 600, "100 runs to succeed")
    assert runs.numbers("burst_paused") == HUNDRED


def test_while_600_native_partition_runs_are_pending(airflow: AirflowProcess, runs: Runs) -> None:
    airflow.write_dag("burst_partitioned.py", PARTITIONED)
    airflow.unpause("burst_partitioned")
    assets = airflow.api("GET", "/api/v2/assets", params={"name_pattern": "burst_left"})["assets"]
    for number in range(600):
        body = {"asset_id": assets[0]["id"], "partition_key": f"p{number:04}", "extra": {}}
        # Airflow's SQLite gives up after five seconds of other writers; a key that is there adds no row.
        airflow.wait_until(
            lambda body=body: not airflow.request("POST", "/api/v2/assets/events", json=body).is_error, 60
        )
    pending = "SELECT count(*) FROM asset_partition_dag_run WHERE created_dag_run_id IS NULL"
    assert runs._rows(pending)[0][0] == 600
    add_consumer(airflow, "burst_beside", "namespace='burst.beside'")
    burst(airflow, "burst.beside", 100)
    airflow.wait_until(lambda: runs.count("burst_beside", "success") >= 100, 600, "100 runs to succeed")
    assert runs.numbers("burst_beside") == HUNDRED
    assert runs._rows(pending)[0][0] == 600


def test_a_dag_that_starts_itself_stops_at_the_limit(airflow: AirflowProcess, runs: Runs, loop: str) -> None:
    def events() -> list[dict[str, object]]:
        return airflow.api("GET", f"{API}/events", params={"assetId": "burst_loop", "limit": 100})["items"]

    def stopped() -> bool:
        assert not runs.count(loop, "failed"), "Airflow failed a run of the loop, which therefore has no next"
        return any(event["suppressed"] for event in events())

    airflow.wait_until(stopped, 900, "the loop to be stopped")
    started = [event["depth"] for event in events() if not event["suppressed"]]
    assert sorted(set(started)) == list(range(21))
    assert {(event["depth"], event["suppressed"]) for event in events() if event["suppressed"]} == {
        (21, "loop")
    }
    assert runs.count(loop) == 1 + len(
        started
    )  # the first by hand; a try that Airflow fails has told of its own
    assert airflow.logs("api-server").count("looks like a loop") == 1

"""One asset name in several Dag files: a definition without a URI follows the one that has it; two URIs are told."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from airflow_assets.kept import Kept

if TYPE_CHECKING:
    from tests.support.airflow_process import AirflowProcess

pytestmark = [pytest.mark.real_airflow, pytest.mark.slow]

CONSUMER = """
from airflow.sdk import DAG, task
from airflow_assets.types import Table

shared = Table("uri.shared", namespace="uris")
with DAG("uri_consumer", schedule=[shared]):

    @task(inlets=[shared], outlets=[Table("uri.report")])
    def read(): ...

    read()
"""
PRODUCER = """
from airflow.sdk import DAG, task
from airflow_assets.types import Table

with DAG("uri_producer", schedule=None):

    @task(outlets=[Table("uri.shared", namespace="uris", uri="s3://bucket/shared")])
    def write(): ...

    write()
"""
WITHOUT = """
from airflow.sdk import DAG, task
from airflow_assets.types import Table

with DAG("uri_second_producer", schedule=None):

    @task(outlets=[Table("uri.shared", namespace="uris")])
    def write_too(*, outlet_events):
        outlet_events[Table("uri.shared", namespace="uris")].extra = {"rows": 2}

    write_too()
"""
OTHER = """
from airflow.sdk import DAG, task
from airflow_assets.types import Table

with DAG("uri_other", schedule=None):

    @task(outlets=[Table("uri.shared", uri="s3://elsewhere/shared")])
    def write(): ...

    write()
"""
PATIENCE = 200.0


def let_a_minute_pass(airflow: AirflowProcess, *names: str) -> None:
    """What other files say of the names of a Dag is asked for once a minute: make what is kept older than that."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("airflow.configuration.AIRFLOW_HOME", str(airflow.home))
        kept = Kept(["native_uris", sorted(names)])._path
    if kept.exists():
        os.utime(kept, (0, 0))


def uris(airflow: AirflowProcess) -> dict[str, list[str]]:
    """The URIs of the name in Airflow, with the tasks that write each."""
    found: list[dict[str, Any]] = airflow.api("GET", "/api/v2/assets", params={"name_pattern": "uri.shared"})[
        "assets"
    ]
    return {asset["uri"]: [task["dag_id"] for task in asset["producing_tasks"]] for asset in found}


def runs(airflow: AirflowProcess) -> int:
    return int(airflow.api("GET", "/api/v2/dags/uri_consumer/dagRuns")["total_entries"])


@pytest.fixture(scope="module")
def deployed(airflow: AirflowProcess) -> AirflowProcess:
    """The consumer is known first, under its name alone; then come those who write."""
    airflow.write_dag("uri_consumer.py", CONSUMER)
    airflow.unpause("uri_consumer")
    assert list(uris(airflow)) == ["uri.shared"]
    airflow.write_dag("uri_producer.py", PRODUCER)
    airflow.write_dag("uri_second_producer.py", WITHOUT)
    airflow.unpause("uri_producer")
    airflow.unpause("uri_second_producer")

    def agreed() -> bool:
        let_a_minute_pass(airflow, "uri.report", "uri.shared")
        let_a_minute_pass(airflow, "uri.shared")
        return uris(airflow) == {"s3://bucket/shared": ["uri_producer", "uri_second_producer"]}

    airflow.wait_until(agreed, PATIENCE, "all three files to use one URI")
    return airflow


@pytest.mark.parametrize("dag_id", ["uri_producer", "uri_second_producer"])
def test_both_producers_start_the_consumer(deployed: AirflowProcess, dag_id: str) -> None:
    before = runs(deployed)
    run = deployed.trigger_dag(dag_id)["dag_run_id"]
    deployed.wait_for_run(dag_id, run)
    deployed.wait_until(lambda: runs(deployed) == before + 1, 120, "the consumer to be started")


def test_the_catalogue_keeps_the_uri(deployed: AirflowProcess) -> None:
    asset = deployed.api("GET", "/airflow_assets/api/v1/assets/uri.shared")
    assert (asset["uri"], asset["metadata"]) == ("s3://bucket/shared", {"rows": 2})


def test_people_are_not_told_which_dags_use_a_name(deployed: AirflowProcess) -> None:
    path, body = "/airflow_assets/api/v1/native-uris", {"names": ["uri.shared"]}
    (item,) = deployed.api("POST", path, json=body, user="viewer")["items"]
    assert item == {
        "name": "uri.shared",
        "uri": "s3://bucket/shared",
        "active": True,
        "dagIds": [],
        "files": [],
    }


def test_another_uri_is_told_with_both_places(deployed: AirflowProcess) -> None:
    file = deployed.write_dag("uri_other.py", OTHER)
    try:
        deployed.wait_for_dag("uri_other")

        def told() -> bool:
            logs = [path.read_text() for path in deployed.home.rglob("uri_other.py.log")]
            return any("s3://elsewhere/shared" in text and "s3://bucket/shared" in text for text in logs)

        deployed.wait_until(told, PATIENCE, "the conflict to be in the log of the Dag processor")
        (text,) = [path.read_text() for path in deployed.home.rglob("uri_other.py.log")]
        assert "uri_other.py:7" in text
        assert "uri_" in text.split("s3://bucket/shared")[1]
    finally:
        file.unlink()

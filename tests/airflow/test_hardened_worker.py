"""A worker that is told nothing but the Execution API's address, and a trigger, use the catalogue."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.airflow_process import AirflowProcess

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.real_airflow, pytest.mark.slow, pytest.mark.xdist_group("own airflow")]

DAG = """
from airflow.sdk import BaseOperator, dag, task
from airflow_assets.operators import Delete, List, Set


class WaitForAsset(BaseOperator):
    def execute(self, context):
        from tests.support.catalog_trigger import FindAsset

        self.defer(trigger=FindAsset("hard.one"), method_name="resumed")

    def resumed(self, context, event):
        return event


@dag(schedule=None, params={"owner": "data"})
def hardened_catalog():
    create = Set(
        task_id="create", asset_id="hard.one", asset_type="T", namespace="hard", display_name="Zoë 😀",
        asset_description="*one*", metadata={"owner": "{{ params.owner }}", "run": "{{ run_id }}"},
    )
    again = Set(task_id="again", asset_id="hard.one", asset_type="T", retries=0)
    listed = List(
        task_id="listed", namespace="hard", types=["T"], fetch_type="FETCH", size="{{ 10 }}",
        metadata_query=[{"field": "owner", "type": "EQUAL_TO", "value": "{{ params.owner }}"}],
    )
    one = List(task_id="one", namespace="hard", fetch_type="FETCH_ONE")
    stored = List(task_id="stored", namespace="hard")
    none = List(task_id="none", namespace="nothing-there", fetch_type="NONE")
    wait = WaitForAsset(task_id="wait")

    @task(trigger_rule="all_done")
    def look(ids, known, none):
        import os

        from airflow.configuration import conf
        from airflow_assets import trigger_asset
        from airflow_assets.hooks import AssetCatalogHook

        event = AssetCatalogHook().get_conn().list_events().items[0]
        return {
            "ids": [asset["id"] for asset in ids], "template": known, "none": none, "here": trigger_asset,
            "source": event.source.to_json(), "home": os.environ["AIRFLOW_HOME"],
            "database": conf.get("database", "sql_alchemy_conn"),
        }

    @task
    def read(uri):
        from airflow.sdk import ObjectStoragePath

        return ObjectStoragePath(uri).read_text()

    gone = Delete(task_id="gone", asset_id="hard.one", trigger_rule="all_done")
    seen = look(listed.output["assets"], "{{ assets(namespace='hard') | map(attribute='id') | join }}",
                "{{ trigger_asset is none }}")
    create >> [again, listed, one, stored, none, wait] >> seen >> gone
    [read(stored.output["uri"]), wait] >> gone


hardened_catalog()
"""


@pytest.fixture(scope="module")
def hardened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AirflowProcess]:
    home: Path = tmp_path_factory.mktemp("hardened") / "home"
    executor = "tests.support.hardened_executor.HardenedExecutor"
    with AirflowProcess(home, executor=executor) as process:
        process.write_dag("hardened_catalog.py", DAG)
        yield process


@pytest.fixture(scope="module")
def run_id(hardened: AirflowProcess) -> str:
    hardened.wait_for_dag("hardened_catalog")
    hardened.unpause("hardened_catalog")
    run = hardened.trigger_dag("hardened_catalog")["dag_run_id"]
    hardened.wait_for_run("hardened_catalog", run, None, timeout=500)
    return str(run)


def test_operators_work_with_nothing_configured(hardened: AirflowProcess, run_id: str) -> None:
    states = {ti["task_id"]: ti["state"] for ti in hardened.task_instances("hardened_catalog", run_id)}
    assert states == {
        "create": "success", "again": "failed", "listed": "success", "one": "success", "stored": "success",
        "none": "success", "wait": "success", "look": "success", "read": "success", "gone": "success",
    }  # fmt: skip
    listed = hardened.xcom("hardened_catalog", run_id, "listed")
    assert listed["size"] == 1
    asset = listed["assets"][0]
    assert (asset["id"], asset["displayName"], asset["metadata"]) == (
        "hard.one", "Zoë 😀", {"owner": "data", "run": run_id},
    )  # fmt: skip
    one = hardened.xcom("hardened_catalog", run_id, "one")["asset"]
    assert one.pop("freshness")["age"] > asset.pop("freshness")["age"]
    assert one == asset
    assert hardened.xcom("hardened_catalog", run_id, "none") == {"size": 0}
    stored = hardened.xcom("hardened_catalog", run_id, "read")
    assert '"id":"hard.one"' in stored
    assert stored.count("\n") == 1


def test_the_write_carries_the_task_and_the_worker_had_no_database(
    hardened: AirflowProcess, run_id: str
) -> None:
    seen = hardened.xcom("hardened_catalog", run_id, "look")
    source = seen["source"]
    assert (source["kind"], source["dagId"], source["taskId"], source["runId"]) == (
        "task", "hardened_catalog", "create", run_id,
    )  # fmt: skip
    assert seen["home"].endswith("hardened/home")
    assert seen["database"].startswith("airflow-db-not-allowed")
    assert seen["ids"] == ["hard.one"]
    assert seen["template"] == "hard.one"
    assert seen["none"] == "True"
    assert seen["here"] is None


def test_a_second_set_fails_with_the_reason_in_its_log(hardened: AirflowProcess, run_id: str) -> None:
    # The log stays with the worker, whose home is not the server's.
    logs = (hardened.home / "hardened" / "home" / "logs").glob("**/task_id=again/attempt=1.log")
    assert "AssetAlreadyExists" in "".join(log.read_text() for log in logs)


def test_a_deferred_trigger_reads_and_may_not_write(hardened: AirflowProcess, run_id: str) -> None:
    event = hardened.xcom("hardened_catalog", run_id, "wait")
    assert event["metadata"] == [{"owner": "data", "run": run_id}]
    assert "trigger" in event["refused"]
    assert "may only" in event["refused"]


def test_the_operators_link_leads_to_the_asset(hardened: AirflowProcess, run_id: str) -> None:
    path = f"/api/v2/dags/hardened_catalog/dagRuns/{run_id}/taskInstances/create/links"
    link = hardened.api("GET", path)["extra_links"]["Asset"]
    assert hardened.request("GET", link).status_code == 404  # deleted at the end of the run
    found = hardened.request("GET", link + "?includeDeleted=true")
    assert found.json()["id"] == "hard.one"

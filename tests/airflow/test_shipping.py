"""A real Airflow ships what its tasks did: without the OpenLineage provider's events, and beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.airflow_process import AirflowProcess
from tests.support.openlineage_receiver import Receiver
from tests.support.processes import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.real_airflow, pytest.mark.slow]

DAG = """
from airflow.sdk import dag, task
from airflow_assets.exporters import AssetExporter, FileAssetExporter, OpenLineageAssetExporter
from airflow_assets.operators import AssetShipper
from airflow_assets.types import File, Table

source = Table("shipping.source", namespace="shipping", uri="postgres://db:5432/shop/public/orders")


@dag(schedule=None)
def shipped_work():
    @task(inlets=[source], outlets=[File("file:///data/{{ ti.map_index }}.csv", namespace="shipping",
                                        metadata={"owner": "data", "columns": {"day": "date"}})])
    def write(n):
        return n

    @task(inlets=[source])
    def skip():
        from airflow.sdk.exceptions import AirflowSkipException
        raise AirflowSkipException

    @task(outlets=[File("shipping.never", namespace="shipping")], trigger_rule="all_done")
    def fail():
        raise ValueError("no")

    write.expand(n=[1, 2]) >> skip() >> fail()


class Broken(AssetExporter):
    def export(self, batch):
        raise RuntimeError("this destination is down")


def exporters():
    return [FileAssetExporter("archive", path="FOLDER"), OpenLineageAssetExporter("ol", uri="URL")]


@dag(schedule=None)
def shipper():
    what = dict(asset_namespace="shipping", dag_id="shipped_work")
    ship = AssetShipper(task_id="ship", asset_exporters=exporters(), lookback_period="P{{ 1 }}D", **what)
    partly = AssetShipper(
        task_id="partly", asset_exporters=[Broken("broken"), *exporters()], offset_key="partly", **what,
    )
    tidy = AssetShipper(
        task_id="tidy", asset_exporters=[FileAssetExporter("one", path="FOLDER/tidy")], trigger_rule="all_done",
        delete=True, shipped_task_id="skip", **what,
    )
    ship >> partly >> tidy


shipped_work()
shipper()
"""
PATIENCE = 300.0
"""Seconds, on a machine that does much else."""
LINEAGE = "/airflow_assets/api/v1/lineage"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver.running() as running:
        yield running
    assert running.wrong == []


def of_work(receiver: Receiver) -> list[dict[str, Any]]:
    """The events of the tasks that work, of whoever sent them."""
    return [
        event for event in receiver.events if event.get("job", {}).get("name", "").startswith("shipped_work.")
    ]


def work(airflow: AirflowProcess) -> str:
    """Run the tasks, and wait until the catalogue knows of all of them."""
    for dag_id in ("shipped_work", "shipper"):
        airflow.wait_for_dag(dag_id, timeout=PATIENCE)
        airflow.unpause(dag_id)
    run_id = airflow.trigger_dag("shipped_work")["dag_run_id"]
    airflow.wait_for_run("shipped_work", run_id, "failed", timeout=PATIENCE)

    def recorded() -> bool:
        items = airflow.api("GET", LINEAGE, params={"dagId": "shipped_work", "runId": run_id})["items"]
        return len(items) == 4

    wait_until(recorded, PATIENCE, "lineage of four task instances")
    return run_id


def ship(airflow: AirflowProcess) -> str:
    run_id = airflow.trigger_dag("shipper")["dag_run_id"]
    airflow.wait_for_run(
        "shipper", run_id, "success", timeout=PATIENCE
    )  # by its last task; the one before has failed
    return run_id


def states(events: list[dict[str, Any]]) -> dict[str, list[str]]:
    """The types of the events of each run, in order, behind the task's name and a sign for the run."""
    found: dict[str, list[str]] = {}
    for event in events:
        found.setdefault(f"{event['job']['name']} {event['run']['runId']}", []).append(event["eventType"])
    return found


def test_lineage_leaves_a_real_airflow(airflow: AirflowProcess, receiver: Receiver, tmp_path: Path) -> None:
    airflow.write_dag("shipping.py", DAG.replace("FOLDER", str(tmp_path)).replace("URL", receiver.url))
    work(airflow)
    run_id = ship(airflow)

    result = airflow.xcom("shipper", run_id, "ship")
    assert result["size"] == 4
    assert result["outputs"]["ol"] == {"size": 4, "changes": 0, "sent": 8, "deadLetters": 0}
    (uri,) = result["outputs"]["archive"]["uris"]
    lines = [json.loads(line) for line in Path(uri.removeprefix("file://")).read_text().splitlines()]
    assert sorted(line["task"]["taskId"] for line in lines) == ["fail", "skip", "write", "write"]
    written = [output for line in lines for output in line["outputs"] if line["task"]["taskId"] == "write"]
    assert {output["metadata"]["owner"] for output in written} == {"data"}
    assert all(line["run"]["runAfter"] for line in lines)

    # "ship" and "partly" shipped the same events with the same run ids: whole runs, each twice.
    ended = {name.split()[0]: sorted(types) for name, types in states(of_work(receiver)).items()}
    assert ended == {
        "shipped_work.write": ["COMPLETE"] * 2 + ["START"] * 2,
        "shipped_work.skip": ["COMPLETE"] * 2 + ["START"] * 2,
        "shipped_work.fail": ["FAIL"] * 2 + ["START"] * 2,
    }
    assert len(states(of_work(receiver))) == 4
    outputs = [dataset for event in of_work(receiver) for dataset in event["outputs"]]
    assert ("file", "/data/0.csv") in {(dataset["namespace"], dataset["name"]) for dataset in outputs}

    log = airflow.task_log("shipper", run_id, "partly")
    assert "this destination is down" in log
    assert "Exporter 'broken' failed" in log
    left = airflow.api("GET", LINEAGE, params={"dagId": "shipped_work"})["items"]
    assert "skip" in {item["task"]["taskId"] for item in left}, "the broken exporter still needs it"

    again = ship(airflow)
    assert airflow.xcom("shipper", again, "ship")["size"] == 0


@pytest.mark.xdist_group("own airflow")
def test_beside_the_provider_there_is_one_run_of_each_try(receiver: Receiver, tmp_path: Path) -> None:
    env = {
        "AIRFLOW__OPENLINEAGE__TRANSPORT": json.dumps({"type": "http", "url": receiver.url}),
        "AIRFLOW__OPENLINEAGE__NAMESPACE": "house",
    }
    with AirflowProcess(env=env) as airflow:
        airflow.write_dag("shipping.py", DAG.replace("FOLDER", str(tmp_path)).replace("URL", receiver.url))
        work(airflow)

        def provider_is_done() -> bool:
            return {"COMPLETE", "FAIL"} <= {
                event["eventType"] for event in receiver.of("fail") + receiver.of("write")
            }

        wait_until(provider_is_done, PATIENCE, "the provider's own events")
        before = states(of_work(receiver))
        ship(airflow)
    after = states(of_work(receiver))
    assert after.keys() == before.keys(), "no rival run"
    for name, types in after.items():
        assert types[: len(before[name])] == before[name]
        assert set(types[len(before[name]) :]) == {"OTHER"}, "no START and no end of ours"
    ours = [event for event in of_work(receiver) if event["eventType"] == "OTHER"]
    assert {event["job"]["namespace"] for event in ours} == {"house"}
    facets = [dataset["facets"] for event in ours for dataset in event["outputs"]]
    assert {"ownership", "schema", "dataSource"} <= {name for each in facets for name in each}

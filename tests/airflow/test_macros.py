"""Template functions, `trigger_asset` and AssetParam where they live: in the processes of a real Airflow."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.airflow_process import AirflowProcess

CONSUMER = """
from airflow.sdk import dag, task
from airflow_assets import trigger_asset as at_top
from airflow_assets.operators import Set
from airflow_assets.triggers import EventTrigger


@dag(schedule=EventTrigger(namespace="macros.watched", events=["CREATED"]).as_schedule())
def macros_consumer():
    @task
    def python(template, is_none):
        from airflow_assets import trigger_asset

        return {
            "here": trigger_asset and dict(trigger_asset), "top": bool(at_top), "template": template,
            "is_none": is_none, "long": len(at_top["description"] or "") if at_top else 0,
        }

    python("{{ trigger_asset.id if trigger_asset else 'no event' }}", "{{ trigger_asset is none }}")


macros_consumer()
"""
PARAMS = """
from airflow.sdk import dag, task
from airflow_assets import assets
from airflow_assets.params import AssetParam

PARSED = [asset["id"] for asset in assets(namespace="macros.params")]


@dag(schedule=None, tags=PARSED, params={
    "table": AssetParam(type="macros.Table", namespace="macros.params"),
    "tables": AssetParam([], multiple=True, type="macros.Table"),
})
def macros_params():
    @task
    def use(params, template):
        return [params["table"], list(params["tables"]), template]

    use(template="{{ params.table }} {{ assets(id=params.table)[0].metadata.owner }}")


macros_params()
"""
FROM_A_FILE = """
from airflow.sdk import dag, task
from airflow_assets.operators import Set
from airflow_assets.testing import prepare


@dag(schedule=None)
def tested():
    made = Set(task_id="made", asset_id="macros.tested", asset_type="T")

    @task.bash
    def plugin_macro():
        return "echo \\"got={{ macros.airflow_assets.assets(id='macros.tested')[0].id }}\\""

    @task.bash
    def bare_name():
        return "echo \\"bare={{ assets(id='macros.tested') | length }} {{ trigger_asset is none }}\\""

    made >> [plugin_macro(), bare_name()]


if __name__ == "__main__":
    run = prepare(tested()).test()
    print("STATE", run.state)
else:
    tested()
"""


def create(airflow: AirflowProcess, asset_id: str, namespace: str, **members: Any) -> None:
    body = {"id": asset_id, "type": "macros.Table", "namespace": namespace, **members}
    airflow.api("POST", "/airflow_assets/api/v1/assets", json=body)


def test_a_run_started_by_an_event_knows_it_and_another_run_does_not(airflow: AirflowProcess) -> None:
    airflow.write_dag("macros_consumer.py", CONSUMER)
    airflow.wait_for_dag("macros_consumer")
    airflow.unpause("macros_consumer")
    create(airflow, "macros.small", "macros.watched", metadata={"owner": "x"})
    create(airflow, "macros.large", "macros.watched", description="ü" * 20_000)
    runs = airflow.wait_until(
        lambda: len(found := airflow.runs("macros_consumer")) == 2 and found, 240, "two runs for two events"
    )
    told = {}
    for run in runs:
        airflow.wait_for_run("macros_consumer", run["dag_run_id"], timeout=240)
        seen = airflow.xcom("macros_consumer", run["dag_run_id"], "python")
        told[seen["here"]["id"]] = seen
        assert run["dag_run_id"] == f"asset_event__{seen['here']['eventId']}"
    small, large = told["macros.small"], told["macros.large"]
    assert small["template"] == "macros.small"
    assert (small["is_none"], small["top"]) == ("False", True)
    assert (small["here"]["event"], small["here"]["metadata"]) == ("CREATED", {"owner": "x"})
    assert large["long"] == 20_000, "what does not fit into Airflow's row is fetched by the task"
    by_hand = airflow.trigger_dag("macros_consumer")["dag_run_id"]
    airflow.wait_for_run("macros_consumer", by_hand, timeout=240)
    assert airflow.xcom("macros_consumer", by_hand, "python") == {
        "here": None, "top": False, "template": "no event", "is_none": "True", "long": 0,
    }  # fmt: skip


def test_a_param_offers_assets_and_refuses_what_is_none(airflow: AirflowProcess) -> None:
    create(airflow, "macros.p2", "macros.params", metadata={"owner": "two"})
    create(airflow, "macros.p1", "macros.params", metadata={"owner": "one"})
    airflow.write_dag("macros_params.py", PARAMS)
    airflow.wait_for_dag("macros_params")
    airflow.unpause("macros_params")
    details = airflow.api("GET", "/api/v2/dags/macros_params/details")
    assert details["params"]["table"]["schema"]["examples"] == ["macros.p1", "macros.p2"]
    assert sorted(tag["name"] for tag in details["tags"]) == ["macros.p1", "macros.p2"], "assets() at parse"

    good = airflow.trigger_dag("macros_params", conf={"table": "macros.p1", "tables": ["macros.p2"]})[
        "dag_run_id"
    ]
    airflow.wait_for_run("macros_params", good, timeout=240)
    assert airflow.xcom("macros_params", good, "use") == ["macros.p1", ["macros.p2"], "macros.p1 one"]

    bad = airflow.trigger_dag("macros_params", conf={"table": "macros.nowhere"})["dag_run_id"]
    airflow.wait_for_run("macros_params", bad, "failed", timeout=240)
    log = airflow.task_log("macros_params", bad, "use")
    assert "No asset of the catalogue" in log
    assert "macros.nowhere" in log


def test_another_parse_of_an_unchanged_catalogue_makes_no_dag_version(airflow: AirflowProcess) -> None:
    """Needs the test before it."""
    path = "/api/v2/dags/macros_params/dagVersions"
    versions = airflow.api("GET", path)["total_entries"]
    parsed = airflow.api("GET", "/api/v2/dags/macros_params/details")["last_parsed"]
    airflow.wait_until(
        lambda: airflow.api("GET", "/api/v2/dags/macros_params/details")["last_parsed"] != parsed,
        120,
        "another parse",
    )
    assert airflow.api("GET", path)["total_entries"] == versions


@pytest.mark.slow
def test_dag_test_of_a_file_uses_the_catalogue_in_process(airflow: AirflowProcess) -> None:
    file: Path = airflow.write_dag("macros_tested.py", FROM_A_FILE)
    airflow.wait_for_dag("tested")
    done = subprocess.run(
        [sys.executable, str(file)], env=airflow.environment, cwd=airflow.home, capture_output=True, text=True,
        timeout=300, check=True,
    )  # fmt: skip
    output = done.stdout + done.stderr
    assert "STATE success" in output, output[-3000:]
    assert "got=macros.tested" in output
    assert "bare=1 True" in output
    event = airflow.api("GET", "/airflow_assets/api/v1/events?assetId=macros.tested")["items"][0]
    assert (event["source"]["kind"], event["source"]["dagId"]) == ("task", "tested")

"""The event sensor on a real Airflow, in each mode: what came before, between and after its pokes, each once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from airflow_assets.schemas.operations import API_PREFIX

if TYPE_CHECKING:
    from tests.support.airflow_process import AirflowProcess

pytestmark = [pytest.mark.real_airflow, pytest.mark.slow]

EXAMPLE = Path(__file__).parents[2] / "dags_examples" / "sensing.py"
DAG = """
from airflow.sdk import dag
from airflow_assets.sensors import AssetEventSensor, EventTrigger

POKE = dict(mode="poke", poke_interval=1)
RESCHEDULE = dict(mode="reschedule", poke_interval=6)
DEFER = dict(deferrable=True)


@dag(schedule=None, params={"cursor": 0})
def sensing():
    run = [
        AssetEventSensor(task_id="run_poke", asset_id="sense.one", **POKE),
        AssetEventSensor(task_id="run_reschedule", asset_id="sense.one", **RESCHEDULE),
        AssetEventSensor(task_id="run_defer", asset_id="sense.one", **DEFER),
        EventTrigger(task_id="beginning", namespace="sense", since="beginning", **DEFER),
        EventTrigger(task_id="cursor", asset_id="sense.one", since="{{ params.cursor }}", **POKE),
    ]
    EventTrigger(
        task_id="next", asset_id="sense.one", since="{{ ti.xcom_pull('run_poke')['cursor'] }}", **DEFER
    ).set_upstream(run[0])
    AssetEventSensor(task_id="task_reschedule", asset_id="sense.one", since="task", **RESCHEDULE)
    AssetEventSensor(
        task_id="task_defer", namespace="sense", since="task", events=["UPDATED"], only_changes=True,
        metadata_query=[{"field": "n", "type": "GREATER_THAN", "value": 1}], **DEFER,
    )
    AssetEventSensor(task_id="late_poke", asset_id="sense.none", timeout=1, **POKE)
    AssetEventSensor(task_id="soft_poke", asset_id="sense.none", timeout=1, soft_fail=True, **POKE)
    AssetEventSensor(task_id="late_defer", asset_id="sense.none", timeout=10, **DEFER)
    AssetEventSensor(task_id="soft_defer", asset_id="sense.none", timeout=10, soft_fail=True, **DEFER)


sensing()
"""


def put(airflow: AirflowProcess, asset_id: str, n: int) -> int:
    """Write the asset and return the number of the event."""
    body = {"id": asset_id, "type": "t", "namespace": "sense", "metadata": {"n": n}}
    airflow.api("POST", f"{API_PREFIX}/upsert", json=body)
    query = {"assetId": asset_id, "newestFirst": "true", "limit": 1}
    page = airflow.api("GET", f"{API_PREFIX}/events", params=query)
    return int(page["items"][0]["seq"])


def states(airflow: AirflowProcess, run_id: str) -> dict[str, str | None]:
    return {ti["task_id"]: ti["state"] for ti in airflow.task_instances("sensing", run_id)}


@pytest.fixture(scope="module")
def run_id(airflow: AirflowProcess) -> str:
    airflow.write_dag("sensing.py", DAG)
    # Airflow may fail a task that is deferred for a moment only (see `AirflowProcess.wait_let_go`).
    again = "timeout=600, retries=3, retry_delay=0"
    airflow.write_dag("demo_sensing.py", EXAMPLE.read_text().replace("timeout=600", again))
    airflow.wait_for_dag("sensing")
    before = put(airflow, "sense.one", 0)
    run: str = airflow.trigger_dag("sensing", conf={"cursor": before})["dag_run_id"]
    put(airflow, "sense.one", 1)  # after the run's begin, before any poke
    airflow.unpause("sensing")
    airflow.unpause("demo_sensing")
    waiting = {"task_reschedule": {"up_for_reschedule"}, "task_defer": {"deferred"}, "next": {"deferred"}}

    def all_wait() -> bool:
        now = states(airflow, run)
        return all(now.get(task) in wanted for task, wanted in waiting.items())

    airflow.wait_until(all_wait, 240, "the sensors that see nothing yet to wait")
    airflow.kill("triggerer")
    numbers = [put(airflow, "sense.one", n) for n in (2, 3)]  # while nothing runs: between two pokes
    assert numbers[0] < numbers[1]
    airflow.restart("triggerer")
    airflow.wait_for_run("sensing", run, None)
    return run


def test_each_sensor_ends_as_it_must(airflow: AirflowProcess, run_id: str) -> None:
    now = states(airflow, run_id)
    late = {task: now.pop(task) for task in list(now) if task.startswith(("late", "soft"))}
    assert set(now.values()) == {"success"}, now
    assert late == {
        "late_poke": "failed", "soft_poke": "skipped", "late_defer": "failed", "soft_defer": "skipped",
    }  # fmt: skip


def test_each_sees_the_first_event_after_its_place(airflow: AirflowProcess, run_id: str) -> None:
    tasks = [task for task, state in states(airflow, run_id).items() if state == "success"]
    seen: dict[str, Any] = {task: airflow.xcom("sensing", run_id, task) for task in tasks}
    assert {task: found["metadata"]["n"] for task, found in seen.items()} == {
        "beginning": 0, "cursor": 1, "run_poke": 1, "run_reschedule": 1, "run_defer": 1,
        "task_reschedule": 2, "task_defer": 2, "next": 2,
    }  # fmt: skip
    one = seen["next"]
    assert (one["id"], one["event"], one["namespace"]) == ("sense.one", "UPDATED", "sense")
    assert one["cursor"] > seen["run_poke"]["cursor"]
    assert {"type", "displayName", "eventTime", "eventId", "tenantId"} < set(one)


def test_the_example_sees_both_loads(airflow: AirflowProcess, run_id: str) -> None:
    run: str = airflow.trigger_dag("demo_sensing")["dag_run_id"]
    airflow.wait_for_run("demo_sensing", run, "success")
    assert airflow.xcom("demo_sensing", run, "report") == [3, 5]

"""One run of one Dag in which tasks end in every way there is, on a real Airflow: what the catalogue knows then."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.airflow_process import AirflowProcess

pytestmark = [pytest.mark.real_airflow, pytest.mark.slow]

CATALOG = "/airflow_assets/api/v1"
DAGS = Path(__file__).parent / "recording_dags"
FOLLOWED_WITHIN = 180.0
"""Seconds, on a busy machine, within which the reconciler or the follower records what no wrapper sees."""


@dataclass
class Ended:
    """The run when all that can be known about it is known."""

    airflow: AirflowProcess
    run_id: str
    lineage: list[dict[str, Any]]
    states: dict[tuple[str, int], str]

    def of(self, task_id: str, *, try_number: int | None = None) -> list[dict[str, Any]]:
        """The lineage events of a task, by map index and bundle."""
        found = [
            event
            for event in self.lineage
            if event["task"]["taskId"] == task_id and try_number in (None, event["task"]["tryNumber"])
        ]
        return sorted(found, key=lambda event: (event["task"]["mapIndex"], event["bundle"]))

    def one(self, task_id: str, *, try_number: int | None = None) -> dict[str, Any]:
        """The only lineage event of a task."""
        (event,) = self.of(task_id, try_number=try_number)
        return event

    def asset(self, asset_id: str) -> dict[str, Any] | None:
        """The asset, or None."""
        answer = self.airflow.request("GET", f"{CATALOG}/assets/{asset_id}")
        return None if answer.status_code == 404 else answer.json()

    def log(self, task_id: str, try_number: int = 1) -> str:
        """What a try wrote to its log."""
        return self.airflow.task_log("endings", self.run_id, task_id, try_number)


def lineage(airflow: AirflowProcess, run_id: str) -> list[dict[str, Any]]:
    query = {"dagId": "endings", "runId": run_id, "limit": 1000}
    return airflow.api("GET", f"{CATALOG}/lineage", params=query)["items"]


@pytest.fixture(scope="module")
def ended(airflow: AirflowProcess) -> Ended:
    airflow.write_dag("endings.py", (DAGS / "endings.py").read_text())
    for dag_id in ("other", "uri_owner", "endings", "several", "single"):
        airflow.unpause(dag_id)
    of_asset = {dag_id: airflow.trigger_dag(dag_id)["dag_run_id"] for dag_id in ("several", "single")}
    run_id = airflow.trigger_dag("endings")["dag_run_id"]
    airflow.wait_for_run("endings", run_id, "failed", timeout=600)
    _clear(airflow, run_id, "cleared")
    airflow.wait_for_run("endings", run_id, "failed")
    # Marked by hand: it failed in its worker, somebody who knows better says success.
    path = f"/api/v2/dags/endings/dagRuns/{run_id}/taskInstances/by_hand"
    airflow.api("PATCH", path, json={"new_state": "success"})

    def followed() -> bool:
        states = {(event["task"]["taskId"], event["state"]) for event in lineage(airflow, run_id)}
        wanted = {("in_triggerer", "success"), ("failing_post", "failed")}
        return states >= {*wanted, ("by_hand", "success")}

    for dag_id, its_run in of_asset.items():
        airflow.wait_for_run(dag_id, its_run)
    airflow.wait_until(followed, FOLLOWED_WITHIN, "the reconciler to record what the wrapper cannot see")
    states = {
        (ti["task_id"], ti["map_index"]): ti["state"] for ti in airflow.task_instances("endings", run_id)
    }
    return Ended(airflow, run_id, lineage(airflow, run_id), states)


def _clear(airflow: AirflowProcess, run_id: str, task_id: str) -> None:
    body = {"dry_run": False, "dag_run_id": run_id, "task_ids": [task_id], "only_failed": False}
    airflow.api("POST", "/api/v2/dags/endings/clearTaskInstances", json={**body, "reset_dag_runs": True})


BY_THE_TASK = (
    "taskflow", "branch", "short_circuit", "trigger", "waiting_trigger", "make", "unmake", "deferring", "sensor",
    "own_post", "cleared", "warned", "empty",
)  # fmt: skip


@pytest.mark.parametrize("task_id", [*BY_THE_TASK, "mapped", "mapped_group"])
def test_the_task_itself_has_recorded_it(ended: Ended, task_id: str) -> None:
    asset = ended.asset(f"out.{task_id}")
    assert asset is not None
    by = "group.inside" if task_id == "mapped_group" else task_id
    assert asset["metadata"] == {"owner": "data", "by": by}


@pytest.mark.parametrize("task_id", [*BY_THE_TASK, "plain", "in_triggerer"])
def test_what_ended_well_is_in_the_catalogue(ended: Ended, task_id: str) -> None:
    assert ended.states[task_id, -1] == "success", ended.log(task_id)
    event = ended.of(task_id)[0]
    assert event["state"] == "success"
    assert f"out.{task_id}" in [output["id"] for output in event["outputs"]]
    asset = ended.asset(f"out.{task_id}")
    assert asset is not None
    assert (asset["type"], asset["namespace"]) == ("airflow_assets.types.Table", "endings")


@pytest.mark.parametrize("task_id", ["in_triggerer", "by_hand"])
def test_what_no_wrapper_sees_is_recorded_without_what_only_the_task_could_render(
    ended: Ended, task_id: str
) -> None:
    asset = ended.asset(f"out.{task_id}")
    if task_id == "by_hand":  # its body failed: somebody says success, and nobody says what was written
        assert ended.one(task_id)["state"] == "success"
        return
    assert asset is not None
    assert asset["metadata"] == {"owner": "data"}


@pytest.mark.parametrize("task_id", ["failing", "skip"])
def test_lineage_of_a_bad_end_is_there_before_airflow_knows_the_state(ended: Ended, task_id: str) -> None:
    (task,) = [ti for ti in ended.airflow.task_instances("endings", ended.run_id) if ti["task_id"] == task_id]
    assert ended.one(task_id)["created"] <= task["end_date"]


def test_every_try_is_recorded_exactly_once(ended: Ended) -> None:
    bundles = Counter(
        (event["task"]["taskId"], event["task"]["mapIndex"], event["task"]["tryNumber"], event["bundle"])
        for event in ended.lineage
    )
    assert [key for key, count in bundles.items() if count != 1] == []
    tries = {key[:3] for key in bundles}
    assert {task_id for task_id, _, _ in tries} >= {*BY_THE_TASK, "mapped", "group.inside", "skip", "failing"}
    assert sorted(key for key in tries if key[0] == "mapped") == [("mapped", n, 1) for n in range(3)]
    assert sorted(key for key in tries if key[0] == "group.inside") == [
        ("group.inside", n, 1) for n in range(2)
    ]
    assert sorted(key for key in tries if key[0] == "retried") == [("retried", -1, 1), ("retried", -1, 2)]
    assert sorted(key for key in tries if key[0] == "cleared") == [("cleared", -1, 1), ("cleared", -1, 2)]
    assert [key for key in tries if key[0] in ("taken", "never", "not_taken", "between")] == []


def test_templates_are_rendered_with_the_result_and_keep_its_type(ended: Ended) -> None:
    asset = ended.asset("out.plain")
    assert asset is not None
    assert asset["metadata"] == {"rows": 42, "day": ended.run_id, "system": "duckdb"}
    (source,) = ended.one("plain")["inputs"]
    assert source == {"id": "source", "type": "airflow_assets.types.Dataset", "namespace": "endings"}


def test_a_downstream_task_sees_the_record_of_its_upstream(ended: Ended) -> None:
    assert ended.states["downstream", -1] == "success", ended.log("downstream")


def test_a_native_asset_is_recorded_with_what_the_body_said(ended: Ended) -> None:
    asset = ended.asset("native")
    assert asset is not None
    assert (asset["uri"], asset["metadata"]) == ("s3://bucket/native", {"k": "v", "rows": 7})


@pytest.mark.parametrize(
    ("task_id", "try_number", "state"),
    [
        ("failing", 1, "failed"),
        ("skip", 1, "skipped"),
        ("retried", 1, "up_for_retry"),
        ("failing_post", 1, "failed"),
    ],
)
def test_lineage_has_the_state_of_the_try(ended: Ended, task_id: str, try_number: int, state: str) -> None:
    assert ended.one(task_id, try_number=try_number)["state"] == state


@pytest.mark.parametrize("task_id", ["failing", "skip"])
def test_a_task_that_did_not_end_well_touches_no_asset(ended: Ended, task_id: str) -> None:
    assert ended.asset(f"out.{task_id}") is None


def test_what_a_failing_post_execute_had_written_stands(ended: Ended) -> None:
    assert ended.asset("out.failing_post") is not None


def test_a_retried_task(ended: Ended) -> None:
    assert ended.one("retried", try_number=2)["state"] == "success"
    asset = ended.asset("out.retried")
    assert asset is not None
    assert asset["metadata"] == {"try": 2}


def test_a_deferred_task_keeps_what_it_emitted_before(ended: Ended) -> None:
    outputs = [output["id"] for event in ended.of("deferring") for output in event["outputs"]]
    assert outputs == ["out.deferring", "emitted.before_deferral", "emitted.after_deferral"]


def test_aliases_and_references(ended: Ended) -> None:
    (added,) = ended.one("alias")["outputs"]
    assert added["id"] == "added"
    asset = ended.asset("added")
    assert asset is not None
    assert (asset["uri"], asset["metadata"]) == ("s3://bucket/added", {"rows": 3})
    declared, emitted = ended.of("reference")
    assert sorted(source["id"] for source in declared["inputs"]) == ["by_name", "by_uri"]
    assert [target["id"] for target in emitted["outputs"]] == ["emitted.reference"]


def test_bundles_are_not_mixed(ended: Ended) -> None:
    first, second = ended.of("emit_only")
    assert ([a["id"] for a in first["inputs"]], [a["id"] for a in first["outputs"]]) == (
        ["source"],
        ["emitted.one"],
    )
    assert [a["id"] for a in second["inputs"]] == ["emitted.one"]
    asset = ended.asset("emitted.two")
    assert asset is not None
    assert (asset["type"], asset["displayName"]) == ("T", "Two")


@pytest.mark.parametrize("task_id", ["bash", "task_bash", "external"])
def test_asset_lines_of_scripts(ended: Ended, task_id: str) -> None:
    assert [target["id"] for target in ended.one(task_id)["outputs"]] == [f"line.{task_id}"]


def test_warn_leaves_the_task_successful_and_says_so_everywhere(ended: Ended) -> None:
    assert ended.states["warned", -1] == "success"
    event = ended.one("warned")
    assert [target["id"] for target in event["outputs"]] == ["out.warned"]
    (warning,) = event["warnings"]
    assert "outlets[1].metadata.x" in warning
    log = ended.log("warned")
    assert "outlets[1].metadata.x" in log
    assert "asset_failure_behavior=WARN" in log
    (task,) = [
        ti for ti in ended.airflow.task_instances("endings", ended.run_id) if ti["task_id"] == "warned"
    ]
    assert "outlets[1].metadata.x" in (task["note"] or "")


def test_fail_fails_the_task_and_keeps_its_result(ended: Ended) -> None:
    assert ended.states["failed_by_us", -1] == "failed"
    assert ended.one("failed_by_us")["state"] == "failed"
    assert "asset_failure_behavior=FAIL" in ended.log("failed_by_us")
    assert "kept" in str(ended.airflow.xcom("endings", ended.run_id, "failed_by_us"))


def test_a_malformed_declaration_fails_at_once_whatever_the_behaviour(ended: Ended) -> None:
    assert ended.states["malformed", -1] == "failed"
    assert "outlets[1].id" in ended.log("malformed")
    assert ended.asset("out.x") is None


def test_marked_by_hand(ended: Ended) -> None:
    assert ended.one("by_hand")["state"] == "success"


def test_airflows_own_asset_decorators(ended: Ended) -> None:
    several = ended.asset("out.several")
    assert several is not None
    assert several["metadata"] == {"owner": "data", "by": "several"}
    assert ended.asset("several_native") is not None
    query = {"dagId": "single", "limit": 10}
    (event,) = ended.airflow.api("GET", f"{CATALOG}/lineage", params=query)["items"]
    assert [source["id"] for source in event["inputs"]] == ["by_name"]
    assert [target["id"] for target in event["outputs"]] == ["single"]

"""The harness itself: a real Airflow comes up, runs a Dag, survives losing a part, and leaves nothing behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psutil
import pytest

from tests.support.airflow_process import AirflowProcess
from tests.support.processes import is_running, tree_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HELLO = """
from airflow.sdk import dag, task

@dag(schedule=None)
def hello():
    @task
    def say() -> dict[str, str | None]:
        import os
        return {"home": os.environ["AIRFLOW_HOME"], "jwt": os.environ.get("AIRFLOW__API_AUTH__JWT_SECRET")}
    say()

hello()
"""


def test_one_task_dag_succeeds(airflow: AirflowProcess) -> None:
    airflow.write_dag("hello.py", HELLO)
    airflow.unpause("hello")
    run = airflow.trigger_dag("hello")
    airflow.wait_for_run("hello", run["dag_run_id"], "success")
    assert airflow.xcom("hello", run["dag_run_id"], "say")["home"] == str(airflow.home)
    assert "Returned value was" in airflow.task_log("hello", run["dag_run_id"], "say")


@pytest.mark.smoke
def test_provider_is_installed(airflow: AirflowProcess) -> None:
    names = [provider["package_name"] for provider in airflow.api("GET", "/api/v2/providers")["providers"]]
    assert "airflow-provider-assets" in names
    plugins = [plugin["name"] for plugin in airflow.api("GET", "/api/v2/plugins")["plugins"]]
    assert "airflow_assets" in plugins
    assert airflow.import_errors() == {}


def test_every_user_gets_a_token_and_its_role(airflow: AirflowProcess) -> None:
    body = {"name": "harness", "slots": 1}
    statuses = {
        user: airflow.request(
            "POST", "/api/v2/pools", user=user, json={**body, "name": f"of_{user}"}
        ).status_code
        for user in ("viewer", "user", "op", "admin")
    }
    assert statuses == {"viewer": 403, "user": 403, "op": 201, "admin": 201}
    assert airflow.request("GET", "/api/v2/pools", user=None).status_code == 401


@pytest.fixture
def hardened(tmp_path: Path) -> Iterator[AirflowProcess]:
    executor = "tests.support.hardened_executor.HardenedExecutor"
    with AirflowProcess(tmp_path / "home", executor=executor) as process:
        yield process


@pytest.mark.xdist_group("own airflow")
def test_hardened_worker_knows_nothing_and_nothing_is_left_behind(hardened: AirflowProcess) -> None:
    hardened.write_dag("hello.py", HELLO)
    hardened.unpause("hello")
    run = hardened.trigger_dag("hello")
    hardened.wait_for_run("hello", run["dag_run_id"], "success")
    told = hardened.xcom("hello", run["dag_run_id"], "say")
    assert told == {"home": str(hardened.home / "hardened" / "home"), "jwt": None}

    hardened.kill("scheduler")
    hardened.restart("scheduler")
    again = hardened.trigger_dag("hello")
    hardened.wait_for_run("hello", again["dag_run_id"], "success")

    before = [psutil.Process(pid) for pid in hardened.pids]
    assert len(before) >= 4
    ended = hardened.stop()
    assert {process.pid for process in before} <= set(ended)
    assert [process.pid for process in before if is_running(process)] == []
    assert tree_of(hardened._leaders) == []

"""`dag.test()`: the catalogue is reached in process, with no server and nothing configured."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

DAG = """
import json, sys

from airflow.sdk import DAG, task

from airflow_assets import configure, emit
from airflow_assets.types import Dataset, Table

with DAG("tested", schedule=None) as dag:

    @task(inlets=[Dataset("raw")], outlets=[Table("größe", namespace="n", metadata={"rows": "{{ result }}"})])
    def load() -> int:
        emit(inputs=["raw"], outputs=["emitted"])
        return 42

    @task(outlets=[Table("mapped_{{ result }}")])
    def each(number: int) -> int:
        return number

    @task(outlets=[Table("failed")])
    def fail(_: int) -> None:
        raise ValueError("no")

    rows = load()
    each.expand(number=[1, 2])
    fail(rows)

if __name__ == "__main__":
    run = dag.test()

    from airflow_assets.client import get_client
    from airflow_assets.schemas.queries import AssetQuery, LineageQuery

    client = get_client()
    print(json.dumps({
        "state": run.state,
        "assets": {asset.id: asset.metadata for asset in client.iter_assets(AssetQuery())},
        "lineage": sorted([event.task.task_id, event.task.map_index, event.bundle, event.state.value]
                          for event in client.iter_lineage(LineageQuery(dag_id="tested"))),
    }))
"""


UNREACHABLE = """
import json

from airflow.sdk import DAG, task

from airflow_assets import configure
from airflow_assets.types import Table

with DAG("unreachable", schedule=None) as dag:

    @task(outlets=[Table("a")])
    def warned() -> int:
        return 42

    @task(outlets=[Table("b")])
    def failed() -> dict[str, int]:
        return {"kept": 1}

    warned()
    configure(failed(), asset_failure_behavior="FAIL")

if __name__ == "__main__":
    run = dag.test()

    from airflow.models.xcom import XComModel
    from airflow.utils.session import create_session

    with create_session() as session:
        states = {ti.task_id: ti.state for ti in run.get_task_instances(session=session)}
        xcoms = {row.task_id: row.value for row in session.query(XComModel).filter_by(key="return_value")}
    print(json.dumps({"states": states, "xcoms": xcoms}))
"""


def run_file(home: Path, source: str, **environment: str) -> dict[str, Any]:
    """Run a Dag file as a script on a new database and return the JSON of its last line."""
    file = home / "dags" / "tested.py"
    file.parent.mkdir()
    file.write_text(source)
    environment = {
        **os.environ,
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(file.parent),
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home}/airflow.db",
        **environment,
    }

    def run(*command: str) -> str:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout

    run(sys.executable, "-m", "airflow", "db", "migrate")
    told: dict[str, Any] = json.loads(run(sys.executable, str(file)).strip().splitlines()[-1])
    return told


def test_dag_test_records_in_process(tmp_path: Path) -> None:
    told = run_file(tmp_path, DAG)
    assert told["state"] == "failed"
    assert told["assets"] == {"größe": {"rows": 42}, "raw": {}, "emitted": {}, "mapped_1": {}, "mapped_2": {}}
    assert told["lineage"] == [
        ["each", 0, 0, "success"],
        ["each", 1, 0, "success"],
        ["fail", -1, 0, "failed"],
        ["load", -1, 0, "success"],
        ["load", -1, 1, "success"],
    ]


def test_an_unreachable_catalogue_leaves_the_decision_to_the_behaviour(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: every connection is refused
        connection = json.dumps(
            {
                "conn_type": "airflow-assets",
                "host": f"http://127.0.0.1:{taken.getsockname()[1]}",
                "password": "token",
            }
        )
        told = run_file(
            tmp_path,
            UNREACHABLE,
            AIRFLOW_CONN_AIRFLOW_ASSETS_DEFAULT=connection,
            AIRFLOW__AIRFLOW_ASSETS__CLIENT_PATIENCE="1",
        )
    assert told["states"] == {"warned": "success", "failed": "failed"}
    assert {task_id: str(value) for task_id, value in told["xcoms"].items()} == {
        "warned": "42",
        "failed": "{'kept': 1}",
    }

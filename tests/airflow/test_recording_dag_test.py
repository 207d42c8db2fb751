"""`dag.test()`: the catalogue is reached in process, with no server and nothing configured."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

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


def test_dag_test_records_in_process(tmp_path: Path) -> None:
    file = tmp_path / "dags" / "tested.py"
    file.parent.mkdir()
    file.write_text(DAG)
    environment = {
        **os.environ,
        "AIRFLOW_HOME": str(tmp_path),
        "AIRFLOW__CORE__DAGS_FOLDER": str(file.parent),
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{tmp_path}/airflow.db",
    }

    def run(*command: str) -> str:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout

    run(sys.executable, "-m", "airflow", "db", "migrate")
    told = json.loads(run(sys.executable, str(file)).strip().splitlines()[-1])
    assert told["state"] == "failed"
    assert told["assets"] == {"größe": {"rows": 42}, "raw": {}, "emitted": {}, "mapped_1": {}, "mapped_2": {}}
    assert told["lineage"] == [
        ["each", 0, 0, "success"],
        ["each", 1, 0, "success"],
        ["fail", -1, 0, "failed"],
        ["load", -1, 0, "success"],
        ["load", -1, 1, "success"],
    ]

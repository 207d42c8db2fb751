"""Bursts of catalogue events against a running Airflow, and what they leave in its database."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sqlalchemy import create_engine, text

if TYPE_CHECKING:
    from tests.support.airflow_process import AirflowProcess

API = "/airflow_assets/api/v1"
CONSUMER = """
from airflow.sdk import DAG
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow_assets.triggers import EventTrigger

with DAG({dag_id!r}, schedule=EventTrigger({trigger}).as_schedule(), catchup=False, max_active_runs={active}):
    EmptyOperator(task_id="only")
"""


def add_consumer(
    airflow: AirflowProcess, dag_id: str, trigger: str, *, active: int = 64, paused: bool = False
) -> None:
    """Write a Dag that follows `EventTrigger(<trigger>)`, and return when Airflow has parsed it."""
    airflow.write_dag(f"{dag_id}.py", CONSUMER.format(dag_id=dag_id, trigger=trigger, active=active))
    airflow.wait_for_dag(dag_id)
    airflow.pause(dag_id, paused=paused)


def burst(airflow: AirflowProcess, namespace: str, count: int, start: int = 0) -> None:
    """Write `count` changes of one asset, whose metadata `n` counts them, in requests of up to 1,000."""
    numbers = list(range(start, start + count))
    for first in range(0, count, 1_000):
        items = [
            {
                "action": "upsert",
                "asset": {
                    "id": f"asset of {namespace}",
                    "type": "t",
                    "namespace": namespace,
                    "metadata": {"n": n},
                },
            }
            for n in numbers[first : first + 1_000]
        ]
        answer = airflow.api("POST", f"{API}/batch", json={"items": items})
        assert {item["status"] for item in answer["items"]} <= {200, 201}


class Runs:
    """The runs in Airflow's database, looked at from outside, so that looking costs the API server nothing."""

    def __init__(self, airflow: AirflowProcess) -> None:
        self._engine = create_engine(airflow.settings.url)

    def close(self) -> None:
        self._engine.dispose()

    def count(self, dag_id: str, state: str | None = None) -> int:
        """How many runs the Dag has, of all states or of one."""
        statement = "SELECT count(*) FROM dag_run WHERE dag_id = :dag_id"
        if state is not None:
            statement += " AND state = :state"
        return int(self._rows(statement, dag_id=dag_id, state=state)[0][0])

    def numbers(self, dag_id: str) -> list[int]:
        """`n` of every run's payload."""
        rows = self._rows(
            "SELECT e.extra FROM dag_run r JOIN dagrun_asset_event a ON a.dag_run_id = r.id "
            "JOIN asset_event e ON e.id = a.event_id WHERE r.dag_id = :dag_id",
            dag_id=dag_id,
        )
        extras = [json.loads(row[0]) if isinstance(row[0], str) else row[0] for row in rows]
        return sorted(extra["airflow_assets"]["asset"]["metadata"]["n"] for extra in extras)

    def _rows(self, statement: str, **values: Any) -> list[Any]:
        values = {name: value for name, value in values.items() if value is not None}
        with self._engine.connect() as connection:
            return list(connection.execute(text(statement), values))

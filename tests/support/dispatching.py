"""Dags that follow something, and a dispatcher driven by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow_assets.airflow_bridge.dispatcher import Dispatcher
    from tests.support.airflow_database import AirflowDatabase


def follow(db: AirflowDatabase, dag_id: str, schedule: Any, *, paused: bool = False, **arguments: Any) -> str:
    """Schedule a Dag of one task and return its id."""
    from airflow.providers.standard.operators.empty import EmptyOperator
    from airflow.sdk import DAG

    with DAG(dag_id, schedule=schedule, **arguments) as dag:
        EmptyOperator(task_id="only")
    db.put_dag(dag, paused=paused)
    return dag_id


def dispatch(dispatcher: Dispatcher) -> None:
    """Make passes until nothing is left to do at once, on subscriptions read now."""
    dispatcher.registry.forget("")
    while dispatcher.step():
        pass

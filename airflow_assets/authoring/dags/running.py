"""What a task does: one try of its step by the step engine, recorded once."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from airflow_assets.authoring.dags.compiled import compiled_of
from airflow_assets.authoring.dags.in_task import StepInTask
from airflow_assets.authoring.dags.launches import launch_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from airflow_assets.authoring.dags.operator import AssetStepOperator, ElementsOperator
    from airflow_assets.authoring.storage.interface import Storage


def run_in_task(operator: AssetStepOperator, context: Mapping[str, Any]) -> None:
    """Run the step of a task.

    Raises:
        AirflowSkipException: the Dag run is not for this step.
        Exception: what the body, or a handler, raised.
    """
    with _prepared(operator, context) as step:
        step.perform(operator.element)


def elements_in_task(operator: ElementsOperator, context: Mapping[str, Any]) -> list[str]:
    """Return what tells the instances of a fan-out apart: one text for each element."""
    with _prepared(operator, context) as step:
        return step.elements()


@contextmanager
def _prepared(operator: Any, context: Mapping[str, Any]) -> Iterator[StepInTask]:
    from airflow.sdk.exceptions import AirflowSkipException

    compiled = compiled_of(operator)
    with storage_of(context["ti"]) as storage:
        launch = launch_of(context, compiled, storage.get_dynamic_partitions)
        planned = launch.find(operator.step)
        if planned is None:
            raise AirflowSkipException(f"This run is not for {operator.step!r}")
        yield StepInTask(operator, context, compiled, launch, planned, storage)


@contextmanager
def storage_of(ti: Any) -> Iterator[Storage]:
    """Give the storage that records in the name of a task instance."""
    from airflow_assets.authoring.storage.client import ClientStorage
    from airflow_assets.client import get_client
    from airflow_assets.client.identity import acting_as

    with acting_as(ti):
        yield ClientStorage(get_client())

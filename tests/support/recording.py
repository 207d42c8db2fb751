"""Run one operator as Airflow's task runner does, with the recorder attached and a catalogue that only listens."""

from __future__ import annotations

import uuid
from datetime import datetime, timezone
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from airflow.sdk.execution_time.context import OutletEventAccessors

from airflow_assets.listener import on_task_instance_running
from airflow_assets.schemas.lineage import RecordResult

if TYPE_CHECKING:
    from airflow_assets.exceptions import AssetCatalogError
    from airflow_assets.schemas.lineage import Bundle, Problem, StateCorrection, TaskRunRecord


class ListeningCatalog:
    """Stands in for the client: the real one is under test in `tests/airflow`, each ending of a body is here.

    Args:
        problems: what the catalogue answers for outputs it did not store.
        error: what every call raises instead of an answer.
    """

    def __init__(
        self, problems: list[Problem] | None = None, error: AssetCatalogError | BaseException | None = None
    ) -> None:
        self.records: list[TaskRunRecord] = []
        self.corrections: list[StateCorrection] = []
        self.problems = problems or []
        self.error = error

    def record_task_run(self, record: TaskRunRecord) -> RecordResult:
        self.records.append(record)
        if self.error is not None:
            raise self.error
        return RecordResult(duplicate=False, stored=[], problems=self.problems)

    def correct_state(self, correction: StateCorrection) -> RecordResult:
        self.corrections.append(correction)
        return RecordResult(duplicate=True, stored=[], problems=[])

    @property
    def record(self) -> TaskRunRecord:
        """The one record that was sent."""
        (record,) = self.records
        return record

    @property
    def bundle(self) -> Bundle:
        """The one bundle of the one record."""
        (bundle,) = self.record.bundles
        return bundle


class FakeTaskInstance(SimpleNamespace):
    """What the recorder reads of Airflow's `RuntimeTaskInstance`."""

    def __init__(self, task: Any, *, try_number: int = 1, max_tries: int = 0) -> None:
        dag = task.dag
        super().__init__(
            id=uuid.uuid4(),
            task=task.prepare_for_execution(),
            dag_id=dag.dag_id,
            task_id=task.task_id,
            run_id="manual__1",
            map_index=None,
            try_number=try_number,
            max_tries=max_tries,
            start_date=datetime.now(timezone.utc),
            xcoms={},
        )

    def xcom_push(self, key: str, value: Any) -> None:
        self.xcoms[key] = value

    def get_template_context(self) -> dict[str, Any]:
        return self.context  # type: ignore[no-any-return]


def run_task(
    task: Any,
    *,
    try_number: int = 1,
    max_tries: int = 0,
    resume: dict[str, Any] | None = None,
    instances: list[FakeTaskInstance] | None = None,
) -> tuple[FakeTaskInstance, Any]:
    """Run a task's body as Airflow does and return its instance and result; what the body raises comes out.

    Args:
        resume: `next_method` and `next_kwargs`, if the task goes on after a deferral.
        instances: gets the instance, for a body that raises.
    """
    ti = FakeTaskInstance(task, try_number=try_number, max_tries=max_tries)
    if instances is not None:
        instances.append(ti)
    ti.context = {
        "ti": ti,
        "task": ti.task,
        "dag": task.dag,
        "ds": "2026-11-30",
        "run_id": ti.run_id,
        "params": {"table": "orders", "blank": ""},
        "outlet_events": OutletEventAccessors(),
    }
    on_task_instance_running(previous_state=None, task_instance=ti)
    tracker = _tracker()
    mark = tracker.set(ti.task)
    try:
        if resume is None:
            return ti, ti.task.execute(context=ti.context)
        return ti, ti.task.resume_execution(context=ti.context, **resume)
    finally:
        tracker.reset(mark)


def _tracker() -> Any:
    from airflow.sdk.bases.operator import ExecutorSafeguard

    return ExecutorSafeguard.tracker

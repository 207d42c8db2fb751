"""Rows of Airflow's tables that stand for tasks, for tests of what the API checks there."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow_assets.schemas.credentials import Claims


@dataclass(frozen=True)
class TaskRow:
    """One task instance as it was inserted."""

    ti_id: str
    dag_id: str
    run_id: str
    task_id: str
    map_index: int
    try_number: int
    trigger_id: int | None = None

    def claims(self, **changes: Any) -> Claims:
        """What the client of this task instance says of itself."""
        from airflow_assets.schemas.credentials import Claims

        said: dict[str, Any] = {
            "sub": f"ti:{self.ti_id}",
            "dag_id": self.dag_id,
            "run_id": self.run_id,
            "task_id": self.task_id,
            "map_index": self.map_index,
            "try_number": self.try_number,
        }
        return Claims(**(said | changes))

    def as_json(self, **changes: Any) -> dict[str, Any]:
        """The member `task` of a record of this try."""
        said = {
            "dagId": self.dag_id,
            "runId": self.run_id,
            "taskId": self.task_id,
            "mapIndex": self.map_index,
            "tryNumber": self.try_number,
            "tiId": self.ti_id,
        }
        return said | changes


def add_task(
    state: str | None,
    *,
    dag_id: str = "shop",
    ended: timedelta | None = None,
    map_index: int = -1,
    history: bool = False,
    trigger: bool = False,
) -> TaskRow:
    """Insert a task instance with a run of its own.

    `history=True` makes it a try that is being retried, `trigger=True` lets it wait for a trigger.
    """
    from airflow.models.dagrun import DagRun
    from airflow.models.taskinstance import TaskInstance
    from airflow.models.taskinstancehistory import TaskInstanceHistory
    from airflow.models.trigger import Trigger
    from airflow.utils.session import create_session
    from airflow.utils.state import DagRunState
    from sqlalchemy import insert

    row = TaskRow(str(uuid.uuid4()), dag_id, f"manual__{uuid.uuid4()}", "load", map_index, 1)
    with create_session(scoped=False) as session:
        now = datetime.now(timezone.utc)
        run = DagRun(
            dag_id=row.dag_id, run_id=row.run_id, run_type="manual", run_after=now, state=DagRunState.RUNNING
        )
        session.add(run)
        session.flush()
        if trigger:
            waited_for = Trigger(classpath="none", kwargs={})
            session.add(waited_for)
            session.flush()
            row = replace(row, trigger_id=waited_for.id)
        if history:
            retry = replace(row, ti_id=str(uuid.uuid4()), try_number=2)
            session.execute(
                insert(TaskInstance.__table__).values(_values(TaskInstance, retry, "running", None))
            )
        model = TaskInstanceHistory if history else TaskInstance
        session.execute(insert(model.__table__).values(_values(model, row, state, ended)))
    return row


def _values(model: Any, row: TaskRow, state: str | None, ended: timedelta | None) -> dict[str, Any]:
    now = datetime.now(timezone.utc)
    columns = {column.key for column in model.__table__.columns}
    values: dict[str, Any] = {
        "dag_id": row.dag_id,
        "run_id": row.run_id,
        "task_id": row.task_id,
        "map_index": row.map_index,
        "try_number": row.try_number,
        "max_tries": 0,
        "state": state,
        "trigger_id": row.trigger_id,
        "start_date": now - timedelta(hours=1),
        "end_date": None if ended is None else now - ended,
        "pool": "default_pool",
        "pool_slots": 1,
        "queue": "default",
        "priority_weight": 1,
        "custom_operator_name": "",
        "executor_config": {},
        ("task_instance_id" if "task_instance_id" in columns else "id"): uuid.UUID(row.ti_id),
    }
    return {key: value for key, value in values.items() if key in columns}

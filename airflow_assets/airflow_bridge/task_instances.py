"""Looks up task instances, their earlier tries and triggers, for the API's checks."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, null, select

from airflow_assets.airflow_bridge.context import get_service, orm
from airflow_assets.catalog.engine import read

if TYPE_CHECKING:
    from sqlalchemy.orm import Session


@dataclass(frozen=True)
class TaskTry:
    """One try of a task instance as Airflow's tables have it."""

    ti_id: str
    dag_id: str
    run_id: str
    task_id: str
    map_index: int
    try_number: int
    state: str | None
    end_date: datetime | None
    clear_number: int | None = None


def find_try(ti_id: str) -> TaskTry | None:
    """Return the try with this id, present or earlier (a retry gets a new id); None if unknown."""
    key = _uuid(ti_id)
    if key is None:
        return None
    from airflow.models.taskinstance import TaskInstance
    from airflow.models.taskinstancehistory import TaskInstanceHistory

    with read(get_service().engine) as conn, orm(conn) as session:
        row = _row(session, TaskInstance, TaskInstance.id, key)
        if row is None:
            row = _row(session, TaskInstanceHistory, TaskInstanceHistory.task_instance_id, key)
    return None if row is None else _try_of(str(key), row)


def dag_of_trigger(trigger_id: str) -> str | None:
    """Return the Dag whose task waits for a trigger; None for an asset watcher's, or an unknown one."""
    if not trigger_id.isdecimal():
        return None
    from airflow.models.taskinstance import TaskInstance

    with read(get_service().engine) as conn, orm(conn) as session:
        dag_id: str | None = session.scalar(
            select(TaskInstance.dag_id).where(TaskInstance.trigger_id == int(trigger_id)).limit(1)
        )
    return dag_id


def _row(session: Session, model: Any, id_column: Any, key: uuid.UUID) -> Any:
    from airflow.models.dagrun import DagRun

    cleared = getattr(DagRun, "clear_number", None)  # Airflow 3.2 may not have it
    return session.execute(
        select(
            model.dag_id,
            model.run_id,
            model.task_id,
            model.map_index,
            model.try_number,
            model.state,
            model.end_date,
            (null() if cleared is None else cleared).label("clear_number"),
        )
        .outerjoin(DagRun, and_(DagRun.dag_id == model.dag_id, DagRun.run_id == model.run_id))
        .where(id_column == key)
    ).first()


def _try_of(ti_id: str, row: Any) -> TaskTry:
    state = None if row.state is None else str(getattr(row.state, "value", row.state))
    return TaskTry(
        ti_id=ti_id,
        dag_id=row.dag_id,
        run_id=row.run_id,
        task_id=row.task_id,
        map_index=row.map_index,
        try_number=row.try_number,
        state=state,
        end_date=row.end_date,
        clear_number=row.clear_number,
    )


def _uuid(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None

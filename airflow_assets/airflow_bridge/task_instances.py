"""Looks up task instances, their earlier tries and triggers, for the API's checks."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy import Select, and_, bindparam, null, select

from airflow_assets.airflow_bridge.context import get_service, orm
from airflow_assets.airflow_bridge.subscriptions import teams_of
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
    with read(get_service().engine) as conn:
        for rows in _tries():
            row = conn.execute(rows, {"key": key}).first()
            if row is not None:
                return _try_of(str(key), row)
    return None


def dag_of_trigger(trigger_id: str) -> str | None:
    """Return the Dag whose task waits for a trigger, or that is scheduled on what it watches."""
    if not trigger_id.isdecimal():
        return None
    from airflow.models.taskinstance import TaskInstance

    with read(get_service().engine) as conn, orm(conn) as session:
        dag_id: str | None = session.scalar(
            select(TaskInstance.dag_id).where(TaskInstance.trigger_id == int(trigger_id)).limit(1)
        )
        return dag_id or _dag_of_watcher(session, int(trigger_id))


def _dag_of_watcher(session: Session, trigger_id: int) -> str | None:
    """One of the Dags that are scheduled on what a trigger watches; None where they are of several teams."""
    from airflow.models.asset import AssetWatcherModel, DagScheduleAssetReference

    found = session.scalars(
        select(DagScheduleAssetReference.dag_id)
        .join(AssetWatcherModel, AssetWatcherModel.asset_id == DagScheduleAssetReference.asset_id)
        .where(AssetWatcherModel.trigger_id == trigger_id)
        .order_by(DagScheduleAssetReference.dag_id)
    ).all()
    known = teams_of(session, set(found))
    return found[0] if found and len({known.get(dag_id) for dag_id in found}) == 1 else None


@lru_cache(maxsize=1)
def _tries() -> tuple[Select[Any], Select[Any]]:
    """Return the statements for a present and an earlier try; every request of a task needs them."""
    from airflow.models.taskinstance import TaskInstance
    from airflow.models.taskinstancehistory import TaskInstanceHistory

    return _rows(TaskInstance, "id"), _rows(TaskInstanceHistory, "task_instance_id")


def _rows(model: Any, id_name: str) -> Select[Any]:
    """Select from the tables, without the ORM: it would cost three times as much."""
    from airflow.models.dagrun import DagRun

    tried, run = model.__table__.c, cast("Any", DagRun).__table__.c
    known = ("dag_id", "run_id", "task_id", "map_index", "try_number", "state", "end_date")
    cleared = run.get("clear_number", null())  # Airflow 3.2 may not have it
    return (
        select(*(tried[name] for name in known), cleared.label("clear_number"))
        .outerjoin_from(
            model.__table__,
            cast("Any", DagRun).__table__,
            and_(run.dag_id == tried.dag_id, run.run_id == tried.run_id),
        )
        .where(tried[id_name] == bindparam("key"))
    )


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

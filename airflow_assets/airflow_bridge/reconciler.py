"""Records what could not record itself: tasks ended in the triggerer, marked by hand, lost with a worker.

Looks at tries that ended in the last minutes: one that declares assets and has no record gets one; one whose
record has another state than Airflow gave the try in the end is corrected.
"""

from __future__ import annotations

import logging
import time
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, or_, select, union

from airflow_assets.airflow_bridge.context import announce_commit, give_way, orm
from airflow_assets.airflow_bridge.declared_runs import STATES, Declarations, EndedTry
from airflow_assets.catalog import record, tables
from airflow_assets.catalog.engine import db_now, read, retrying, write
from airflow_assets.catalog.record import record_key
from airflow_assets.exceptions import AssetCatalogError
from airflow_assets.schemas.lineage import StateCorrection, TaskRun, TaskState
from airflow_assets.schemas.rules import DEFAULT_TENANT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection, Engine
    from sqlalchemy.orm import Session

log = logging.getLogger(__name__)
WINDOW = timedelta(minutes=10)
GRACE = timedelta(seconds=5)
RECENT_RUNS = 20_000
"""Tries of older runs are found only if their run is running or somebody changed it by hand."""
_CHUNK = 400
_FAILED = frozenset({TaskState.FAILED, TaskState.UP_FOR_RETRY})


class Reconciler:
    """The job; see the module."""

    name = "reconciler"
    interval = 10.0

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._declarations = Declarations()
        self._settled: dict[bytes, TaskState] = {}

    def close(self) -> None:
        """Nothing to let go of."""

    def step(self) -> bool:
        """Look once at all tries that ended in the window."""
        with read(self._engine) as conn:
            now = db_now(conn)
            with orm(conn) as session:
                tries = {
                    record_key(DEFAULT_TENANT, one.task): one
                    for one in _ended(session, now - WINDOW, now - GRACE)
                }
            open_keys = [key for key, one in tries.items() if self._settled.get(key) is not one.state]
            recorded = _recorded_states(conn, open_keys)
        self._settled = {key: state for key, state in self._settled.items() if key in tries}
        for key in open_keys:
            self._settle(tries[key], recorded.get(key))
            self._settled[key] = tries[key].state
        return False

    def _settle(self, ended: EndedTry, recorded: TaskState | None) -> None:
        task = ended.task
        try:
            if recorded is None:
                self._record(ended)
            elif recorded is not ended.state and not {recorded, ended.state} <= _FAILED:
                self._correct(ended)
        except (AssetCatalogError, ValueError) as error:
            if getattr(error, "status", 422) >= 500:
                raise
            log.warning(
                "Try %d of %s.%s (run %s) cannot be recorded: %s",
                task.try_number, task.dag_id, task.task_id, task.run_id, error,
            )  # fmt: skip

    def _record(self, ended: EndedTry) -> None:
        with read(self._engine) as conn, orm(conn) as session:
            made = self._declarations.record(session, ended)
        if made is None:
            return
        began = time.monotonic()

        def work() -> None:
            with write(self._engine) as conn:
                record.record_task_run(conn, ended.caller, made)

        retrying(work)
        announce_commit()
        give_way(self._engine, time.monotonic() - began)

    def _correct(self, ended: EndedTry) -> None:
        correction = StateCorrection(task=ended.task, state=ended.state, end_date=ended.end_date)

        def work() -> None:
            with write(self._engine) as conn:
                record.correct_state(conn, ended.caller, correction)

        retrying(work)


def _recorded_states(conn: Connection, keys: Sequence[bytes]) -> dict[bytes, TaskState]:
    lineage = tables.lineage.c
    found: dict[bytes, TaskState] = {}
    for start in range(0, len(keys), _CHUNK):
        rows = conn.execute(
            select(lineage.record_key, lineage.state).where(
                lineage.record_key.in_(keys[start : start + _CHUNK])
            )
        )
        found.update({bytes(row.record_key): TaskState(row.state) for row in rows})
    return found


def _ended(session: Session, since: datetime, until: datetime) -> Iterator[EndedTry]:
    """Yield the tries that ended in the window, of tasks that declare assets."""
    from airflow.models.taskinstance import TaskInstance
    from airflow.models.taskinstancehistory import TaskInstanceHistory

    declaring = _declaring_tasks(session)
    runs = _runs(session, since, {dag_id for dag_id, _ in declaring})
    for dag_id, run_ids in runs.items():
        for start in range(0, len(run_ids), _CHUNK):
            chunk = run_ids[start : start + _CHUNK]
            for model, id_name in ((TaskInstance, "id"), (TaskInstanceHistory, "task_instance_id")):
                tries = _tries(model, id_name, dag_id, chunk)
                for row in session.execute(tries.where(model.end_date >= since, model.end_date <= until)):
                    one = _ended_try(row) if (dag_id, row.task_id) in declaring else None
                    if one is not None:
                        yield one


def _declaring_tasks(session: Session) -> set[tuple[str, str]]:
    from airflow.models.asset import TaskInletAssetReference, TaskOutletAssetReference

    rows = session.execute(
        union(
            select(TaskOutletAssetReference.dag_id, TaskOutletAssetReference.task_id),
            select(TaskInletAssetReference.dag_id, TaskInletAssetReference.task_id),
        )
    )
    return {(row.dag_id, row.task_id) for row in rows}


def _runs(session: Session, since: datetime, dag_ids: set[str]) -> dict[str, list[str]]:
    """Return the runs in which a task may have ended, by indexes alone, whatever history there is."""
    from airflow.models.dagrun import DagRun
    from airflow.models.log import Log
    from airflow.utils.state import DagRunState

    newest = session.scalar(select(func.max(DagRun.id))) or 0
    changed = or_(DagRun.updated_at >= since, DagRun.end_date >= since)
    found: dict[str, set[str]] = {}
    for statement in (
        select(DagRun.dag_id, DagRun.run_id).where(DagRun.state == DagRunState.RUNNING),
        select(DagRun.dag_id, DagRun.run_id).where(DagRun.id > newest - RECENT_RUNS, changed),
        select(Log.dag_id, Log.run_id).where(Log.dttm >= since, Log.run_id.is_not(None)).distinct(),
    ):
        for row in session.execute(statement):
            if row.dag_id in dag_ids:
                found.setdefault(row.dag_id, set()).add(row.run_id)
    return {dag_id: sorted(run_ids) for dag_id, run_ids in found.items()}


def _tries(model: Any, id_name: str, dag_id: str, run_ids: Sequence[str]) -> Any:
    return select(
        getattr(model, id_name).label("ti_id"),
        model.dag_id,
        model.run_id,
        model.task_id,
        model.map_index,
        model.try_number,
        model.state,
        model.start_date,
        model.end_date,
    ).where(
        model.dag_id == dag_id,
        model.run_id.in_(run_ids),
    )


def _ended_try(row: Any) -> EndedTry | None:
    """Return the try of a row; None if it has not ended, or was skipped before it ever began."""
    state = STATES.get(str(getattr(row.state, "value", row.state)))
    if state is None or (state is TaskState.SKIPPED and not row.try_number):
        return None
    task = TaskRun(
        dag_id=row.dag_id,
        run_id=row.run_id,
        task_id=row.task_id,
        map_index=row.map_index,
        try_number=row.try_number,
        ti_id=str(row.ti_id),
    )
    return EndedTry(task, state, row.start_date, row.end_date)

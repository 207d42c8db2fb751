"""Who reads the log, as Airflow knows it; the table ``consumer`` has the others."""

from __future__ import annotations

from datetime import timezone
from typing import TYPE_CHECKING
from uuid import UUID

from sqlalchemy import delete, select

from airflow_assets.airflow_bridge import positions
from airflow_assets.airflow_bridge.context import orm
from airflow_assets.airflow_bridge.subscriptions import Subscriptions
from airflow_assets.catalog import tables, waits
from airflow_assets.catalog.engine import db_now, read, retrying, write
from airflow_assets.schemas.purge import LogReader

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Engine

_AT_ONCE = 400
_consumer = tables.consumer.c


def new_dags(conn: Connection) -> list[LogReader]:
    """Return the Dags that follow events and to which the dispatcher has not given a position yet.

    They begin where :func:`~airflow_assets.airflow_bridge.positions.start_position` will let them begin.
    """
    with orm(conn) as session:
        dags = Subscriptions().read(session)
    placed = positions.read_positions(conn)
    now = db_now(conn)
    return [
        LogReader(
            kind=positions.KIND,
            name=dag_id,
            seq=positions.first_seq(conn, min(one.since for one in dag.triggers), now),
            updated=now.astimezone(timezone.utc),
        )
        for dag_id, dag in dags.items()
        if dag_id not in placed
    ]


def forget_ended_sensors(engine: Engine) -> None:
    """Drop the places of sensors whose try is over; the next try has a place of its own."""
    with read(engine) as conn:
        names = conn.scalars(select(_consumer.name).where(_consumer.kind == waits.KIND)).all()
        ended = sorted(set(names) - _waiting(conn, names))
    if not ended:
        return

    def work() -> None:
        with write(engine) as conn:
            for start in range(0, len(ended), _AT_ONCE):
                some = _consumer.name.in_(ended[start : start + _AT_ONCE])
                conn.execute(delete(tables.consumer).where(_consumer.kind == waits.KIND, some))

    retrying(work)


def _waiting(conn: Connection, names: Sequence[str]) -> set[str]:
    """Which of the task instances of these ids have not ended."""
    from airflow.models.taskinstance import TaskInstance
    from airflow.utils.state import State

    ids = [UUID(name) for name in names]
    found: set[str] = set()
    with orm(conn) as session:
        for start in range(0, len(ids), _AT_ONCE):
            rows = session.execute(
                select(TaskInstance.id, TaskInstance.state).where(
                    TaskInstance.id.in_(ids[start : start + _AT_ONCE])
                )
            )
            found |= {str(UUID(str(row.id))) for row in rows if row.state not in State.finished}
    return found

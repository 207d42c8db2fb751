"""Forgets the places of sensors whose tries have ended; what they kept back may then be purged."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from sqlalchemy import delete, select

from airflow_assets.airflow_bridge.context import orm
from airflow_assets.catalog import tables
from airflow_assets.catalog.engine import read, retrying, write
from airflow_assets.catalog.waits import KIND

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

PAGE = 500
_consumer = tables.consumer.c


class SensorPlaces:
    """The job: looks through all places, a page at a time."""

    name = "sensors"
    interval = 300.0

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._last = ""

    def close(self) -> None:
        """Nothing to let go of."""

    def step(self) -> bool:
        """Look at one page; return True if there are more."""
        with read(self._engine) as conn:
            names = list(
                conn.scalars(
                    select(_consumer.name)
                    .where(_consumer.kind == KIND, _consumer.name > self._last)
                    .order_by(_consumer.name)
                    .limit(PAGE)
                )
            )
            ended = sorted(set(names) - _waiting(conn, names))
        if ended:
            retrying(lambda: self._forget(ended))
        self._last = names[-1] if len(names) == PAGE else ""
        return bool(self._last)

    def _forget(self, names: list[str]) -> None:
        with write(self._engine) as conn:
            conn.execute(delete(tables.consumer).where(_consumer.kind == KIND, _consumer.name.in_(names)))


def _waiting(conn: Connection, names: list[str]) -> set[str]:
    """Return those that are task instances of now (a retry has another id) that have not ended."""
    from airflow.models.taskinstance import TaskInstance
    from airflow.utils.state import State, TaskInstanceState

    ids = [uuid.UUID(name) for name in names]
    over = {*State.finished, TaskInstanceState.UP_FOR_RETRY}
    with orm(conn) as session:
        rows = session.execute(select(TaskInstance.id, TaskInstance.state).where(TaskInstance.id.in_(ids)))
        return {str(row.id) for row in rows if row.state not in over}

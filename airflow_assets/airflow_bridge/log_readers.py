"""Who reads the log, as Airflow knows it; the table ``consumer`` has the others."""

from __future__ import annotations

from datetime import timezone
from typing import TYPE_CHECKING

from airflow_assets.airflow_bridge import positions
from airflow_assets.airflow_bridge.context import orm
from airflow_assets.airflow_bridge.subscriptions import Subscriptions
from airflow_assets.catalog.engine import db_now
from airflow_assets.schemas.purge import LogReader

if TYPE_CHECKING:
    from sqlalchemy import Connection


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

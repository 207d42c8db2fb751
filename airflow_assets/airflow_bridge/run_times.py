"""What Airflow knows of the Dag runs that lineage events name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow.models.dagrun import DagRun
from sqlalchemy import select, tuple_

from airflow_assets.airflow_bridge.context import orm
from airflow_assets.schemas.shipping import DagRunTimes, LineagePage

if TYPE_CHECKING:
    from sqlalchemy import Connection

_COLUMNS = (DagRun.dag_id, DagRun.run_id, DagRun.logical_date, DagRun.run_after, DagRun.clear_number)


def with_runs(conn: Connection, page: LineagePage) -> LineagePage:
    """Return the page with the times of the runs that Airflow still knows; one statement."""
    pairs = sorted({(item.task.dag_id, item.task.run_id) for item in page.items})
    if not pairs:
        return page
    wanted = select(*_COLUMNS).where(tuple_(DagRun.dag_id, DagRun.run_id).in_(pairs))
    with orm(conn) as session:
        known = {
            (row.dag_id, row.run_id): DagRunTimes(
                logical_date=row.logical_date, run_after=row.run_after, clear_number=row.clear_number or 0
            )
            for row in session.execute(wanted)
        }
    items = [
        item.model_copy(update={"run": known.get((item.task.dag_id, item.task.run_id))})
        for item in page.items
    ]
    return page.model_copy(update={"items": items})

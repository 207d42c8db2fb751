"""Which Dag runs have ended: their locks are free then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select, tuple_

from airflow_assets.airflow_bridge.context import orm

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlalchemy import Connection

    from airflow_assets.catalog.leases_owner import Run

_AT_ONCE = 200


def ended_runs(conn: Connection, runs: Collection[Run]) -> set[Run]:
    """Return those of the runs that are finished, or that Airflow no longer has."""
    from airflow.models.dagrun import DagRun
    from airflow.utils.state import State

    going: set[Run] = set()
    pairs = sorted(runs)
    with orm(conn) as session:
        for start in range(0, len(pairs), _AT_ONCE):
            of_these = tuple_(DagRun.dag_id, DagRun.run_id).in_(pairs[start : start + _AT_ONCE])
            rows = session.execute(select(DagRun.dag_id, DagRun.run_id, DagRun.state).where(of_these))
            going.update(
                (row.dag_id, row.run_id) for row in rows if row.state not in State.finished_dr_states
            )
    return set(runs) - going

"""How the catalogue is doing: its log, its readers, its background jobs, the runs that wait. Reads only."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, or_, select

from airflow_assets.airflow_bridge import positions
from airflow_assets.airflow_bridge.registry import GONE
from airflow_assets.catalog import tables
from airflow_assets.catalog.engine import read, utc_now
from airflow_assets.catalog.log import last_seq
from airflow_assets.catalog.shippers import bookmarks_with_end
from airflow_assets.schemas.runs import PREFIXES

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine, Row

MAX_ROWS = 1_000
"""Dags that are listed one by one; what lies beyond is left out, the largest come first."""


@dataclass(frozen=True)
class Job:
    """A background job: who runs it (empty: nobody yet), and whether its lease is still good."""

    name: str
    owner: str
    expires: datetime
    alive: bool


@dataclass(frozen=True)
class ShipperVitals:
    """An exporter of a shipper.

    :param name: ``<tenant>/<shipper>/<exporter>``.
    :param backlog: numbers of the log that it has not confirmed.
    :param confirmed: when it last confirmed anything.
    :param failed: whether its last run failed.
    """

    name: str
    backlog: int
    confirmed: datetime | None
    failed: bool


@dataclass(frozen=True)
class Vitals:
    """The state of the log and its readers at one moment.

    :param log_position: the last number given to an event or a lineage row.
    :param unread: Dag -> entries of the log that the dispatcher has not looked at for it.
    :param oldest_unread: age in seconds of the oldest event that some Dag's position has not passed, else 0.
    :param pending: Dag -> queued runs that events made.
    :param shippers: exporters of shippers, those that are furthest behind first.
    """

    log_position: int
    unread: dict[str, int]
    oldest_unread: float
    pending: dict[str, int]
    jobs: tuple[Job, ...]
    shippers: tuple[ShipperVitals, ...] = ()


def jobs(engine: Engine) -> tuple[Job, ...]:
    """Return the background jobs; one statement.

    :raises sqlalchemy.exc.DBAPIError: the database or the table is not there.
    """
    with read(engine) as conn:
        return _jobs(conn)


def vitals(engine: Engine) -> Vitals:
    """Return what the gauges show; six statements, whatever the size of the catalogue."""
    with read(engine) as conn:
        end = last_seq(conn)
        unread = _unread(conn, end)
        return Vitals(
            log_position=end,
            unread=unread,
            oldest_unread=_oldest_unread(conn, end - max(unread.values(), default=0)),
            pending=_pending(conn),
            shippers=_shippers(conn),
            jobs=_jobs(conn),
        )


def _jobs(conn: Connection) -> tuple[Job, ...]:
    job = tables.job
    rows = conn.execute(
        select(job.c.name, job.c.owner, job.c.expires, utc_now()).order_by(job.c.name).limit(100)
    )
    return tuple(Job(name, owner, expires, expires > now) for name, owner, expires, now in rows)


def _shippers(conn: Connection) -> tuple[ShipperVitals, ...]:
    rows = conn.execute(bookmarks_with_end().order_by(tables.consumer.c.seq).limit(MAX_ROWS))
    return tuple(_shipper(row) for row in rows)


def _shipper(row: Row[Any]) -> ShipperVitals:
    state = json.loads(row.state)
    confirmed = state.get("confirmed")
    return ShipperVitals(
        name=row.name,
        backlog=max(0, row.last - row.seq),
        confirmed=datetime.fromisoformat(confirmed.replace("Z", "+00:00")) if confirmed else None,
        failed=bool((state.get("result") or {}).get("error")),
    )


def _unread(conn: Connection, end: int) -> dict[str, int]:
    behind = [
        (end - position.seq, dag_id)
        for dag_id, position in positions.read_positions(conn).items()
        if GONE not in position.state
    ]
    return {dag_id: max(0, count) for count, dag_id in sorted(behind, reverse=True)[:MAX_ROWS]}


def _oldest_unread(conn: Connection, cursor: int) -> float:
    event = tables.event
    row = conn.execute(
        select(event.c.created, utc_now()).where(event.c.seq > cursor).order_by(event.c.seq).limit(1)
    ).first()
    return max(0.0, (row[1] - row[0]).total_seconds()) if row else 0.0


def _pending(conn: Connection) -> dict[str, int]:
    from airflow.models.dagrun import DagRun

    count = func.count().label("pending")
    ours = or_(*(DagRun.run_id.startswith(prefix, autoescape=True) for prefix in PREFIXES.values()))
    rows = conn.execute(
        select(DagRun.dag_id, count)
        .where(DagRun.state == "queued", ours)
        .group_by(DagRun.dag_id)
        .order_by(count.desc(), DagRun.dag_id)
        .limit(MAX_ROWS)
    )
    return {dag_id: int(number) for dag_id, number in rows}

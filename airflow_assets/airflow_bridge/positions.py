"""How far each Dag has come in the event log: rows of the table ``consumer`` of kind ``dag``."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, insert, select, update

from airflow_assets.catalog import tables
from airflow_assets.catalog.engine import utc_now
from airflow_assets.catalog.log import first_seq_since
from airflow_assets.schemas.rules import DEFAULT_TENANT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection

KIND = "dag"
LOOK_BACK = timedelta(minutes=1)
"""How far before it is first seen a new subscription may reach back: to when Airflow parsed it."""
_consumer = tables.consumer.c


@dataclass(frozen=True)
class Position:
    """A Dag has handled every event up to ``seq``.

    :param state: what else is kept for it, as JSON.
    """

    seq: int
    state: dict[str, Any] = field(default_factory=dict)


def read_positions(conn: Connection) -> dict[str, Position]:
    """Return the position of every Dag that has one."""
    rows = conn.execute(select(_consumer.name, _consumer.seq, _consumer.state).where(_consumer.kind == KIND))
    return {row.name: Position(row.seq, json.loads(row.state) if row.state else {}) for row in rows}


def lock_position(conn: Connection, dag_id: str) -> Position | None:
    """Return a Dag's position and keep it from moving until the end of the transaction."""
    row = conn.execute(
        select(_consumer.seq, _consumer.state)
        .where(_consumer.kind == KIND, _consumer.name == dag_id)
        .with_for_update()
    ).first()
    return None if row is None else Position(row.seq, json.loads(row.state) if row.state else {})


def start_position(conn: Connection, dag_id: str, since: datetime, now: datetime) -> Position:
    """Give a new Dag its position: behind all events older than its subscription."""
    position = Position(first_seq(conn, since, now))
    conn.execute(
        insert(tables.consumer).values(
            kind=KIND, name=dag_id, seq=position.seq, state=None, updated=utc_now()
        )
    )
    return position


def first_seq(conn: Connection, since: datetime, now: datetime) -> int:
    """Return where a Dag begins that subscribed then."""
    return first_seq_since(conn, DEFAULT_TENANT, max(since, now - LOOK_BACK))


def save_position(conn: Connection, dag_id: str, position: Position) -> None:
    """Write a Dag's position."""
    conn.execute(
        update(tables.consumer)
        .where(_consumer.kind == KIND, _consumer.name == dag_id)
        .values(
            seq=position.seq, state=json.dumps(position.state) if position.state else None, updated=utc_now()
        )
    )


def advance_positions(conn: Connection, dag_ids: Iterable[str], seq: int) -> None:
    """Move Dags that handled everything up to ``seq`` without a run; never backwards."""
    conn.execute(
        update(tables.consumer)
        .where(_consumer.kind == KIND, _consumer.name.in_(sorted(dag_ids)), _consumer.seq < seq)
        .values(seq=seq, updated=utc_now())
    )


def drop_positions(conn: Connection, dag_ids: Iterable[str]) -> None:
    """Forget Dags that are gone."""
    conn.execute(delete(tables.consumer).where(_consumer.kind == KIND, _consumer.name.in_(sorted(dag_ids))))

"""The event log: read in order by its followers, listed for people, one event by its id.

Every event has a number that no later commit undercuts (:mod:`~airflow_assets.catalog.write_set`), so a
follower that has come to number *n* asks for what is after *n* and misses nothing.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select, update

from airflow_assets.catalog import tables
from airflow_assets.catalog.write_set import LOG
from airflow_assets.exceptions import EventNotFound
from airflow_assets.schemas.actors import Source
from airflow_assets.schemas.events import Event, EventAsset, EventKind

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from sqlalchemy import Connection, Row, Table

EVENT_COLUMNS = tuple(
    tables.event.c[name]
    for name in ("seq", "event_id", "kind", "created", "payload", "diff", "source", "depth", "suppressed")
)
_EVENT_ID = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_AT_ONE_TIME = 1_000
_MARKED = 400


def read_after(conn: Connection, tenant: str, seq: int, limit: int) -> list[Event]:
    """Return the first ``limit`` events after number ``seq``, oldest first, with their payloads."""
    event = tables.event.c
    rows = conn.execute(
        select(*EVENT_COLUMNS).where(event.tenant == tenant, event.seq > seq).order_by(event.seq).limit(limit)
    )
    return [event_of(row) for row in rows]


def last_seq(conn: Connection) -> int:
    """Return the number of the newest entry of the log; 0 when it has none yet."""
    value = conn.execute(select(tables.sequence.c.value).where(tables.sequence.c.name == LOG)).scalar()
    return int(value or 0)


def first_seq_since(
    conn: Connection,
    tenant: str,
    since: datetime,
    entries: Collection[Table] = (tables.event, tables.firing),
) -> int:
    """Return the number from which a reader must read (exclusive) to see all these entries since that time.

    Numbers are given at the end of a transaction and times at its begin, so of two events at nearly one time
    the later one can have the smaller number: the smallest number among those since then counts.
    """
    last = last_seq(conn)  # before the look for events: what comes in between has a greater number
    found = [_first_since(conn, table, tenant, since) for table in entries]
    return min((first for first in found if first is not None), default=last + 1) - 1


def _first_since(conn: Connection, table: Table, tenant: str, since: datetime) -> int | None:
    entry = table.c
    # In the order of the index on times: the planner would look for the smallest number from the log's begin.
    early = (
        select(entry.seq)
        .where(entry.created >= since, entry.tenant == tenant)
        .order_by(entry.created)
        .limit(_AT_ONE_TIME)
        .subquery()
    )
    first = conn.execute(select(func.min(early.c.seq))).scalar()
    return None if first is None else int(first)


def find_event(conn: Connection, tenant: str, event_id: str) -> Event | None:
    """Return the event of this id, or null."""
    if not _EVENT_ID.fullmatch(event_id):
        return None
    event = tables.event.c
    row = conn.execute(
        select(*EVENT_COLUMNS).where(event.event_id == event_id.lower(), event.tenant == tenant)
    ).one_or_none()
    return event_of(row) if row else None


def event_not_found(event_id: str) -> EventNotFound:
    """Return the error of an id that is no event of the caller's."""
    return EventNotFound(
        f"There is no event {event_id!r}.", hint="It may have been purged.", event_id=event_id
    )


def mark_suppressed(conn: Connection, seqs: Collection[int], reason: str = "loop") -> None:
    """Say on events why no run was made for them."""
    numbers = sorted(seqs)
    for start in range(0, len(numbers), _MARKED):
        some = numbers[start : start + _MARKED]
        conn.execute(update(tables.event).where(tables.event.c.seq.in_(some)).values(suppressed=reason))


def event_of(row: Row[Any]) -> Event:
    """Return the event of a row with :data:`EVENT_COLUMNS`."""
    return Event(
        seq=row.seq,
        id=row.event_id,
        event=EventKind(row.kind),
        event_time=row.created,
        asset=EventAsset.model_validate_json(row.payload),
        source=Source.model_validate_json(row.source),
        changed=list(json.loads(row.diff)),
        depth=row.depth,
        suppressed=row.suppressed,
    )

"""Who still reads the log, and from where: what a purge must leave.

A reader counts as long as it moves. One that has not moved for 7 days, and has had something to read all that
time, is idle: it is reported and holds nothing back any more. A reader that is silent because the log is, is
not idle: what comes next is kept for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from sqlalchemy import select

from airflow_assets.catalog import tables
from airflow_assets.catalog.engine import db_now
from airflow_assets.catalog.log import last_seq
from airflow_assets.schemas.purge import LogReader

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import Connection, Table

    MoreReaders = Callable[[Connection], Sequence[LogReader]]

IDLE = timedelta(days=7)
SHOWN = 100
READS = {"dag": (tables.event, tables.firing), "sensor": (tables.event,)}
"""What readers of a kind read; of any other kind, as shippers do, events and lineage."""
OF_OTHER_LOGS = frozenset({"follower"})
"""Kinds whose position is a number of Airflow's own events."""


@dataclass
class Readers:
    """The readers that have not read everything, furthest behind first.

    :param end: the last number of the log.
    """

    end: int
    waiting: list[LogReader] = field(default_factory=list)
    idle: list[LogReader] = field(default_factory=list)

    def floor(self, *, lineage: bool) -> int:
        """Return the last number that everybody has read of the events or of the lineage.

        What is written from now on is kept: it has a number beyond the end of the log.
        """
        table = tables.lineage if lineage else tables.event
        return min([self.end, *(one.seq for one in self.waiting if table in _reads(one.kind))])


def read_readers(conn: Connection, more: MoreReaders | None = None) -> Readers:
    """Return the readers of the log.

    :param more: gives readers that are not in the table ``consumer``, in the same transaction; asked before
        the table, so that one that moves there in between is seen twice and not missed.
    """
    others = list(more(conn)) if more else []
    consumer = tables.consumer.c
    found = Readers(last_seq(conn))
    rows = conn.execute(
        select(consumer.kind, consumer.name, consumer.seq, consumer.updated)
        .where(consumer.kind.not_in(sorted(OF_OTHER_LOGS)), consumer.seq < found.end)
        .order_by(consumer.seq, consumer.kind, consumer.name)
    )
    kept = [LogReader(kind=row.kind, name=row.name, seq=row.seq, updated=row.updated) for row in rows]
    behind = [*kept, *(one for one in others if one.seq < found.end)]
    since = db_now(conn) - IDLE
    first_unread: dict[tuple[int, tuple[Table, ...]], datetime | None] = {}
    for one in sorted(behind, key=lambda one: one.seq):
        idle = False
        if one.updated <= since:
            key = (one.seq, _reads(one.kind))
            if key not in first_unread:
                first_unread[key] = _first_after(conn, *key)
            unread = first_unread[key]
            idle = unread is not None and unread <= since
        (found.idle if idle else found.waiting).append(one)
    return found


def _reads(kind: str) -> tuple[Table, ...]:
    return READS.get(kind, (tables.event, tables.lineage))


def _first_after(conn: Connection, seq: int, read: tuple[Table, ...]) -> datetime | None:
    """When the oldest entry was written that a reader at ``seq`` has not read; null when it has read all."""
    times: list[datetime] = []
    for table in read:
        rows = select(table.c.created).where(table.c.seq > seq).order_by(table.c.seq).limit(1)
        times += conn.execute(rows).scalars().all()
    return min(times, default=None)

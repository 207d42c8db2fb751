"""Who waits for locks: first come, first served, over all assets that one waits for.

A wait has one place, its arrival, in the queues of all its assets. So of any set of waiters the first is
never behind another one, and no two wait for each other. Who has not asked again for
:data:`~airflow_assets.schemas.leases.WAITER_PATIENCE` is passed over.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, delete, insert, select, update

from airflow_assets.catalog import leases_rows, tables
from airflow_assets.catalog.engine import db_now
from airflow_assets.catalog.write_set import chunks
from airflow_assets.schemas.leases import WAITER_PATIENCE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

_waiter = tables.waiter.c
_lease = tables.lease.c
REFRESH_AFTER = WAITER_PATIENCE / 4
"""How old at most a waiter's sign of life gets while somebody looks after it."""
Place = tuple["datetime", str]


class Queue:
    """The waiters for some assets, whose rows are locked."""

    def __init__(self, conn: Connection, keys: Iterable[bytes], now: datetime) -> None:
        self._conn = conn
        self._now = now
        self._live: dict[bytes, list[Any]] = defaultdict(list)
        self._dead: list[Any] = []
        for row in _read(conn, keys):
            if row.seen > now - WAITER_PATIENCE:
                self._live[bytes(row.asset_key)].append(row)
            else:
                self._dead.append(row)

    def ahead(self, key: bytes, owner_key: bytes, wait_id: str | None) -> int:
        """Return how many others come earlier; for who has no place, all others do."""
        own = self._place(wait_id)
        others = [row for row in self._live[key] if bytes(row.owner_key) != owner_key]
        return sum(own is None or _place(row) < own for row in others)

    def has(self, keys: Collection[bytes], owner_key: bytes, wait_id: str) -> bool:
        """Tell whether the wait has its place in all of these queues, and has asked a short while ago."""
        recent = self._now - REFRESH_AFTER
        return all(
            any(
                row.wait_id == wait_id and bytes(row.owner_key) == owner_key and row.seen > recent
                for row in self._live[key]
            )
            for key in keys
        )

    def join(self, keys: Collection[bytes], owner_key: bytes, wait_id: str) -> None:
        """Take a place at the end of the queues of these assets, or keep the one that is held already."""
        place = self._place(wait_id)
        since = place[0] if place else self._now
        leave(self._conn, wait_id)
        rows = [
            {"asset_key": key, "wait_id": wait_id, "owner_key": owner_key, "since": since, "seen": self._now}
            for key in sorted(keys)
        ]
        self._conn.execute(insert(tables.waiter), rows)

    def served(self, keys: Collection[bytes], wait_id: str | None) -> dict[bytes, bool]:
        """Remove a waiter who has got his locks, and the dead; return whether others wait, by asset."""
        if wait_id is not None:
            leave(self._conn, wait_id)
        if self._dead:
            gone = [{"row_key": row.asset_key, "row_wait": row.wait_id} for row in self._dead]
            self._conn.execute(_DELETE, gone)
        return {key: any(row.wait_id != wait_id for row in self._live[key]) for key in keys}

    def _place(self, wait_id: str | None) -> Place | None:
        places = [_place(row) for rows in self._live.values() for row in rows if row.wait_id == wait_id]
        return min(places, default=None)


def leave(conn: Connection, wait_id: str) -> None:
    """Give up a place; the flag ``queued`` of the leases is corrected by whoever looks next."""
    conn.execute(delete(tables.waiter).where(_waiter.wait_id == wait_id))


def turns(conn: Connection, wait_ids: Sequence[str]) -> set[str]:
    """Return those waits that may have their locks now, or have no place, and so should acquire again.

    One statement for all of them, and one that keeps their places every 15 s; in a writing transaction.
    """
    now = db_now(conn)
    rows = [row for some in _portions(wait_ids) for row in conn.execute(_OF_WAITS, {"waits": some})]
    keys = {bytes(row.asset_key) for row in rows}
    mine: dict[str, list[Any]] = defaultdict(list)
    for row in rows:
        mine[row.wait_id].append(row)
    held = _held(conn, keys, now)
    queues: dict[bytes, list[Any]] = defaultdict(list)
    for row in _read(conn, keys):
        if row.seen > now - WAITER_PATIENCE or row.wait_id in mine:
            queues[bytes(row.asset_key)].append(row)
    _keep(conn, mine, now)
    return {wait_id for wait_id in wait_ids if all(_is_free(row, held, queues) for row in mine[wait_id])}


def _is_free(own: Any, held: dict[bytes, bytes], queues: dict[bytes, list[Any]]) -> bool:
    key, owner_key = bytes(own.asset_key), bytes(own.owner_key)
    if held.get(key, owner_key) != owner_key:
        return False
    return not any(
        bytes(other.owner_key) != owner_key and _place(other) < _place(own) for other in queues[key]
    )


def _held(conn: Connection, keys: Iterable[bytes], now: datetime) -> dict[bytes, bytes]:
    """The owner of each asset that is locked."""
    leases = leases_rows.read_leases(conn, keys)
    live = {key: row for key, row in leases.items() if leases_rows.is_held(row, now)}
    ended = leases_rows.of_ended_runs(conn, live)
    return {key: bytes(row.owner_key) for key, row in live.items() if key not in ended}


def _keep(conn: Connection, waits: dict[str, list[Any]], now: datetime) -> None:
    old = sorted(
        wait_id for wait_id, rows in waits.items() if any(row.seen < now - REFRESH_AFTER for row in rows)
    )
    for some in _portions(old):
        conn.execute(update(tables.waiter).where(_waiter.wait_id.in_(some)).values(seen=now))


def _read(conn: Connection, keys: Iterable[bytes]) -> list[Any]:
    return [row for some in chunks(sorted(keys)) for row in conn.execute(_OF_KEYS, {"keys": list(some)})]


def _place(row: Any) -> Place:
    return row.since, row.wait_id


def _portions(items: Sequence[str], size: int = 500) -> list[list[str]]:
    return [list(items[start : start + size]) for start in range(0, len(items), size)]


_OF_KEYS = select(tables.waiter).where(_waiter.asset_key.in_(bindparam("keys", expanding=True)))
_OF_WAITS = select(tables.waiter).where(_waiter.wait_id.in_(bindparam("waits", expanding=True)))
_DELETE = delete(tables.waiter).where(
    _waiter.asset_key == bindparam("row_key"), _waiter.wait_id == bindparam("row_wait")
)

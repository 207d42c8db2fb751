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
from airflow_assets.catalog.engine import utc_now
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

    One statement for 500 of them, one for the runs that hold what they wait for, and every 15 s one that
    keeps their places; in a writing transaction.
    """
    rows = [row for some in _portions(wait_ids) for row in conn.execute(_AROUND, {"waits": some})]
    if not rows:
        return set(wait_ids)
    now = max(row.clock for row in rows)
    wanted = set(wait_ids)
    mine: dict[str, list[Any]] = defaultdict(list)
    queues: dict[bytes, list[Any]] = defaultdict(list)
    for row in {(bytes(row.asset_key), row.wait_id): row for row in rows}.values():
        if row.wait_id in wanted:
            mine[row.wait_id].append(row)
        if row.wait_id in wanted or row.seen > now - WAITER_PATIENCE:
            queues[bytes(row.asset_key)].append(row)
    held = _held(conn, rows, now)
    _keep(conn, mine, now)
    return {wait_id for wait_id in wait_ids if all(_is_free(row, held, queues) for row in mine[wait_id])}


def _is_free(own: Any, held: dict[bytes, bytes], queues: dict[bytes, list[Any]]) -> bool:
    key, owner_key = bytes(own.asset_key), bytes(own.owner_key)
    if held.get(key, owner_key) != owner_key:
        return False
    return not any(
        bytes(other.owner_key) != owner_key and _place(other) < _place(own) for other in queues[key]
    )


def _held(conn: Connection, rows: Iterable[Any], now: datetime) -> dict[bytes, bytes]:
    """The holder of each asset that is locked."""
    live = {bytes(row.asset_key): row for row in rows if row.holder is not None and row.locked_until > now}
    ended = leases_rows.of_ended_runs(conn, live)
    return {key: bytes(row.holder) for key, row in live.items() if key not in ended}


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


_own = tables.waiter.alias("own")
_OF_KEYS = select(tables.waiter).where(_waiter.asset_key.in_(bindparam("keys", expanding=True)))
_AROUND = (
    select(
        tables.waiter,
        _lease.owner_key.label("holder"),
        _lease.dag_id,
        _lease.run_id,
        _lease.hold_after_run,
        _lease.locked_until,
        utc_now().label("clock"),
    )
    .join(tables.lease, _lease.asset_key == _waiter.asset_key)
    .where(
        _waiter.asset_key.in_(
            select(_own.c.asset_key).where(_own.c.wait_id.in_(bindparam("waits", expanding=True)))
        )
    )
)
"""All who wait for what some wait for, with its lock."""
_DELETE = delete(tables.waiter).where(
    _waiter.asset_key == bindparam("row_key"), _waiter.wait_id == bindparam("row_wait")
)

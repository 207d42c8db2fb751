"""The rows of locks: read, free, move, extend.

Whoever changes a lease has locked the row of its asset before: assets by key, then leases, then the sequence.
The lease itself is read by a statement of its own after that. Read together with the asset it would be as old
as the moment at which the statement began to wait for the asset.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, insert, null, select, update

from airflow_assets.catalog import tables
from airflow_assets.catalog.leases_owner import described, ended_runs
from airflow_assets.catalog.write_set import chunks
from airflow_assets.exceptions import AssetLocked
from airflow_assets.schemas.base import iso
from airflow_assets.schemas.lease import Lease, OwnerType

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy import Connection

_MICROSECOND = timedelta(microseconds=1)
_lease = tables.lease.c
FREE: dict[str, Any] = dict.fromkeys(
    (
        "owner_key",
        "owner_type",
        "dag_id",
        "run_id",
        "task_id",
        "map_index",
        "try_number",
        "clear_number",
        "user_name",
        "acquired",
        "locked_until",
        "ttl",
        "hold_after_run",
    )
)
"""The columns of a lock that nobody holds."""


def read_leases(conn: Connection, keys: Iterable[bytes]) -> dict[bytes, Any]:
    """Return the rows of locks by the key of their asset, free ones too."""
    found: dict[bytes, Any] = {}
    for some in chunks(sorted(keys)):
        rows = conn.execute(_BY_KEY, {"keys": list(some)})
        found.update((bytes(row.asset_key), row) for row in rows)
    return found


def is_held(row: Any, now: datetime) -> bool:
    """Tell whether a row is a live lock; ``None`` is not."""
    return row is not None and row.owner_key is not None and bool(row.locked_until > now)


def ttl_of(row: Any) -> timedelta:
    """Return how long the holder wants the lock to last after each of his writes."""
    return int(row.ttl) * _MICROSECOND


def microseconds(ttl: timedelta) -> int:
    """Return a duration as the column ``ttl`` has it."""
    return ttl // _MICROSECOND


def to_lease(row: Any, asset_id: str) -> Lease:
    """Return a held lock as callers see it."""
    kind = OwnerType(row.owner_type)
    return Lease.model_construct(
        asset_id=asset_id,
        owner_type=kind,
        owner=described(kind.value, row),
        execution_id=row.run_id,
        dag_id=row.dag_id,
        run_id=row.run_id,
        task_id=row.task_id,
        map_index=row.map_index,
        try_number=row.try_number,
        user=row.user_name,
        fencing_token=row.fencing,
        acquired=row.acquired,
        locked_until=row.locked_until,
        ttl=ttl_of(row),
        hold_after_run=bool(row.hold_after_run),
    )


def of_ended_runs(conn: Connection, rows: Mapping[bytes, Any]) -> set[bytes]:
    """Return the keys of those locks whose run has ended, unless they outlast it."""
    bound = {
        key: (row.dag_id, row.run_id)
        for key, row in rows.items()
        if row.run_id is not None and not row.hold_after_run
    }
    ended = ended_runs(conn, set(bound.values()))
    return {key for key, run in bound.items() if run in ended}


def free(conn: Connection, keys: Sequence[bytes], *, fence: bool = False) -> None:
    """Let nobody hold these locks.

    :param fence: take the next number too, so that what the holder still writes under his is refused.
    """
    values = {**FREE, "fencing": _lease.fencing + 1} if fence else FREE
    for some in chunks(sorted(keys)):
        asset_key = tables.asset.c.asset_key
        conn.execute(update(tables.asset).where(asset_key.in_(some)).values(lock_until=null()))
        conn.execute(update(tables.lease).where(_lease.asset_key.in_(some)).values(values))


def extend(conn: Connection, until: Mapping[bytes, datetime]) -> None:
    """Let held locks run out at these times."""
    rows = [{"row_key": key, "row_until": until[key]} for key in sorted(until)]
    if rows:
        conn.execute(_ASSET_UNTIL, rows)
        conn.execute(_LEASE_UNTIL, rows)


def move(conn: Connection, tenant: str, old: bytes, new: bytes) -> None:
    """Let a lock follow its asset to another identity.

    The old identity keeps its number, for whoever may get it later; the new one has the larger of both.
    """
    rows = read_leases(conn, [old, new])
    row = rows.get(old)
    if row is None:
        return
    there = rows.get(new)
    number = max(row.fencing, there.fencing if there is not None else 0)
    moved = {name: getattr(row, name) for name in FREE} | {"fencing": number, "queued": row.queued}
    if there is None:
        conn.execute(insert(tables.lease).values(asset_key=new, tenant=tenant, **moved))
    else:
        conn.execute(update(tables.lease).where(_lease.asset_key == new).values(moved))
    conn.execute(update(tables.lease).where(_lease.asset_key == old).values(**FREE, queued=False))
    if row.queued:
        waiter = tables.waiter.c
        conn.execute(update(tables.waiter).where(waiter.asset_key == old).values(asset_key=new))


def held_by_other(asset_id: str, row: Any) -> AssetLocked:
    """Return the error of an asset that somebody else holds."""
    holder = described(row.owner_type, row)
    return AssetLocked(
        f"The asset {asset_id!r} is locked by {holder} ({row.owner_type}) until {iso(row.locked_until)}.",
        hint="Wait until it is released or its time has passed, or have it unlocked by force.",
        asset_id=asset_id,
        owner_type=row.owner_type,
        owner=holder,
        locked_until=iso(row.locked_until),
    )


def out_of_date(asset_id: str, token: int, row: Any) -> AssetLocked:
    """Return the error of a write under the number of a tenure that is over."""
    return AssetLocked(
        f"{asset_id!r} was to be written under the lock number {token}; by now the asset's is {row.fencing}.",
        hint="That lock is lost: stop, and begin anew under a new lock.",
        asset_id=asset_id,
        fencing_token=token,
        current_fencing_token=row.fencing,
    )


_BY_KEY = select(tables.lease).where(_lease.asset_key.in_(bindparam("keys", expanding=True)))
_ASSET_UNTIL = (
    update(tables.asset)
    .where(tables.asset.c.asset_key == bindparam("row_key"))
    .values(lock_until=bindparam("row_until"))
)
_LEASE_UNTIL = (
    update(tables.lease)
    .where(_lease.asset_key == bindparam("row_key"))
    .values(locked_until=bindparam("row_until"))
)

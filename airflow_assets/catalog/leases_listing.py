"""Reading locks: those that are held, those of the assets of a page, and those that were taken by force.

A lock whose run has ended counts as free, though nobody has needed it since.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, exists, false, not_, select, true

from airflow_assets.catalog import cursors, leases_rows
from airflow_assets.catalog.engine import utc_now
from airflow_assets.catalog.filters import visible
from airflow_assets.catalog.tables import alias, asset, forced_unlock, lease
from airflow_assets.schemas.actors import Source
from airflow_assets.schemas.base import Page
from airflow_assets.schemas.lease import Lease
from airflow_assets.schemas.leases import ForcedUnlock
from airflow_assets.schemas.rules import identity

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection

    from airflow_assets.schemas.actors import Caller
    from airflow_assets.schemas.leases import ForcedUnlockQuery, LeaseQuery

_ORDER = (lease.c.acquired, lease.c.asset_key)
_BY_AGE, _NEWEST = "locks", "forced-unlocks"


def list_leases(conn: Connection, caller: Caller, query: LeaseQuery) -> Page[Lease]:
    """Return one page of the locks that are held now, the longest held first.

    A page may be shorter than its limit, even empty, and still carry ``next_cursor``.

    :raises InvalidCursor: the cursor is not one of this listing.
    """
    seen = cursors.decode(_BY_AGE, query.cursor, [datetime, bytes])
    wanted = (
        select(lease, asset.c.id)
        .join(asset, asset.c.asset_key == lease.c.asset_key)
        .where(lease.c.tenant == caller.tenant, lease.c.locked_until > utc_now())
        .where(visible(asset.c.namespace, caller), _is_named(caller, query.asset_id))
    )
    if seen is not None:
        wanted = wanted.where(cursors.beyond(conn.dialect.name, _ORDER, seen))
    rows = conn.execute(wanted.order_by(*_ORDER).limit(query.limit + 1)).all()
    page = rows[: query.limit]
    ended = leases_rows.of_ended_runs(conn, {bytes(row.asset_key): row for row in page})
    last = (page[-1].acquired, bytes(page[-1].asset_key)) if len(rows) > query.limit else None
    return Page(
        items=[leases_rows.to_lease(row, row.id) for row in page if bytes(row.asset_key) not in ended],
        next_cursor=cursors.encode(_BY_AGE, last) if last else None,
    )


def locks_of(conn: Connection, rows: Iterable[Any]) -> dict[bytes, Lease]:
    """Return the locks on the assets of these rows by key; asks nothing where none can be locked."""
    ids = {bytes(row.asset_key): row.id for row in rows if row.lock_until is not None}
    if not ids:
        return {}
    wanted = select(lease).where(lease.c.asset_key.in_(sorted(ids)), lease.c.locked_until > utc_now())
    held = {bytes(row.asset_key): row for row in conn.execute(wanted)}
    ended = leases_rows.of_ended_runs(conn, held)
    return {key: leases_rows.to_lease(row, ids[key]) for key, row in held.items() if key not in ended}


def is_locked(caller: Caller, locked: bool | None) -> ColumnElement[bool]:
    """Return the WHERE on ``asset`` for the filter ``locked``.

    Few assets are locked, so they are looked up from the locks.
    """
    if locked is None:
        return true()
    live = asset.c.lock_until > utc_now()
    if not locked:
        return asset.c.lock_until.is_(None) | not_(live)
    held = select(lease.c.asset_key).where(lease.c.tenant == caller.tenant, lease.c.locked_until > utc_now())
    return live & asset.c.asset_key.in_(held)


def list_forced_unlocks(conn: Connection, caller: Caller, query: ForcedUnlockQuery) -> Page[ForcedUnlock]:
    """Return one page of the locks that were taken by force, newest first.

    :raises InvalidCursor: the cursor is not one of this listing.
    """
    seen = cursors.decode(_NEWEST, query.cursor, [int])
    # What is known of a purged asset is in the note itself, but not whether its namespace is closed.
    purged = asset.c.pk.is_(None) if not caller.hidden_namespaces else false()
    wanted = (
        select(forced_unlock)
        .join(asset, asset.c.pk == forced_unlock.c.asset_pk, isouter=True)
        .where(forced_unlock.c.tenant == caller.tenant, _is_named(caller, query.asset_id))
        .where(purged | (asset.c.pk.is_not(None) & visible(asset.c.namespace, caller)))
    )
    if seen is not None:
        wanted = wanted.where(forced_unlock.c.pk < seen[0])
    rows = conn.execute(wanted.order_by(forced_unlock.c.pk.desc()).limit(query.limit + 1)).all()
    page = rows[: query.limit]
    return Page(
        items=[_forced(row) for row in page],
        next_cursor=cursors.encode(_NEWEST, [page[-1].pk]) if len(rows) > query.limit else None,
    )


def _forced(row: Any) -> ForcedUnlock:
    taken = Lease.model_validate_json(row.lease)
    return ForcedUnlock.model_construct(
        id=row.pk,
        asset_id=taken.asset_id,
        lease=taken,
        reason=row.reason,
        source=Source.model_validate_json(row.source),
        created=row.created,
    )


def _is_named(caller: Caller, asset_id: str | None) -> ColumnElement[bool]:
    """The asset that has or had this id."""
    if asset_id is None:
        return true()
    key = identity(caller.tenant, asset_id)
    former = exists().where(alias.c.alias_key == key, alias.c.asset_pk == asset.c.pk)
    return (asset.c.asset_key == key) | former

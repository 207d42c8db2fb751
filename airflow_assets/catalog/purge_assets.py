"""Purging assets, and the names that purged assets keep as long as the log has something of them.

With an asset go its metadata rows, its former ids and its edges; its lease stays, so that its fencing
number never gets smaller. Events, usages and lineage stay, if they are not purged themselves, and are found
by the id it had. An asset that was not deleted before emits DELETED, as with a deletion.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import case, delete, exists, insert, literal, or_, select

from airflow_assets.catalog.engine import utc_now
from airflow_assets.catalog.filters import within
from airflow_assets.catalog.listing import Listing, Order
from airflow_assets.catalog.purge_log import Look, Position, Task
from airflow_assets.catalog.search import SCAN, scan
from airflow_assets.catalog.states import AssetState
from airflow_assets.catalog.tables import alias, asset, edge, event, metadata_value, purged_asset, usage
from airflow_assets.catalog.workspace import Workspace
from airflow_assets.catalog.write_set import chunks
from airflow_assets.schemas.events import EventKind
from airflow_assets.schemas.queries import AssetFilter, Sort

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection

_BY_UPDATED = Order(Sort.UPDATED)
_TICK = timedelta(microseconds=1)
_MOST = 200
"""Assets of one transaction: each has rows in several tables, and locks of its own."""


class AssetPurge:
    """Assets, the one that was updated longest ago first; locked ones stay."""

    kinds = (datetime, int)

    def look(self, conn: Connection, task: Task, after: Position, size: int) -> Look:
        """Look for the next assets, at most 200 of them."""
        listing = _Candidates(conn, task)
        found = scan(listing, _BY_UPDATED, after, min(size, _MOST), bound=SCAN)
        pks = [row.pk for row in found.matches]
        free = [row for row in _rows(conn, pks, lock=False) if not _is_locked(row)]
        last = found.resume_after
        return Look(
            wanted=[row.pk for row in free],
            count=len(free),
            locked=len(pks) - len(free),
            position=None if last is None else (last.updated, last.pk),
            end=last is None,
        )

    def delete(self, conn: Connection, task: Task, wanted: Sequence[Any]) -> int:
        """Delete what is still as old as that and not locked, by now that nobody else can write it."""
        work = Workspace(conn, task.caller, [])
        rows = [row for row in _rows(conn, wanted, lock=True) if not _is_locked(row)]
        states = [AssetState.of(row) for row in rows if row.updated <= task.end]
        if not states:
            return 0
        pks = sorted(state.pk for state in states)
        _delete_edges(conn, pks)
        conn.execute(delete(metadata_value).where(metadata_value.c.asset_pk.in_(pks)))
        conn.execute(delete(alias).where(alias.c.asset_pk.in_(pks)))
        conn.execute(insert(purged_asset), [_named(state, work.now) for state in states])
        count = conn.execute(delete(asset).where(asset.c.pk.in_(pks))).rowcount
        for state in states:
            if not state.deleted:
                work.rows.pks[state.key] = state.pk
                work.emit(EventKind.DELETED, state, replace(state, deleted=True, updated=work.now))
        work.write()
        return count


class NamePurge:
    """Names of purged assets of which the log has nothing any more."""

    kinds = (int,)

    def look(self, conn: Connection, task: Task, after: Position, size: int) -> Look:
        """Look at the next names."""
        rows = select(purged_asset.c.asset_pk, case((_is_named(), 1), else_=literal(0)).label("used")).where(
            purged_asset.c.tenant == task.caller.tenant, purged_asset.c.asset_pk > (after[0] if after else 0)
        )
        found = conn.execute(rows.order_by(purged_asset.c.asset_pk).limit(size)).all()
        return Look(
            wanted=[row.asset_pk for row in found if not row.used],
            position=(found[-1].asset_pk,) if found else None,
            end=len(found) < size,
        )

    def delete(self, conn: Connection, task: Task, wanted: Sequence[Any]) -> int:  # noqa: ARG002
        """Delete names, and edges that a record wrote while its asset was being purged."""
        for pks in chunks(wanted):
            _delete_edges(conn, pks)
            conn.execute(delete(purged_asset).where(purged_asset.c.asset_pk.in_(pks), ~_is_named()))
        return 0


class _Candidates(Listing):
    """The assets that a purge may take, deleted ones too, locked ones as well."""

    def __init__(self, conn: Connection, task: Task) -> None:
        body = task.body
        query = AssetFilter(
            ids=None if body.asset_id is None else [body.asset_id],
            types=body.asset_type,
            metadata_query=body.metadata_query,
            updated_to=task.end + _TICK,  # the filter's own bound is exclusive
            include_deleted=True,
        )
        super().__init__(conn, task.caller, query)
        self._within = body.namespace

    def _attributes(self) -> list[ColumnElement[bool]]:
        found = super()._attributes()
        return found if self._within is None else [*found, within(asset.c.namespace, self._within)]


def _rows(conn: Connection, pks: Sequence[int], *, lock: bool) -> list[Any]:
    """The assets with the database's clock; locked in the order of their keys, as everywhere."""
    if not pks:
        return []
    rows = select(asset, utc_now().label("clock")).where(asset.c.pk.in_(sorted(pks)))
    rows = rows.order_by(asset.c.asset_key)
    return list(conn.execute(rows.with_for_update() if lock else rows))


def _is_locked(row: Any) -> bool:
    return row.lock_until is not None and row.lock_until > row.clock


def _named(state: AssetState, now: datetime) -> dict[str, Any]:
    return {
        "asset_pk": state.pk,
        "tenant": state.tenant,
        "asset_key": state.key,
        "id": state.id,
        "namespace": state.namespace,
        "uri": state.uri,
        "purged": now,
    }


def _delete_edges(conn: Connection, pks: Sequence[int]) -> None:
    touching = or_(edge.c.source_pk.in_(pks), edge.c.target_pk.in_(pks))
    keys = conn.scalars(select(edge.c.edge_key).where(touching).order_by(edge.c.edge_key)).all()
    for some in chunks([bytes(key) for key in keys]):
        conn.execute(delete(edge).where(edge.c.edge_key.in_(some)))


def _is_named() -> ColumnElement[bool]:
    return or_(
        exists().where(event.c.asset_pk == purged_asset.c.asset_pk),
        exists().where(usage.c.asset_pk == purged_asset.c.asset_pk),
    )

"""Changes of assets for shippers: those that no lineage tells, read forward by number.

What a task run wrote is in its lineage. Left are what people and other systems wrote, over the API, in the
page and by commands, what Airflow's own events brought, and every deletion: by a purge too, whoever ran it.
"""

from __future__ import annotations

import json
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select

from airflow_assets.catalog import tables
from airflow_assets.catalog.filters import visible
from airflow_assets.catalog.log import EVENT_COLUMNS, event_of
from airflow_assets.catalog.tables import asset, purged_asset
from airflow_assets.schemas.actors import SourceKind
from airflow_assets.schemas.events import EventKind
from airflow_assets.schemas.shipping import ChangesPage, ShippedChange
from airflow_assets.schemas.transfer import IMPORTED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection, Row, Select

    from airflow_assets.schemas.actors import Caller
    from airflow_assets.schemas.shipping import ChangesRead

PAGE_BYTES = 4 * 1024 * 1024
"""About how much a page may carry, beyond its first change."""
_OUTSIDE = frozenset({SourceKind.API, SourceKind.UI, SourceKind.CLI, SourceKind.AIRFLOW})
_event = tables.event.c


def read_changes(conn: Connection, caller: Caller, query: ChangesRead) -> ChangesPage:
    """Return the changes between two numbers, oldest first; two statements at most.

    Those of namespaces that are hidden from the caller are left out.
    """
    statement: Select[Any] = (
        select(
            _event.seq,
            _event.kind,
            _event.source,
            _event.suppressed,
            func.length(_event.payload).label("size"),
        )
        .where(*_conditions(caller, query))
        .order_by(_event.seq)
        .limit(query.limit)
    )
    looked_at = conn.execute(statement).all()
    reached = looked_at[-1].seq if len(looked_at) == query.limit else query.upto
    wanted = [row for row in looked_at if _is_untold(row)]
    kept = _within(wanted)
    if len(kept) < len(wanted):
        reached = kept[-1].seq
    return ChangesPage(items=_changes(conn, caller, [row.seq for row in kept]), next_after=reached)


def _conditions(caller: Caller, query: ChangesRead) -> list[ColumnElement[bool]]:
    where = [
        _event.tenant == caller.tenant,
        _event.seq > query.after,
        _event.seq <= query.upto,
        _event.kind != EventKind.USED.value,
        visible(_event.namespace, caller),
    ]
    if query.asset_namespace is not None:
        where.append(_event.namespace == query.asset_namespace)
    if query.asset_types is not None:
        where.append(_event.type.in_(query.asset_types))
    return where


def _is_untold(row: Row[Any]) -> bool:
    if (row.suppressed or "").startswith(IMPORTED):  # it happened elsewhere
        return False
    return row.kind == EventKind.DELETED.value or SourceKind(json.loads(row.source)["kind"]) in _OUTSIDE


def _within(rows: Sequence[Row[Any]]) -> Sequence[Row[Any]]:
    """As many of the rows, but at least one, as a page may carry."""
    totals = accumulate(row.size for row in rows)
    return rows[: max(1, sum(total <= PAGE_BYTES for total in totals))]


def _changes(conn: Connection, caller: Caller, seqs: list[int]) -> list[ShippedChange]:
    if not seqs:
        return []
    statement: Select[Any] = (
        select(*EVENT_COLUMNS, func.coalesce(asset.c.uri, purged_asset.c.uri).label("uri"))
        .select_from(tables.event)
        .outerjoin(asset, asset.c.pk == _event.asset_pk)
        .outerjoin(purged_asset, purged_asset.c.asset_pk == _event.asset_pk)
        .where(_event.seq.in_(seqs), visible(asset.c.namespace, caller))
        .order_by(_event.seq)
    )
    return [_change(row) for row in conn.execute(statement)]


def _change(row: Row[Any]) -> ShippedChange:
    renamed = json.loads(row.diff).get("id")
    return ShippedChange.model_construct(
        **dict(event_of(row)),
        uri=row.uri,
        former_id=renamed[0] if renamed and row.kind == EventKind.UPDATED.value else None,
    )

"""The event log and an asset's history, a page at a time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sqlalchemy import Select, and_, not_, select

from airflow_assets.catalog import cursors, search, tables
from airflow_assets.catalog.assets import not_found
from airflow_assets.catalog.filters import one_of, visible
from airflow_assets.catalog.log import EVENT_COLUMNS, event_of
from airflow_assets.schemas.actors import Source
from airflow_assets.schemas.base import Page
from airflow_assets.schemas.events import Change, Event, EventKind
from airflow_assets.schemas.matching import conditions_hold

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import ColumnElement, Connection, Row

    from airflow_assets.schemas.actors import Caller
    from airflow_assets.schemas.queries import EventQuery, HistoryQuery

_EVENT = tables.event.c
_ORDER, _NEWEST, _HISTORY = "events:seq", "events:-seq", "history:-seq"
_MAX_SEQ = 2**63 - 1
_SCANS = 3
_SCANNED = 1_000


def list_events(conn: Connection, caller: Caller, query: EventQuery) -> Page[Event]:
    """Return one page of the log.

    With a metadata query at most 3,000 events are looked through for one page: it may then hold fewer than
    the limit, even none, and still have a next one.
    """
    clauses = clauses_of(conn, caller, query)
    if clauses is None:
        return Page(items=[])
    order = _NEWEST if query.newest_first else _ORDER
    seen = cursors.decode(order, query.cursor, [int])
    last: int | None = seen[0] if seen else None
    statement = select(*EVENT_COLUMNS).where(*clauses)
    found: list[Event] = []
    for _ in range(_SCANS if query.metadata_query else 1):
        size = _SCANNED if query.metadata_query else query.limit + 1
        rows = conn.execute(part_of(statement, last, size, newest_first=query.newest_first)).all()
        for row in rows:
            if len(found) == query.limit:
                return Page(items=found, next_cursor=cursors.encode(order, [found[-1].seq]))
            event = event_of(row)
            last = event.seq
            if conditions_hold(event.asset.metadata, query.metadata_query):
                found.append(event)
        if len(rows) < size:
            return Page(items=found)
    return Page(items=found, next_cursor=cursors.encode(order, [last]) if last is not None else None)


def list_history(conn: Connection, caller: Caller, query: HistoryQuery) -> Page[Change]:
    """Return one page of an asset's changes, newest first, through renames and deletions.

    Raises:
        AssetNotFound: there never was an asset of this id, or it is hidden.
    """
    numbers = search.numbers_of(conn, caller, query.asset_id)
    if not numbers:
        raise not_found(query.asset_id)
    seen = cursors.decode(_HISTORY, query.cursor, [int])
    statement = select(*EVENT_COLUMNS).where(
        one_of(_EVENT.asset_pk, numbers),
        _EVENT.kind != EventKind.USED.value,
        visible(_EVENT.namespace, caller),
    )
    after = seen[0] if seen else None
    rows = conn.execute(part_of(statement, after, query.limit + 1, newest_first=True)).all()
    shown = rows[: query.limit]
    more = len(rows) > query.limit
    return Page(
        items=[_change_of(row) for row in shown],
        next_cursor=cursors.encode(_HISTORY, [shown[-1].seq]) if more else None,
    )


def clauses_of(conn: Connection, caller: Caller, query: EventQuery) -> list[ColumnElement[bool]] | None:
    """Return the WHERE of the query; null when it names an asset that there is not."""
    clauses: list[ColumnElement[bool]] = [_EVENT.tenant == caller.tenant, visible(_EVENT.namespace, caller)]
    if query.asset_id is not None:
        numbers = search.numbers_of(conn, caller, query.asset_id)
        if not numbers:
            return None
        clauses.append(one_of(_EVENT.asset_pk, numbers))
    if query.events is not None:
        clauses.append(_EVENT.kind.in_([kind.value for kind in query.events]))
    if query.only_changes:
        clauses.append(not_(and_(_EVENT.kind == EventKind.UPDATED.value, _EVENT.diff == "{}")))
    members: tuple[tuple[Any, Callable[[Any], ColumnElement[bool]]], ...] = (
        (query.namespace, _EVENT.namespace.__eq__),
        (query.asset_type, _EVENT.type.__eq__),
        (None if query.after is None else min(max(query.after, -1), _MAX_SEQ), _EVENT.seq.__gt__),
        (query.from_time, _EVENT.created.__ge__),
        (query.to_time, _EVENT.created.__lt__),
    )
    return clauses + [clause(wanted) for wanted, clause in members if wanted is not None]


def part_of(statement: Select[Any], seq: int | None, size: int, *, newest_first: bool) -> Select[Any]:
    """Return the next ``size`` rows of the statement, behind number ``seq``, in the order of the log."""
    if seq is not None:
        statement = statement.where(_EVENT.seq < seq if newest_first else _EVENT.seq > seq)
    return statement.order_by(_EVENT.seq.desc() if newest_first else _EVENT.seq).limit(size)


def _change_of(row: Row[Any]) -> Change:
    return Change(
        seq=row.seq,
        event_id=row.event_id,
        event=EventKind(row.kind),
        event_time=row.created,
        source=Source.model_validate_json(row.source),
        diff=json.loads(row.diff),
    )

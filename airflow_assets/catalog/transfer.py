"""The catalogue as rows without row numbers, a page at a time, in an order in which they can be read in.

Assets come in the order in which they were made, everything else after them; so an empty catalogue that takes
the rows over (:mod:`~airflow_assets.catalog.restore`) exports the same rows in the same order. What a caller
may not see is left out, with everything that names it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, false, not_, or_, select, true

from airflow_assets.catalog import cursors
from airflow_assets.catalog.filters import visible
from airflow_assets.catalog.lineage import IS_WHOLE, ROLES, Refs, error_of
from airflow_assets.catalog.states import AssetState
from airflow_assets.catalog.tables import alias, asset, edge, event, lineage, usage
from airflow_assets.exceptions import InvalidCursor
from airflow_assets.schemas import export_rows as data
from airflow_assets.schemas.actors import Source
from airflow_assets.schemas.base import Page
from airflow_assets.schemas.events import EventAsset, EventKind
from airflow_assets.schemas.lineage import TaskState
from airflow_assets.schemas.transfer import IMPORTED, ExportRow, RowKind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import ColumnElement, Connection, Select

    from airflow_assets.schemas.actors import Caller
    from airflow_assets.schemas.base import Schema
    from airflow_assets.schemas.transfer import ExportQuery

    Seen = tuple[Any, ...] | None
    Found = list[tuple[Schema, tuple[Any, ...]]]  # each row with the sort values that name its place

_KEYS: dict[RowKind, list[type]] = {
    RowKind.ASSET: [int],
    RowKind.ALIAS: [bytes],
    RowKind.EDGE: [int, int, str, str],
    RowKind.EVENT: [int],
    RowKind.LINEAGE: [int],
}
_LOG = frozenset({RowKind.EVENT, RowKind.LINEAGE})


def export_rows(conn: Connection, caller: Caller, query: ExportQuery) -> Page[ExportRow]:
    """Return one page of the export: assets, aliases, edges and, if wanted, events and lineage.

    :raises InvalidCursor: the cursor is not one of an export.
    """
    kinds = [kind for kind in RowKind if query.log or kind not in _LOG]
    start, seen = _position(query.cursor)
    items: list[ExportRow] = []
    for kind in kinds[kinds.index(start) if start in kinds else len(kinds) :]:
        found, more = _EXPORTS[kind](conn, caller, seen, query.limit - len(items))
        items += [ExportRow(kind=kind, data=row.to_json()) for row, _ in found]
        if more:
            return Page(items=items, next_cursor=_cursor(kind, found[-1][1] if found else seen))
        seen = None
    return Page(items=items)


def _cursor(kind: RowKind, seen: Seen) -> str:
    """The place after the row with these sort values, or before the first row of the kind."""
    return cursors.encode(f"export:{kind.value}" if seen else f"export:{kind.value}:0", seen or ())


def _position(cursor: str | None) -> tuple[RowKind, Seen]:
    if cursor is None:
        return RowKind.ASSET, None
    for kind, keys in _KEYS.items():
        for order, types in ((f"export:{kind.value}", keys), (f"export:{kind.value}:0", [])):
            try:
                return kind, cursors.decode(order, cursor, types) or None
            except InvalidCursor as error:
                refused = error
    raise refused


def _first(conn: Connection, statement: Select[Any], room: int) -> tuple[Sequence[Any], bool]:
    """The first rows, and whether there are more."""
    rows = conn.execute(statement.limit(room + 1)).all()
    return rows[:room], len(rows) > room


def _after(conn: Connection, columns: Sequence[ColumnElement[Any]], seen: Seen) -> ColumnElement[bool]:
    return true() if seen is None else cursors.beyond(conn.dialect.name, columns, seen)


def _assets(conn: Connection, caller: Caller, seen: Seen, room: int) -> tuple[Found, bool]:
    wanted = select(asset).where(
        asset.c.tenant == caller.tenant, visible(asset.c.namespace, caller), _after(conn, [asset.c.pk], seen)
    )
    rows, more = _first(conn, wanted.order_by(asset.c.pk), room)
    return [(_asset(row), (row.pk,)) for row in rows], more


def _asset(row: Any) -> Schema:
    return _constructed(data.AssetData, AssetState.of(row))


def _aliases(conn: Connection, caller: Caller, seen: Seen, room: int) -> tuple[Found, bool]:
    columns = (alias.c.alias_key, alias.c.id, alias.c.created, asset.c.id.label("asset"))
    wanted = (
        select(*columns)
        .join(asset, asset.c.pk == alias.c.asset_pk)
        .where(alias.c.tenant == caller.tenant, visible(asset.c.namespace, caller))
        .where(_after(conn, [alias.c.alias_key], seen))
    )
    rows, more = _first(conn, wanted.order_by(alias.c.alias_key), room)
    return [(_constructed(data.AliasData, row), (bytes(row.alias_key),)) for row in rows], more


def _edges(conn: Connection, caller: Caller, seen: Seen, room: int) -> tuple[Found, bool]:
    """Edges by their ends, then by task; the table's own key is made of row numbers and lasts not.

    No index has the tasks: the edges of the pair seen last are finished first, then as many pairs follow as
    may be needed, so that never more than a page is sorted.
    """
    wanted = _visible_edges(caller)
    rows: list[Any] = []
    if seen is not None:
        rest = wanted.where(_ENDS[0] == seen[0], _ENDS[1] == seen[1], _after(conn, _TASK, seen[2:]))
        rows += conn.execute(rest.order_by(*_TASK).limit(room + 1)).all()
    after = _after(conn, _ENDS, seen[:2] if seen else None)
    lacking = room + 1 - len(rows)
    if lacking > 0:
        pairs = wanted.with_only_columns(*_ENDS).where(after).order_by(*_ENDS).limit(lacking)
        for source_pk, target_pk in conn.execute(pairs).all()[-1:]:
            beyond = cursors.beyond(conn.dialect.name, _ENDS, (source_pk, target_pk))
            needed = wanted.where(after, _ENDS[0] <= source_pk, not_(beyond))
            rows += conn.execute(needed.order_by(*_ENDS, *_TASK).limit(lacking)).all()
    return [(_edge(row), tuple(row[:4])) for row in rows[:room]], len(rows) > room


def _visible_edges(caller: Caller) -> Select[Any]:
    ends: list[ColumnElement[bool]] = []
    for pk, other in ((edge.c.source_pk, _SOURCE), (edge.c.target_pk, _TARGET)):
        is_known = and_(other.c.tenant == caller.tenant, visible(other.c.namespace, caller))
        ends.append(or_(pk == 0, is_known))
    columns: tuple[Any, ...] = (
        *_ENDS, *_TASK, edge.c.first_seen, edge.c.last_seen, _SOURCE.c.id.label("source"),
        _TARGET.c.id.label("target"),
    )  # fmt: skip
    found: Select[Any] = select(*columns)
    return (
        found.select_from(edge)
        .outerjoin(_SOURCE, _SOURCE.c.pk == edge.c.source_pk)
        .outerjoin(_TARGET, _TARGET.c.pk == edge.c.target_pk)
        .where(edge.c.declared == false(), *ends)
    )


def _edge(row: Any) -> Schema:
    return _constructed(data.EdgeData, row)


def _events(conn: Connection, caller: Caller, seen: Seen, room: int) -> tuple[Found, bool]:
    wanted = (
        select(event, asset.c.id.label("asset"))
        .outerjoin(asset, asset.c.pk == event.c.asset_pk)
        .where(event.c.tenant == caller.tenant, visible(event.c.namespace, caller))
        .where(visible(asset.c.namespace, caller), _after(conn, [event.c.seq], seen))
    )
    rows, more = _first(conn, wanted.order_by(event.c.seq), room)
    return [(_event(row), (row.seq,)) for row in rows], more


def _event(row: Any) -> Schema:
    suppressed = (row.suppressed or "").removeprefix(IMPORTED).removeprefix(":")
    return _constructed(
        data.EventData,
        row,
        event=EventKind(row.kind),
        payload=EventAsset.model_validate_json(row.payload),
        diff={member: tuple(change) for member, change in json.loads(row.diff).items()},
        source=Source.model_validate_json(row.source),
        suppressed=suppressed or None,
    )


def _lineage(conn: Connection, caller: Caller, seen: Seen, room: int) -> tuple[Found, bool]:
    wanted = select(lineage).where(
        lineage.c.tenant == caller.tenant, IS_WHOLE, _after(conn, [lineage.c.seq], seen)
    )
    rows, more = _first(conn, wanted.order_by(lineage.c.seq), room)
    refs = Refs.of(conn, caller, rows)
    usages = _usages(conn, caller, [row.seq for row in rows])
    return [
        (
            _constructed(
                data.LineageData,
                row,
                state=TaskState(row.state),
                inputs=refs.visible(row.inputs),
                outputs=refs.visible(row.outputs),
                warnings=refs.visible_warnings(row.warnings),
                error=error_of(row),
                usages=usages[row.seq],
            ),
            (row.seq,),
        )
        for row in rows
    ], more


def _usages(conn: Connection, caller: Caller, seqs: Sequence[int]) -> dict[int, list[Schema]]:
    found: dict[int, list[Schema]] = defaultdict(list)
    if seqs:
        wanted = (
            select(usage.c.lineage_seq, usage.c.role, asset.c.id)
            .join(asset, asset.c.pk == usage.c.asset_pk)
            .where(usage.c.lineage_seq.between(seqs[0], seqs[-1]), asset.c.tenant == caller.tenant)
            .where(visible(asset.c.namespace, caller))
            .order_by(usage.c.lineage_seq, usage.c.role, usage.c.asset_pk)
        )
        for row in conn.execute(wanted):
            named = data.UsageData.model_construct(asset=row.id, role=ROLES[row.role])
            found[row.lineage_seq].append(named)
    return found


def _constructed(model: type[Schema], row: Any, **given: Any) -> Schema:
    """The model of a row: members are the columns of their name, where they are not given."""
    columns = {name: getattr(row, name) for name in model.model_fields if name not in given}
    return model.model_construct(**columns, **given)


_ENDS = (edge.c.source_pk, edge.c.target_pk)
_TASK = (edge.c.dag_id, edge.c.task_id)
_SOURCE, _TARGET = asset.alias("source"), asset.alias("target")
_EXPORTS: dict[RowKind, Callable[[Connection, Caller, Seen, int], tuple[Found, bool]]] = {
    RowKind.ASSET: _assets,
    RowKind.ALIAS: _aliases,
    RowKind.EDGE: _edges,
    RowKind.EVENT: _events,
    RowKind.LINEAGE: _lineage,
}

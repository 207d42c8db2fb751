"""The log of lineage read forward, and what of it may be deleted again once it has been shipped.

Lineage rows get their numbers from the same sequence as events, as the last step of their transaction: who
has read up to number *n* and asks for what is after *n* misses nothing.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import and_, bindparam, delete, func, literal, or_, select

from airflow_assets.catalog.bookmarks import deletable
from airflow_assets.catalog.filters import is_hidden, storable
from airflow_assets.catalog.lineage import IS_WHOLE, Refs, event_of
from airflow_assets.catalog.states import AssetState
from airflow_assets.catalog.tables import alias, asset, lineage, sequence, usage
from airflow_assets.catalog.write_set import LOG
from airflow_assets.schemas.rules import identity
from airflow_assets.schemas.shipping import DeletedLineage, LineageFilter, LineagePage, ShippedEvent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import BindParameter, ColumnElement, Connection, Row, Select

    from airflow_assets.schemas.actors import Caller
    from airflow_assets.schemas.assets import Asset
    from airflow_assets.schemas.shipping import LineageRead, ShippedDelete

PAGE_BYTES = 4 * 1024 * 1024
"""About how much a page of lineage may carry, beyond its first event: names, and metadata of the assets."""
PAGE_NAMES = 5_000
"""How many assets a page may name, beyond its first event."""
_KEYS = 500


def read_lineage(conn: Connection, caller: Caller, query: LineageRead) -> LineagePage:
    """Return the first lineage events after a number, oldest first, with the assets they name.

    Assets that are hidden from the caller are left out. Three statements, whatever the size of the log; for a
    single event that names more than :data:`PAGE_NAMES` assets, two more for each further so many.
    """
    found = _rows(conn, caller, query)
    rows = _naming_few(found.rows)
    named = _Named(conn, caller, rows)
    items = [
        ShippedEvent.model_construct(**dict(event_of(row, named.refs)), run=None)
        for row in rows
        if _wanted(row, named.refs, query.filter)
    ]
    kept = _within(items, {name: size for name, (_, size) in named.keys.items()})
    cut = len(kept) < len(items)
    at_end = found.complete and not cut and len(rows) == len(found.rows)
    reached = kept[-1].seq if cut else (rows[-1].seq if rows else query.after)
    names = {ref.id for item in kept for ref in (*item.inputs, *item.outputs)}
    return LineagePage(
        items=kept,
        assets=_assets(conn, {name: pk for name, (pk, _) in named.keys.items() if name in names}),
        next_after=max(reached, found.last, query.after) if at_end else reached,
        at_end=at_end,
    )


class _Rows(NamedTuple):
    """The next rows of the log.

    :param complete: nothing followed them. :param last: the number of the newest entry of the log.
    """

    rows: Sequence[Row[Any]]
    complete: bool
    last: int


def _rows(conn: Connection, caller: Caller, query: LineageRead) -> _Rows:
    """Read the next rows, fewer than asked for where they are large, and the end of the log: one snapshot."""
    found = conn.execute(rows_statement(caller, query)).all()
    if not found or found[0].seq is None:
        return _Rows([], complete=True, last=int(found[0].last) if found else 0)
    looked_at = found[0].looked_at
    return _Rows(found, complete=len(found) == looked_at < query.limit, last=int(found[0].last))


def rows_statement(caller: Caller, query: LineageRead) -> Select[Any]:
    """Return the statement for the next rows.

    With each row of ``lineage`` it gives ``looked_at``, how many there are up to the limit, and ``last``, the
    end of the log; where there is none, one row of nulls with ``last``.

    Sizes are summed before the texts are fetched: a database would sort what it sums, texts and all.
    """
    where = [*_conditions(caller, query.filter), lineage.c.seq > query.after]
    texts = (lineage.c.inputs, lineage.c.outputs, lineage.c.warnings)
    size = sum((func.length(text) for text in texts), func.coalesce(func.length(lineage.c.error), 0))
    page = (
        select(lineage.c.seq, size.label("size"))
        .where(*where)
        .order_by(lineage.c.seq)
        .limit(query.limit)
        .subquery("page")
    )
    upto = func.sum(page.c.size).over(order_by=page.c.seq, rows=(None, 0))
    looked_at = func.count().over()
    summed = select(page.c.seq, (upto - page.c.size).label("before"), looked_at.label("looked_at")).subquery(
        "summed"
    )
    return (
        select(sequence.c.value.label("last"), summed.c.looked_at, lineage)
        .select_from(sequence)
        .outerjoin(summed, summed.c.before <= PAGE_BYTES)
        .outerjoin(lineage, lineage.c.seq == summed.c.seq)
        .where(sequence.c.name == LOG)
        .order_by(summed.c.seq)
    )


def _naming_few(rows: Sequence[Row[Any]]) -> Sequence[Row[Any]]:
    """As many of the rows, but at least one, as name no more assets than a page may."""
    names: set[str] = set()
    for at, row in enumerate(rows):
        names.update(ref["id"] for text in (row.inputs, row.outputs) for ref in json.loads(text))
        if len(names) > PAGE_NAMES and at:
            return rows[:at]
    return rows


class _Named:
    """The assets that rows name: who has each name now, and who had it before a rename.

    :param keys: of the visible ones row number and size, by the name.
    """

    def __init__(self, conn: Connection, caller: Caller, rows: Sequence[Row[Any]]) -> None:
        texts = [text for row in rows for text in (row.inputs, row.outputs)]
        names = {ref["id"] for text in texts for ref in json.loads(text)}
        by_key = {identity(caller.tenant, name): name for name in names}
        hidden: set[str] = set()
        self.keys: dict[str, tuple[int, int]] = {}
        for keys in _chunks(sorted(by_key), PAGE_NAMES):
            # Who had a name comes first, so that who has it now goes before.
            for found in sorted(conn.execute(_NAMED, {"keys": keys}), key=lambda found: found.current):
                name = by_key[bytes(found.key)]
                if is_hidden(found.namespace, caller):
                    hidden.add(name)
                else:
                    self.keys[name] = (found.pk, found.size)
        self.refs = Refs(caller, hidden)


def _within(items: list[ShippedEvent], sizes: dict[str, int]) -> list[ShippedEvent]:
    """As many of the events, but at least one, as a page can carry with their assets."""
    total = 0
    counted: set[str] = set()
    for at, item in enumerate(items):
        names = {ref.id for ref in (*item.inputs, *item.outputs)} - counted
        total += sum(sizes.get(name, 0) for name in names)
        counted |= names
        if total > PAGE_BYTES and at:
            return items[:at]
    return items


def _assets(conn: Connection, pks: dict[str, int]) -> dict[str, Asset]:
    by_pk = {}
    for some in _chunks(sorted(set(pks.values())), PAGE_NAMES):
        for row in conn.execute(select(asset).where(asset.c.pk.in_(some))):
            by_pk[row.pk] = AssetState.of(row).to_asset()
    return {name: by_pk[pk] for name, pk in pks.items() if pk in by_pk}


def delete_shipped(conn: Connection, caller: Caller, body: ShippedDelete) -> DeletedLineage:
    """Delete lineage events and their usages that every one of the exporters has confirmed.

    Events stay that were not the shipper's to ship, that another shipper still needs, or that name an asset
    which is hidden from the caller.

    Raises:
        NotFound: one of the exporters has no bookmark.
    """
    begin, end, wanted = deletable(conn, caller, body)
    begin = max(begin, body.after)
    where = [*_conditions(caller, wanted), lineage.c.seq > begin, lineage.c.seq <= end]
    rows = conn.execute(select(lineage).where(*where).order_by(lineage.c.seq).limit(body.limit)).all()
    refs = Refs.of(conn, caller, rows)
    seqs = [row.seq for row in rows if _wanted(row, refs, wanted) and not refs.hides_some(row)]
    for some in _chunks(seqs, _KEYS):
        conn.execute(delete(usage).where(usage.c.lineage_seq.in_(some)))
        conn.execute(delete(lineage).where(lineage.c.seq.in_(some)))
    return DeletedLineage(deleted=len(seqs), next_after=rows[-1].seq if len(rows) == body.limit else None)


def _conditions(caller: Caller, wanted: LineageFilter) -> list[ColumnElement[bool]]:
    where = [lineage.c.tenant == caller.tenant, IS_WHOLE]
    if wanted.dag_namespace is not None:
        space = storable("dag_namespace", wanted.dag_namespace)
        # "/" is the character after ".", so this range holds exactly what begins with "space.".
        children = and_(lineage.c.dag_id >= f"{space}.", lineage.c.dag_id < f"{space}/")
        where.append(or_(lineage.c.dag_id == space, children))
    if wanted.dag_id is not None:
        where.append(lineage.c.dag_id == storable("dag_id", wanted.dag_id))
    if wanted.task_id is not None:
        where.append(lineage.c.task_id == storable("task_id", wanted.task_id))
    return where


def _wanted(row: Row[Any], refs: Refs, wanted: LineageFilter) -> bool:
    if wanted.asset_namespace is None and wanted.asset_types is None:
        return True
    return any(
        (wanted.asset_namespace is None or ref.namespace == wanted.asset_namespace)
        and (wanted.asset_types is None or ref.type in wanted.asset_types)
        for text in (row.inputs, row.outputs)
        for ref in refs.visible(text)
    )


def _chunks(values: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]


_SIZE = func.length(asset.c.metadata) + func.coalesce(func.length(asset.c.description), 0)
_ASKED: BindParameter[Any] = bindparam("keys", expanding=True)
_NAMED = (
    select(
        asset.c.asset_key.label("key"), asset.c.pk, asset.c.namespace, _SIZE.label("size"),
        literal(1).label("current"),
    )
    .where(asset.c.asset_key.in_(_ASKED))
    .union_all(
        select(alias.c.alias_key, asset.c.pk, asset.c.namespace, _SIZE, literal(0))
        .join_from(alias, asset, alias.c.asset_pk == asset.c.pk)
        .where(alias.c.alias_key.in_(_ASKED))
    )
)  # fmt: skip

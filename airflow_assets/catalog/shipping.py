"""The log of lineage read forward, and what of it may be deleted again once it has been shipped.

Lineage rows get their numbers from the same sequence as events, as the last step of their transaction: who
has read up to number *n* and asks for what is after *n* misses nothing.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, delete, func, or_, select

from airflow_assets.catalog.bookmarks import deletable
from airflow_assets.catalog.filters import storable, visible
from airflow_assets.catalog.lineage import IS_WHOLE, Refs, event_of
from airflow_assets.catalog.log import last_seq
from airflow_assets.catalog.states import AssetState
from airflow_assets.catalog.tables import alias, asset, lineage, usage
from airflow_assets.schemas.rules import identity
from airflow_assets.schemas.shipping import DeletedLineage, LineageFilter, LineagePage, ShippedEvent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import ColumnElement, Connection, Row

    from airflow_assets.schemas.actors import Caller
    from airflow_assets.schemas.assets import Asset
    from airflow_assets.schemas.shipping import LineageRead, ShippedDelete

PAGE_BYTES = 4 * 1024 * 1024
"""About how much a page of lineage may carry, beyond its first event: names, and metadata of the assets."""
_KEYS = 500


def read_lineage(conn: Connection, caller: Caller, query: LineageRead) -> LineagePage:
    """Return the first lineage events after a number, oldest first, with the assets they name.

    Assets that are hidden from the caller are left out.
    """
    last = last_seq(conn)  # before the rows: what is committed in between has a greater number
    rows, complete = _rows(conn, caller, query)
    refs = Refs(conn, caller, rows)
    items = [
        ShippedEvent.model_construct(**dict(event_of(row, refs)), run=None)
        for row in rows
        if _wanted(row, refs, query.filter)
    ]
    keys = _keys_of(conn, caller, items)
    kept = _within(items, {name: size for name, (_, size) in keys.items()})
    cut = len(kept) < len(items)
    at_end = complete and not cut
    reached = kept[-1].seq if cut else (rows[-1].seq if rows else query.after)
    names = {ref.id for item in kept for ref in (*item.inputs, *item.outputs)}
    return LineagePage(
        items=kept,
        assets=_assets(conn, {name: pk for name, (pk, _) in keys.items() if name in names}),
        next_after=max(reached, last, query.after) if at_end else reached,
        at_end=at_end,
    )


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
    refs = Refs(conn, caller, rows)
    seqs = [row.seq for row in rows if _wanted(row, refs, wanted) and not refs.hides_some(row)]
    for start in range(0, len(seqs), _KEYS):
        some = seqs[start : start + _KEYS]
        conn.execute(delete(usage).where(usage.c.lineage_seq.in_(some)))
        conn.execute(delete(lineage).where(lineage.c.seq.in_(some)))
    return DeletedLineage(deleted=len(seqs), next_after=rows[-1].seq if len(rows) == body.limit else None)


def _rows(conn: Connection, caller: Caller, query: LineageRead) -> tuple[Sequence[Row[Any]], bool]:
    """The next rows, fewer than asked for where they are large; whether they are the last ones."""
    where = [*_conditions(caller, query.filter), lineage.c.seq > query.after]
    size = func.length(lineage.c.inputs) + func.length(lineage.c.outputs) + func.length(lineage.c.warnings)
    sizes = conn.execute(
        select(lineage.c.seq, size.label("size")).where(*where).order_by(lineage.c.seq).limit(query.limit)
    ).all()
    if not sizes:
        return [], True
    room = accumulate(size for _, size in sizes)
    end = 1 + next((at for at, total in enumerate(room) if total > PAGE_BYTES), len(sizes) - 1)
    upto = lineage.c.seq <= sizes[end - 1].seq
    rows = conn.execute(select(lineage).where(*where, upto).order_by(lineage.c.seq)).all()
    return rows, end == len(sizes) < query.limit


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


def _keys_of(conn: Connection, caller: Caller, items: Sequence[ShippedEvent]) -> dict[str, tuple[int, int]]:
    """The row number and size of each asset that the events name, by the name."""
    names = {ref.id for item in items for ref in (*item.inputs, *item.outputs)}
    by_key = {identity(caller.tenant, name): name for name in names}
    size = func.length(asset.c.metadata) + func.coalesce(func.length(asset.c.description), 0)
    seen = visible(asset.c.namespace, caller)
    found: dict[str, tuple[int, int]] = {}
    for keys in _chunks(sorted(by_key)):
        now = select(asset.c.asset_key, asset.c.pk, size).where(asset.c.asset_key.in_(keys), seen)
        before = (
            select(alias.c.alias_key, asset.c.pk, size)
            .join_from(alias, asset, alias.c.asset_pk == asset.c.pk)
            .where(alias.c.alias_key.in_(keys), seen)
        )
        for statement in (before, now):  # who has the id now goes before who had it
            found.update({by_key[bytes(key)]: (pk, bytes_) for key, pk, bytes_ in conn.execute(statement)})
    return found


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
    for some in _chunks(sorted(set(pks.values()))):
        for row in conn.execute(select(asset).where(asset.c.pk.in_(some))):
            by_pk[row.pk] = AssetState.of(row).to_asset()
    return {name: by_pk[pk] for name, pk in pks.items() if pk in by_pk}


def _chunks(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(values), _KEYS):
        yield values[start : start + _KEYS]

"""Finding assets: one by its id, or pages of those that a filter asks for.

A page is at most four statements at any size. With a REGEX condition it may be shorter than its limit, even
empty, and still carry ``next_cursor``: one request looks at no more than 5,000 candidates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Connection, Row, literal, select, union_all

from airflow_assets.catalog import cursors
from airflow_assets.catalog.assets import not_found
from airflow_assets.catalog.engine import utc_now
from airflow_assets.catalog.filters import visible
from airflow_assets.catalog.leases_listing import locks_of
from airflow_assets.catalog.listing import Listing, Order
from airflow_assets.catalog.states import AssetState
from airflow_assets.catalog.tables import alias, asset, purged_asset
from airflow_assets.exceptions import AssetNotFound
from airflow_assets.schemas.base import Page
from airflow_assets.schemas.rules import identity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow_assets.schemas.actors import Caller
    from airflow_assets.schemas.assets import Asset
    from airflow_assets.schemas.queries import AssetQuery

SCAN = 5_000
"""How many candidates of a REGEX condition one request looks at."""
_READ_AHEAD = 200
_COLUMNS: list[ColumnElement[Any]] = [*asset.c, utc_now().label("now_")]
"""The database's clock comes with the rows: how fresh an asset is costs no statement."""


def search(conn: Connection, caller: Caller, query: AssetQuery) -> Page[Asset]:
    """Return one page of the assets that the filter asks for; their ``aliases`` stay empty.

    :raises InvalidQuery: a text that nothing stored can equal, or a list beyond its limit.
    :raises InvalidCursor: the cursor is of another listing or sort.
    """
    order = Order(query.sort)
    seen = cursors.decode(order.name, query.cursor, order.kinds)
    listing = Listing(conn, caller, query)
    if listing.regexes:
        return _scanned_page(listing, order, seen, query.limit)
    rows = conn.execute(listing.page(order, seen, query.limit + 1, _COLUMNS)).all()
    more = len(rows) > query.limit
    return Page(
        items=_seen(conn, rows[: query.limit]),
        next_cursor=order.cursor(rows[query.limit - 1]) if more else None,
    )


def scan(listing: Listing, order: Order, seen: tuple[Any, ...] | None, limit: int, *, bound: int) -> Scan:
    """Return up to ``limit`` rows (``pk`` and the sort value) that match, of up to ``bound`` candidates."""
    found = Scan()
    statement = listing.page(order, seen, bound, [asset.c.pk, order.column])
    with listing.conn.execute(statement.execution_options(yield_per=_READ_AHEAD)) as rows:
        for row in rows:
            if listing.regexes_match(row):
                if len(found.matches) == limit:
                    found.resume_after = found.matches[-1]
                    return found
                found.matches.append(row)
            found.looked_at += 1
            found.resume_after = row
    if found.looked_at < bound:
        found.resume_after = None
    return found


class Scan:
    """What a bounded scan found. ``resume_after`` is null when it reached the end."""

    def __init__(self) -> None:
        self.matches: list[Row[Any]] = []
        self.resume_after: Row[Any] | None = None
        self.looked_at = 0


def _scanned_page(listing: Listing, order: Order, seen: tuple[Any, ...] | None, limit: int) -> Page[Asset]:
    found = scan(listing, order, seen, limit, bound=SCAN)
    pks = [row.pk for row in found.matches]
    by_pk = (
        {row.pk: row for row in listing.conn.execute(select(*_COLUMNS).where(asset.c.pk.in_(pks)))}
        if pks
        else {}
    )
    return Page(
        # A row may be gone by now where the transaction does not hold a snapshot.
        items=_seen(listing.conn, [by_pk[pk] for pk in pks if pk in by_pk]),
        next_cursor=order.cursor(found.resume_after) if found.resume_after is not None else None,
    )


def get(conn: Connection, caller: Caller, asset_id: str, *, include_deleted: bool = False) -> Asset:
    """Return the asset that has this id, or had it before a rename, with all its former ids.

    :param asset_id: an id in its stored form (:func:`airflow_assets.schemas.rules.asset_id`).
    :raises AssetNotFound: there is none, it is deleted, or its namespace is closed to the caller.
    """
    row = find(conn, caller, asset_id)
    if row is None:
        raise not_found(asset_id)
    if row.deleted and not include_deleted:
        raise AssetNotFound(
            f"The asset {asset_id!r} has been deleted.",
            hint="Ask with include_deleted to see it; writing it again revives it.",
            asset_id=asset_id,
        )
    [found] = _seen(conn, [row])
    return found.model_copy(update={"aliases": former_ids(conn, row.pk)})


def _seen(conn: Connection, rows: Sequence[Row[Any]]) -> list[Asset]:
    """The assets of rows with locks and freshness; one more statement where one may be locked."""
    locks = locks_of(conn, rows)
    return [AssetState.of(row).to_asset(lock=locks.get(bytes(row.asset_key)), now=row.now_) for row in rows]


def find(conn: Connection, caller: Caller, asset_id: str) -> Row[Any] | None:
    """Return the row of the asset that has or had this id, deleted or not; null if it is hidden."""
    key = identity(caller.tenant, asset_id)
    now = select(asset.c.pk, literal(0).label("former")).where(asset.c.asset_key == key)
    before = select(alias.c.asset_pk, literal(1)).where(alias.c.alias_key == key)
    named = union_all(now, before).subquery()
    rows = select(*_COLUMNS).join(named, named.c.pk == asset.c.pk).where(visible(asset.c.namespace, caller))
    return conn.execute(rows.order_by(named.c.former).limit(1)).first()


def numbers_of(conn: Connection, caller: Caller, asset_id: str) -> list[int]:
    """Return the row numbers under which the log names an asset: its own, and those of purged ones of the id.

    Empty when there never was one, or when it is hidden.
    """
    key = identity(caller.tenant, asset_id)
    here = visible(asset.c.namespace, caller)
    now = select(asset.c.pk, literal(0).label("rank")).where(asset.c.asset_key == key, here)
    before = (
        select(alias.c.asset_pk, literal(1))
        .join(asset, asset.c.pk == alias.c.asset_pk)
        .where(alias.c.alias_key == key, here)
    )
    gone = select(purged_asset.c.asset_pk, literal(2)).where(
        purged_asset.c.asset_key == key, visible(purged_asset.c.namespace, caller)
    )
    found = [(row.rank, row.pk) for row in conn.execute(union_all(now, before, gone))]
    return sorted(
        {*[pk for rank, pk in sorted(found) if rank < 2][:1], *[pk for rank, pk in found if rank == 2]}
    )


def former_ids(conn: Connection, asset_pk: int) -> list[str]:
    """Return the ids an asset had before, oldest first."""
    rows = select(alias.c.id).where(alias.c.asset_pk == asset_pk)
    return list(conn.scalars(rows.order_by(alias.c.created, alias.c.alias_key)))

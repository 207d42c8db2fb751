"""What an asset filter means as SQL, for pages, facets and scans alike.

``from`` times are inclusive, ``to`` times exclusive. ``ids`` also finds assets by their former ids.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    Select,
    and_,
    false,
    or_,
    select,
    true,
    union_all,
)

from airflow_assets.catalog import cursors, metadata_sql
from airflow_assets.catalog.filters import at_most, contains_text, storable, visible
from airflow_assets.catalog.leases_listing import is_locked
from airflow_assets.catalog.tables import alias, asset
from airflow_assets.schemas.metadata_query import MetadataCondition, Operator
from airflow_assets.schemas.patterns import compile_pattern
from airflow_assets.schemas.rules import identity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow_assets.schemas.actors import Caller
    from airflow_assets.schemas.queries import AssetFilter, Sort

MAX_LIST = 1_000
REGEX_COLUMN = "regex_"
_SORTED_BY = {"id": asset.c.id_sort, "updated": asset.c.updated, "created": asset.c.created}


class Order:
    """The order of an asset listing: total, since it ends in the asset's number.

    By id means by its first 255 bytes; longer ids that agree in those come in the order of their creation.
    """

    def __init__(self, sort: Sort) -> None:
        self.name = f"assets:{sort.value}"
        self.by = sort.value.removeprefix("-")
        self.descending = sort.value.startswith("-")
        self.column = _SORTED_BY[self.by]
        self.kinds: tuple[type, type] = (bytes if self.by == "id" else datetime, int)

    def cursor(self, row: Any) -> str:
        """Return the cursor after a row that has the column of the order and ``pk``."""
        return cursors.encode(self.name, (getattr(row, self.column.name), row.pk))


@dataclass(frozen=True)
class _Start:
    """Where the rows of a listing come from, and the columns that give its order there.

    :param index: the index of ``asset`` that has this order, if one has.
    """

    source: FromClause
    where: list[ColumnElement[bool]]
    sort: tuple[ColumnElement[Any], ColumnElement[Any]]
    index: str | None


class Listing:
    """The assets that a filter asks for and the caller may see.

    REGEX conditions are not SQL: :meth:`page` only narrows to the assets that have a text under the key, and
    whoever reads its rows asks :meth:`regexes_match` about each.
    """

    def __init__(self, conn: Connection, caller: Caller, query: AssetFilter) -> None:
        at_most("metadataQuery", query.metadata_query, metadata_sql.MAX_CONDITIONS)
        self.conn = conn
        self.caller = caller
        self.query = query
        self.dialect = conn.dialect.name
        self.regexes = [c for c in query.metadata_query if c.type is Operator.REGEX]

    @cached_property
    def _named(self) -> list[int]:
        """The row numbers of the assets that ``ids`` name; looked up first: no plan can walk all others."""
        ids = self.query.ids or []
        at_most("ids", ids, MAX_LIST)
        keys = [identity(self.caller.tenant, wanted) for wanted in ids]
        now = select(asset.c.pk).where(asset.c.asset_key.in_(keys))
        before = select(alias.c.asset_pk).where(alias.c.alias_key.in_(keys))
        return sorted(set(self.conn.scalars(now.union_all(before))))

    def conditions(
        self, *, but: MetadataCondition | None = None, pk: ColumnElement[Any] = asset.c.pk
    ) -> list[ColumnElement[bool]]:
        """Return the WHERE on ``asset``, apart from ``deleted``, REGEX and one metadata condition."""
        rest = [c for c in self.query.metadata_query if c is not but and c.type is not Operator.REGEX]
        return [
            self._of_tenant(),
            visible(asset.c.namespace, self.caller),
            is_locked(self.caller, self.query.locked),
            *self._attributes(),
            *self._times(),
            *metadata_sql.conditions_hold(self.dialect, rest, pk),
        ]

    def deleted(self) -> ColumnElement[bool]:
        """Return the WHERE that leaves deleted assets out, unless the filter wants them."""
        return true() if self.query.include_deleted else asset.c.deleted == false()

    def _of_tenant(self) -> ColumnElement[bool]:
        # What ids name is the tenant's, and without this condition SQLite looks only that up.
        return asset.c.tenant == self.caller.tenant if self.query.ids is None else true()

    def _attributes(self) -> list[ColumnElement[bool]]:
        query = self.query
        found: list[ColumnElement[bool]] = []
        if query.ids is not None:
            found.append(asset.c.pk.in_(self._named))
        if query.types is not None:
            at_most("types", query.types, MAX_LIST)
            found.append(asset.c.type.in_(query.types) if query.types else false())
        if query.namespace is not None:
            found.append(asset.c.namespace == query.namespace)
        if query.q:
            part = storable("q", query.q)
            texts = (asset.c.id, asset.c.display_name, asset.c.description)
            found.append(or_(*(contains_text(self.dialect, text, part) for text in texts)))
        return found

    def _times(self) -> list[ColumnElement[bool]]:
        query = self.query
        bounds = (
            (query.created_from, asset.c.created.__ge__),
            (query.created_to, asset.c.created.__lt__),
            (query.updated_from, asset.c.updated.__ge__),
            (query.updated_to, asset.c.updated.__lt__),
        )
        return [compare(at) for at, compare in bounds if at is not None]

    def page(
        self, order: Order, seen: tuple[Any, ...] | None, limit: int, columns: Sequence[ColumnElement[Any]]
    ) -> Select[Any]:
        """Return the statement for the ``limit`` rows after ``seen``.

        :param columns: columns of ``asset``, with ``pk`` and the column of the order among them.
        """
        start = self._start(order)
        by = [column.desc() if order.descending else column for column in start.sort]
        after: ColumnElement[bool] = true()
        if seen is not None:
            after = cursors.beyond(self.dialect, start.sort, seen, descending=order.descending)
        found = select(*columns).select_from(start.source).where(*start.where, after)
        rows = self._with_regex_values(found)
        walk = rows if seen is None else _walking(rows, start.index)
        if not self.query.include_deleted:
            return walk.where(asset.c.deleted == false()).order_by(*by).limit(limit)
        # Each half can walk an index in order; both together could not. Only their numbers are put together:
        # MariaDB keeps a union with texts on disk.
        keys = walk.with_only_columns(asset.c.pk)
        halves = [
            select(keys.where(asset.c.deleted == half).order_by(*by).limit(limit).subquery())
            for half in (false(), true())
        ]
        both = union_all(*halves).subquery()
        return rows.join(both, both.c.pk == asset.c.pk).order_by(*by).limit(limit)

    def _start(self, order: Order) -> _Start:
        """Choose between walking the order and starting from a metadata condition."""
        driver = None
        if self.query.ids is None:
            conditions = self.query.metadata_query
            driver = metadata_sql.choose_driver(self.conn, conditions, by_id=order.by == "id")
        in_order = driver is not None and driver.ordered and order.by == "id"
        if driver is None or not (driver.few or in_order):
            return _Start(asset, self.conditions(), (order.column, asset.c.pk), self._index(order))
        rows = metadata_sql.rows_that_fit(self.dialect, driver.condition, in_order=not driver.few)
        row = rows.offset(0).subquery() if driver.few else rows.subquery()  # OFFSET: look these up first
        sort = (row.c.id_sort, row.c.asset_pk) if in_order else (order.column, asset.c.pk)
        where = self.conditions(but=driver.condition, pk=row.c.asset_pk)
        return _Start(row.join(asset, asset.c.pk == row.c.asset_pk), where, sort, None)

    def _index(self, order: Order) -> str | None:
        """The index whose order is that of the listing, under its filter."""
        query = self.query
        if query.ids is not None:
            return None
        if query.types is None and query.namespace is None:
            return f"ix_{asset.name}_by_{order.by}"
        if order.by != "id":
            return None
        if query.namespace is not None:
            return f"ix_{asset.name}_by_namespace"
        return f"ix_{asset.name}_by_type" if len(query.types or ()) == 1 else None

    def _with_regex_values(self, rows: Select[Any]) -> Select[Any]:
        """One more column for each REGEX condition: the bytes that its pattern must be found in."""
        for at, condition in enumerate(self.regexes):
            row = metadata_sql.value_row(f"{REGEX_COLUMN}{at}")
            fits = metadata_sql.row_fits(self.dialect, condition, row)
            text = metadata_sql.whole_value(row).label(row.name)
            rows = rows.add_columns(text).join(row, and_(row.c.asset_pk == asset.c.pk, fits))
        return rows

    def regexes_match(self, row: Any) -> bool:
        """Tell whether a row of :meth:`page` fulfils the REGEX conditions, which SQL leaves open."""
        return all(pattern.search(getattr(row, name)) for name, pattern in self._patterns)

    @cached_property
    def _patterns(self) -> list[tuple[str, Any]]:
        return [(f"{REGEX_COLUMN}{at}", compile_pattern(c.value)) for at, c in enumerate(self.regexes)]


def _walking(rows: Select[Any], index: str | None) -> Select[Any]:
    """Make MariaDB and MySQL begin at the cursor: by themselves they read the index from its very begin."""
    return rows if index is None else metadata_sql.forcing(rows, asset, index)

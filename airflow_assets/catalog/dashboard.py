"""The present inventory as rows for charts: one grouping statement, and one for the metadata values shown."""

from __future__ import annotations

import json
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, distinct, false, func, literal, or_, select

from airflow_assets.catalog.filters import storable
from airflow_assets.catalog.listing import Listing
from airflow_assets.catalog.metadata_sql import value_row
from airflow_assets.catalog.tables import asset
from airflow_assets.schemas.base import iso
from airflow_assets.schemas.dashboard import (
    TIMES,
    Aggregate,
    DashboardColumn,
    DashboardCondition,
    DashboardData,
    DashboardField,
    DashboardQuery,
)
from airflow_assets.schemas.metadata_query import Operator
from airflow_assets.schemas.queries import AssetFilter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection, FromClause, Select

    from airflow_assets.schemas.actors import Caller

_FIELDS = {
    DashboardField.ID: asset.c.id,
    DashboardField.NAMESPACE: asset.c.namespace,
    DashboardField.TYPE: asset.c.type,
    DashboardField.DISPLAY_NAME: asset.c.display_name,
    DashboardField.CREATED: asset.c.created,
    DashboardField.UPDATED: asset.c.updated,
}
_COMPARED = {
    Operator.GREATER_THAN: "__gt__",
    Operator.GREATER_THAN_OR_EQUAL_TO: "__ge__",
    Operator.LESS_THAN: "__lt__",
    Operator.LESS_THAN_OR_EQUAL_TO: "__le__",
}
_CHUNK = 500


def dashboard(conn: Connection, caller: Caller, query: DashboardQuery) -> DashboardData:
    """Return the rows; what is null or missing is null, and counts as no value.

    Values that are equal (``1`` and ``1.0``) are one group.
    """
    plan = _Plan(conn, caller, query)
    rows = conn.execute(plan.statement()).all()
    shown = rows[: query.limit]
    return DashboardData(
        columns=list(query.columns), rows=plan.told(shown), truncated=len(rows) > query.limit
    )


class _Plan:
    """The statement of one dashboard, and how its rows read."""

    def __init__(self, conn: Connection, caller: Caller, query: DashboardQuery) -> None:
        self._conn = conn
        self._caller = caller
        self._query = query
        self._columns = list(query.columns.values())

    @cached_property
    def _metadata(self) -> dict[str, FromClause]:
        """A metadata row for each key that a column is about."""
        keys = dict.fromkeys(column.key for column in self._columns if column.key is not None)
        return {key: value_row(f"dashboard_{at}") for at, key in enumerate(keys)}

    @property
    def _groups(self) -> bool:
        return any(column.agg for column in self._columns)

    def statement(self) -> Select[Any]:
        """Columns ``c0``, ``c1`` and so on, and ``pk`` of an asset that has the values of the row."""
        labelled = [self._expression(column).label(f"c{at}") for at, column in enumerate(self._columns)]
        pk = func.min(asset.c.pk) if self._groups else asset.c.pk
        found: Select[Any] = (
            select(*labelled, pk.label("pk")).select_from(self._source()).where(*self._where())
        )
        if self._groups:
            plain = [column for column in self._columns if not column.agg]
            # Equal values have equal bytes to sort by: they part no group.
            found = found.group_by(*map(self._value, plain), *map(self._sorted_by, plain))
        return found.order_by(*self._order()).limit(self._query.limit + 1)

    def told(self, rows: Sequence[Any]) -> list[dict[str, Any]]:
        """The rows by the names of their columns."""
        shows_metadata = any(column.key and not column.agg for column in self._columns)
        metadata = self._metadata_of([row.pk for row in rows]) if shows_metadata else {}
        names = list(self._query.columns)
        return [
            {
                name: _told(column, row[at], metadata.get(row.pk, {}))
                for at, (name, column) in enumerate(zip(names, self._columns, strict=True))
            }
            for row in rows
        ]

    def _source(self) -> FromClause:
        source: Any = asset
        for key, row in self._metadata.items():
            is_value = and_(row.c.asset_pk == asset.c.pk, row.c.field == literal(key), row.c.tag != "n")
            source = source.outerjoin(row, is_value)
        return source  # type: ignore[no-any-return]

    def _where(self) -> list[ColumnElement[bool]]:
        of_metadata = [one for one in self._query.where if one.field is DashboardField.METADATA]
        wanted = AssetFilter(metadata_query=[one.of_metadata() for one in of_metadata])
        listing = Listing(self._conn, self._caller, wanted)
        others = [one for one in self._query.where if one.field is not DashboardField.METADATA]
        return [listing.deleted(), *listing.conditions(), *map(_holds, others)]

    def _value(self, column: DashboardColumn) -> ColumnElement[Any]:
        """What tells values apart: of metadata the hash."""
        if column.key is not None:
            return self._metadata[column.key].c.value_hash
        return _FIELDS[column.field]

    def _expression(self, column: DashboardColumn) -> ColumnElement[Any]:
        value = self._value(column)
        if column.agg is None:
            return value
        if column.field is DashboardField.ID:  # each asset has one of its own
            return func.count(asset.c.pk)
        return func.count(distinct(value)) if column.agg is Aggregate.COUNT_DISTINCT else func.count(value)

    def _order(self) -> list[ColumnElement[Any]]:
        """Total, so that the same rows are cut off every time."""
        groups = [self._sorted_by(column) for column in self._columns if not column.agg]
        rest = groups if self._groups else [asset.c.id_sort, asset.c.pk]
        wanted = self._query.order_by
        if wanted is None:
            numbers = [self._expression(column).desc() for column in self._columns if column.agg]
            return [*numbers[:1], *rest]
        column = self._query.columns[wanted.removeprefix("-")]
        by = self._expression(column) if column.agg else self._sorted_by(column)
        return [by.desc() if wanted.startswith("-") else by, *rest]

    def _sorted_by(self, column: DashboardColumn) -> ColumnElement[Any]:
        if column.key is None:
            return self._value(column)
        return self._metadata[column.key].c.value_sort

    def _metadata_of(self, pks: list[int]) -> dict[int, dict[str, Any]]:
        found: dict[int, dict[str, Any]] = {}
        for start in range(0, len(pks), _CHUNK):
            some = select(asset.c.pk, asset.c.metadata).where(asset.c.pk.in_(pks[start : start + _CHUNK]))
            found.update((row.pk, json.loads(row.metadata)) for row in self._conn.execute(some))
        return found


def _told(column: DashboardColumn, value: Any, metadata: dict[str, Any]) -> Any:
    if column.agg is None and column.key is not None:
        return metadata.get(column.key)
    return iso(value) if isinstance(value, datetime) else value


def _holds(condition: DashboardCondition) -> ColumnElement[bool]:
    """A condition on a column of ``asset``; the negative ones also hold where there is no value."""
    column: ColumnElement[Any] = _FIELDS[condition.field]
    if condition.field in TIMES:
        held: ColumnElement[bool] = getattr(column, _COMPARED[condition.type])(condition.time())
        return held
    if condition.type is Operator.EXISTS:
        return column.is_not(None)
    if condition.type is Operator.NOT_EXISTS:
        return column.is_(None)
    texts = [storable(condition.field.value, one) for one in condition.operands()]
    if condition.type is Operator.STARTS_WITH:
        return func.substr(column, 1, len(texts[0])) == texts[0]
    among = column.in_(texts) if texts else false()
    if condition.type in {Operator.EQUAL_TO, Operator.IN}:
        return among
    return or_(column.is_(None), column.not_in(texts))

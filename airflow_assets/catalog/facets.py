"""How often each type, namespace or metadata value occurs among the assets that a filter asks for.

Counts are exact and come from one statement for each facet; one more finds the values, one the total. With a
REGEX condition they are about the first 10,000 candidates, and the total then says that it is a lower bound.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, func, literal, select

from airflow_assets.catalog.filters import at_most
from airflow_assets.catalog.listing import Listing, Order
from airflow_assets.catalog.metadata_sql import value_row
from airflow_assets.catalog.search import scan
from airflow_assets.catalog.tables import asset
from airflow_assets.exceptions import InvalidQuery
from airflow_assets.schemas.masking import is_sensitive
from airflow_assets.schemas.metadata_query import MetadataCondition, Operator
from airflow_assets.schemas.queries import Facet, FacetResult, FacetValue, Sort

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import ColumnElement, Connection, FromClause, Select

    from airflow_assets.schemas.actors import Caller
    from airflow_assets.schemas.queries import FacetQuery

MAX_FACETS = 20
MAX_TOTAL = 10_000
_COLUMNS = {"type": asset.c.type, "namespace": asset.c.namespace}
_METADATA = "metadata."


def facets(conn: Connection, caller: Caller, query: FacetQuery) -> FacetResult:
    """Return the counts of each facet asked for, most frequent values first, and the number of assets.

    Values that are equal (``1`` and ``1.0``) are counted together. What has no value is counted as missing.

    :raises InvalidQuery: a facet is unknown or would read a secret, or there are more than 20.
    """
    at_most("facets", query.facets, MAX_FACETS)
    matching = _Matching(Listing(conn, caller, query))
    counted = [_count(matching, name, query.top) for name in dict.fromkeys(query.facets)]
    values = _Values(conn, counted)
    total, is_lower_bound = matching.total()
    return FacetResult(
        facets=[found.facet(values) for found in counted], total=total, total_is_lower_bound=is_lower_bound
    )


class _Matching:
    """The assets to count, as a WHERE."""

    def __init__(self, listing: Listing) -> None:
        self.listing = listing
        self.pks: list[int] | None = None
        if listing.regexes:
            found = scan(listing, Order(Sort.ID), None, MAX_TOTAL, bound=MAX_TOTAL)
            self.pks = [row.pk for row in found.matches]
            self._cut = found.resume_after is not None

    def where(self) -> list[ColumnElement[bool]]:
        if self.pks is None:
            return [self.listing.deleted(), *self.listing.conditions()]
        return [asset.c.pk.in_(self.pks)]

    def total(self) -> tuple[int, bool]:
        """The number of assets up to 10,000, and whether there are more."""
        if self.pks is not None:
            return len(self.pks), self._cut
        some = select(asset.c.pk).where(*self.where()).limit(MAX_TOTAL + 1).subquery()
        count = self.listing.conn.execute(select(func.count()).select_from(some)).scalar_one()
        return min(count, MAX_TOTAL), count > MAX_TOTAL


@dataclass(frozen=True)
class _Counted:
    """The groups of one facet: ``value`` (a metadata value's hash), ``assets``, ``example``, ``total``."""

    name: str
    groups: list[Any]
    missing: int

    @property
    def key(self) -> str | None:
        """The metadata key, or null for a column."""
        return self.name.removeprefix(_METADATA) if self.name.startswith(_METADATA) else None

    def facet(self, values: _Values) -> Facet:
        listed = sum(group.assets for group in self.groups)
        total = int(self.groups[0].total) if self.groups else self.missing
        return Facet(
            name=self.name,
            values=[
                FacetValue(value=values.of(self.key, group), count=group.assets) for group in self.groups
            ],
            missing=self.missing,
            other=total - self.missing - listed,
        )


def _count(matching: _Matching, name: str, top: int) -> _Counted:
    value, source = _facet_source(name)
    count, example = func.count(), func.min(asset.c.pk)
    groups: Select[Any, Any, Any, Any] = (
        select(
            value.label("value"),
            count.label("assets"),
            example.label("example"),
            func.sum(count).over().label("total"),
        )
        .select_from(source)
        .where(*matching.where())
        .group_by(value)
        .order_by(value.is_(None).desc(), count.desc(), value)  # what has none comes first
        .limit(top + 1)
    )
    rows = list[Any](matching.listing.conn.execute(groups))
    missing = rows.pop(0).assets if rows and rows[0].value is None else 0
    return _Counted(name, rows[:top], missing)


def _facet_source(name: str) -> tuple[ColumnElement[Any], FromClause]:
    if name in _COLUMNS:
        return _COLUMNS[name], asset
    key = name.removeprefix(_METADATA)
    if key == name or is_sensitive(key):
        raise InvalidQuery(
            f"{name!r} is not a facet" + (": its values are secrets." if key != name else "."),
            hint="Use 'type', 'namespace' or 'metadata.<key>'.",
            field="facets",
            value=name,
        )
    MetadataCondition(field=key, type=Operator.EXISTS)  # a key that can be asked for
    row = value_row("facet")
    joined = asset.outerjoin(row, and_(row.c.asset_pk == asset.c.pk, row.c.field == literal(key)))
    return row.c.value_hash, joined


class _Values:
    """The metadata values behind their hashes, taken from one asset that has them."""

    def __init__(self, conn: Connection, counted: Iterable[_Counted]) -> None:
        pks = sorted({group.example for found in counted if found.key for group in found.groups})
        self._metadata: dict[int, dict[str, Any]] = {}
        for start in range(0, len(pks), 1_000):
            some = select(asset.c.pk, asset.c.metadata).where(asset.c.pk.in_(pks[start : start + 1_000]))
            self._metadata.update((row.pk, json.loads(row.metadata)) for row in conn.execute(some))

    def of(self, key: str | None, group: Any) -> Any:
        return group.value if key is None else self._metadata.get(group.example, {}).get(key)

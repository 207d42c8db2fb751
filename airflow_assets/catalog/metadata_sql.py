"""A metadata query as SQL on ``metadata_value``: index look-ups, typed and exact on every database.

A condition asks whether an asset has a metadata row that fits (:func:`row_fits`), or, for the negative
operators, whether it has none; so NOT_EQUAL_TO and NOT_IN are exact complements. Only REGEX cannot be decided
in SQL: there ``row_fits`` gives the candidates, and :class:`airflow_assets.catalog.listing.Listing` decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    LargeBinary,
    Select,
    and_,
    false,
    func,
    literal,
    not_,
    or_,
    select,
    union_all,
)

from airflow_assets.catalog import values
from airflow_assets.catalog.tables import metadata_value
from airflow_assets.schemas.metadata_query import RANGES, MetadataCondition, Operator

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy.sql.selectable import NamedFromClause

MAX_CONDITIONS = 50
FEW = 1_000
"""Up to so many rows it is cheaper to look each of them up and sort than to walk the order of the listing."""

_NEGATIVE = frozenset({Operator.NOT_EQUAL_TO, Operator.NOT_IN, Operator.NOT_EXISTS})
_INDEXED = RANGES | {Operator.EQUAL_TO, Operator.IN, Operator.EXISTS, Operator.STARTS_WITH}


def conditions_hold(
    dialect: str, conditions: Sequence[MetadataCondition], asset_pk: ColumnElement[Any]
) -> list[ColumnElement[bool]]:
    """Return the conditions as SQL; REGEX only narrows to the assets with a text under its key."""
    found = []
    for at, condition in enumerate(conditions):
        row = value_row(f"value_{at}")
        rows = select(literal(1)).where(row.c.asset_pk == asset_pk, row_fits(dialect, condition, row))
        # OFFSET keeps planners from turning the look-up into a join: they take key and value for independent,
        # expect few rows, and would join and sort everything where walking the order finds a page at once.
        has_row = rows.limit(1).offset(0).exists()
        found.append(not_(has_row) if condition.type in _NEGATIVE else has_row)
    return found


@lru_cache(maxsize=256)
def value_row(name: str) -> NamedFromClause:
    """Return ``metadata_value`` under another name; kept, since making one costs more than the look-up."""
    return metadata_value.alias(name)


def row_fits(dialect: str, condition: MetadataCondition, row: FromClause) -> ColumnElement[bool]:
    """Return the condition on one metadata row, without the negation of a negative operator."""
    return and_(row.c.field == condition.field, _value_fits(dialect, condition, row))


def rows_that_fit(dialect: str, condition: MetadataCondition, *, in_order: bool) -> Select[Any]:
    """Return the numbers and sortable ids of the assets with a metadata row that fits.

    :param in_order: of an equality; its index has the rows in the order of the ids, and they are walked so.
    """
    row = value_row("start")
    rows: Select[Any] = select(row.c.asset_pk, row.c.id_sort).where(row_fits(dialect, condition, row))
    return forcing(rows, row, f"ix_{metadata_value.name}_equal") if in_order else rows


def forcing(rows: Select[Any], table: FromClause, index: str) -> Select[Any]:
    """Have MariaDB and MySQL use an index; other databases see nothing of it."""
    for dialect in ("mysql", "mariadb"):
        rows = rows.with_hint(table, f"FORCE INDEX ({index})", dialect)
    return rows


def _value_fits(dialect: str, condition: MetadataCondition, row: FromClause) -> ColumnElement[bool]:
    kind, value = condition.type, condition.value
    if kind in RANGES:
        return _in_range(kind, value, row)
    simple: dict[Operator, Callable[[], ColumnElement[bool]]] = {
        Operator.EQUAL_TO: lambda: row.c.value_hash == values.value_hash(value),
        Operator.NOT_EQUAL_TO: lambda: row.c.value_hash == values.value_hash(value),
        Operator.IN: lambda: _one_of(value, row),
        Operator.NOT_IN: lambda: _one_of(value, row),
        Operator.EXISTS: lambda: row.c.field == condition.field,
        Operator.NOT_EXISTS: lambda: row.c.field == condition.field,
        Operator.STARTS_WITH: lambda: _starts_with(value.encode(), row),
        Operator.ENDS_WITH: lambda: _ends_with(value.encode(), row),
        Operator.CONTAINS: lambda: _contains(dialect, value, row),
        Operator.REGEX: lambda: row.c.tag == values.TEXT,
    }
    return simple[kind]()


def _one_of(wanted: Sequence[Any], row: FromClause) -> ColumnElement[bool]:
    hashes = sorted({values.value_hash(value) for value in wanted})
    return row.c.value_hash.in_(hashes) if hashes else false()


def _in_range(kind: Operator, value: Any, row: FromClause) -> ColumnElement[bool]:
    """The indexed bytes decide, but for rows that share all 255 of them with the bound."""
    bound = values.sort_bytes(value)
    above = kind in {Operator.GREATER_THAN, Operator.GREATER_THAN_OR_EQUAL_TO}
    or_equal = kind in {Operator.GREATER_THAN_OR_EQUAL_TO, Operator.LESS_THAN_OR_EQUAL_TO}
    same_tag = row.c.tag == values.tag(value)
    if len(bound) < values.SORT_LENGTH:
        return and_(same_tag, _compare(row.c.value_sort, _bytes(bound), above=above, or_equal=or_equal))
    head = _bytes(bound[: values.SORT_LENGTH])
    tie = and_(
        row.c.value_sort == head, _compare(whole_value(row), _bytes(bound), above=above, or_equal=or_equal)
    )
    return and_(same_tag, or_(_compare(row.c.value_sort, head, above=above, or_equal=False), tie))


def _compare(
    left: ColumnElement[Any], right: ColumnElement[Any], *, above: bool, or_equal: bool
) -> ColumnElement[bool]:
    if above:
        return left >= right if or_equal else left > right
    return left <= right if or_equal else left < right


def _starts_with(prefix: bytes, row: FromClause) -> ColumnElement[bool]:
    is_text = row.c.tag == values.TEXT
    if not prefix:
        return is_text
    head = prefix[: values.SORT_LENGTH]
    after = head[:-1] + bytes([head[-1] + 1])  # UTF-8 has no byte 255
    indexed = and_(is_text, row.c.value_sort >= _bytes(head), row.c.value_sort < _bytes(after))
    if len(prefix) <= values.SORT_LENGTH:
        return indexed
    return and_(indexed, func.substr(row.c.value_rest, 1, len(prefix)) == _bytes(prefix))


def _ends_with(suffix: bytes, row: FromClause) -> ColumnElement[bool]:
    is_text = row.c.tag == values.TEXT
    if not suffix:
        return is_text
    whole = whole_value(row)
    length = func.length(whole)
    tail = func.substr(whole, length - len(suffix) + 1)
    return and_(is_text, length >= len(suffix), tail == _bytes(suffix))


def _contains(dialect: str, value: Any, row: FromClause) -> ColumnElement[bool]:
    in_list = and_(row.c.tag == values.ARRAY, _found(dialect, values.value_hash(value), whole_value(row)))
    if not isinstance(value, str):
        return in_list
    in_text = row.c.tag == values.TEXT
    if value:
        in_text = and_(in_text, _found(dialect, value.encode(), whole_value(row)))
    return or_(in_text, in_list)


def _found(dialect: str, part: bytes, whole: ColumnElement[Any]) -> ColumnElement[bool]:
    if dialect == "postgresql":
        return func.position(_bytes(part).op("IN")(whole)) > 0
    return func.instr(whole, _bytes(part)) > 0


def whole_value(row: FromClause) -> ColumnElement[Any]:
    """Return the order-preserving bytes of a row's value in full length."""
    return func.coalesce(row.c.value_rest, row.c.value_sort)


def _bytes(value: bytes) -> ColumnElement[Any]:
    return literal(value, LargeBinary())


@dataclass(frozen=True)
class Driver:
    """The condition from which a listing should start.

    :param few: so few rows fit that they can be looked up one by one, in any order.
    :param ordered: the rows that fit lie in the order of the asset's id in an index.
    """

    condition: MetadataCondition
    few: bool
    ordered: bool


def choose_driver(
    conn: Connection, conditions: Sequence[MetadataCondition], *, by_id: bool = False
) -> Driver | None:
    """Return the most selective indexed condition, counted to 1,000 rows each; null when there is none.

    One statement, none for a single equality listed by id, which is walked in any case. Planners guess this
    from statistics that know values but not which key they belong to.

    :param by_id: the listing is in the order of the ids.
    """
    candidates = [condition for condition in conditions if condition.type in _INDEXED]
    if not candidates:
        return None
    if by_id and len(candidates) == 1 and _is_equality(candidates[0]):
        return Driver(candidates[0], few=False, ordered=True)
    counts = conn.execute(union_all(*(_count(conn.dialect.name, at, c) for at, c in enumerate(candidates))))
    count: dict[int, int] = {at: rows for at, rows in counts}  # noqa: C416 - rows are not pairs to mypy
    at = min(count, key=lambda at: (count[at], not _is_equality(candidates[at])))
    if count[at] > FEW:
        at = next((i for i, c in enumerate(candidates) if _is_equality(c)), at)
    return Driver(candidates[at], few=count[at] <= FEW, ordered=_is_equality(candidates[at]))


def _count(dialect: str, at: int, condition: MetadataCondition) -> Select[int, int]:
    row = value_row(f"value_{at}")
    some = select(row.c.asset_pk).where(row_fits(dialect, condition, row)).limit(FEW + 1).subquery()
    return select(literal(at), func.count()).select_from(some)


def _is_equality(condition: MetadataCondition) -> bool:
    return condition.type is Operator.EQUAL_TO or (
        condition.type is Operator.IN and len(condition.value) == 1
    )

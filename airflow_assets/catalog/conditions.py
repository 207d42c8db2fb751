"""Metadata conditions in Python, with the meaning that ``metadata_sql`` gives them in SQL.

For what has no rows in ``metadata_value``: the asset as it was at the moment of an event.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from airflow_assets.catalog.values import NUMBER, TEXT, equal, sort_bytes, tag
from airflow_assets.schemas.metadata_query import RANGES, MetadataCondition, Operator
from airflow_assets.schemas.patterns import compile_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_COMPARISONS: dict[Operator, Callable[[bytes, bytes], bool]] = {
    Operator.GREATER_THAN: operator.gt,
    Operator.GREATER_THAN_OR_EQUAL_TO: operator.ge,
    Operator.LESS_THAN: operator.lt,
    Operator.LESS_THAN_OR_EQUAL_TO: operator.le,
}
_COMPLEMENTS = {
    Operator.NOT_EQUAL_TO: Operator.EQUAL_TO,
    Operator.NOT_IN: Operator.IN,
    Operator.NOT_EXISTS: Operator.EXISTS,
}


def hold(conditions: Iterable[MetadataCondition], metadata: Mapping[str, Any]) -> bool:
    """Tell whether every condition holds for the metadata.

    >>> hold([MetadataCondition(field="tier", type="GREATER_THAN", value=1)], {"tier": 2})
    True
    """
    return all(_holds(condition, metadata) for condition in conditions)


def _holds(condition: MetadataCondition, metadata: Mapping[str, Any]) -> bool:
    kind, wanted = condition.type, condition.value
    if kind in _COMPLEMENTS:
        return not _fits(_COMPLEMENTS[kind], wanted, condition.field, metadata)
    return _fits(kind, wanted, condition.field, metadata)


def _fits(kind: Operator, wanted: Any, field: str, metadata: Mapping[str, Any]) -> bool:
    if field not in metadata:
        return False
    value = metadata[field]
    if kind is Operator.EXISTS:
        return True
    if kind is Operator.EQUAL_TO:
        return equal(value, wanted)
    if kind is Operator.IN:
        return any(equal(value, one) for one in wanted)
    if kind in RANGES:
        comparable = tag(value) == tag(wanted) in {NUMBER, TEXT}
        return comparable and _COMPARISONS[kind](sort_bytes(value), sort_bytes(wanted))
    return _fits_text(kind, wanted, value)


def _fits_text(kind: Operator, wanted: Any, value: Any) -> bool:
    if kind is Operator.CONTAINS and isinstance(value, list):
        return any(equal(item, wanted) for item in value)
    if not isinstance(value, str) or not isinstance(wanted, str):
        return False
    if kind is Operator.STARTS_WITH:
        return value.startswith(wanted)
    if kind is Operator.ENDS_WITH:
        return value.endswith(wanted)
    if kind is Operator.CONTAINS:
        return wanted in value
    return compile_pattern(wanted).search(value) is not None

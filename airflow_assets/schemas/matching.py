"""Metadata conditions and event filters decided in Python, with the same meaning as the catalogue's SQL.

A test generates metadata and conditions and compares the two on every database.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from airflow_assets.schemas.events import Event, EventFilter, EventKind
from airflow_assets.schemas.metadata_query import RANGES, MetadataCondition, Operator
from airflow_assets.schemas.patterns import compile_pattern

_MISSING = object()


def conditions_hold(metadata: Mapping[str, Any], conditions: Sequence[MetadataCondition]) -> bool:
    """Tell whether metadata fulfils every condition.

    >>> tier = MetadataCondition(field="tier", type="GREATER_THAN", value=1)
    >>> [conditions_hold(metadata, [tier]) for metadata in ({"tier": 2}, {"tier": "2"}, {})]
    [True, False, False]
    """
    return all(_holds(metadata.get(c.field, _MISSING), c) for c in conditions)


def event_matches(
    wanted: EventFilter, event: Event, *, resolve: Callable[[str], str] = lambda asset_id: asset_id
) -> bool:
    """Tell whether an event is one that the filter wants.

    :param resolve: returns the present id of an asset for a present or former one, and any other id
        unchanged; so a filter for an asset goes on after its rename.
    """
    return (
        (wanted.events is None or event.event in wanted.events)
        and (wanted.namespace is None or event.asset.namespace == wanted.namespace)
        and (wanted.asset_type is None or event.asset.type == wanted.asset_type)
        and not (wanted.only_changes and event.event is EventKind.UPDATED and not event.changed)
        and _is_asset(wanted.asset_id, event.asset.id, resolve)
        and conditions_hold(event.asset.metadata, wanted.metadata_query)
    )


def same_value(left: Any, right: Any) -> bool:
    """Tell whether two JSON values are equal: ``true``, ``1``, ``"1"`` are three values, ``1`` is ``1.0``."""
    kind = _kind(left)
    if kind != _kind(right):
        return False
    if kind == "number":
        return _exact(left) == _exact(right)
    if kind == "list":
        return len(left) == len(right) and all(map(same_value, left, right))
    if kind == "object":
        return left.keys() == right.keys() and all(same_value(left[key], right[key]) for key in left)
    return bool(left == right)


def _is_asset(wanted: str | None, found: str, resolve: Callable[[str], str]) -> bool:
    return wanted is None or wanted == found or resolve(wanted) == resolve(found)


def _holds(value: Any, condition: MetadataCondition) -> bool:
    kind, wanted = condition.type, condition.value
    exists = value is not _MISSING
    if kind in {Operator.EXISTS, Operator.NOT_EXISTS}:
        return exists is (kind is Operator.EXISTS)
    if kind in {Operator.EQUAL_TO, Operator.NOT_EQUAL_TO}:
        return (exists and same_value(value, wanted)) is (kind is Operator.EQUAL_TO)
    if kind in {Operator.IN, Operator.NOT_IN}:
        is_one = exists and any(same_value(value, one) for one in wanted)
        return is_one is (kind is Operator.IN)
    if not exists:
        return False
    return _in_range(value, kind, wanted) if kind in RANGES else _part_fits(value, kind, wanted)


def _in_range(value: Any, kind: Operator, bound: Any) -> bool:
    if _kind(value) != _kind(bound):
        return False
    left: Any = value if isinstance(value, str) else _exact(value)
    right: Any = bound if isinstance(bound, str) else _exact(bound)
    if kind is Operator.GREATER_THAN:
        return bool(left > right)
    if kind is Operator.GREATER_THAN_OR_EQUAL_TO:
        return bool(left >= right)
    return bool(left < right if kind is Operator.LESS_THAN else left <= right)


def _part_fits(value: Any, kind: Operator, part: Any) -> bool:
    if kind is Operator.CONTAINS and isinstance(value, list):
        return any(same_value(item, part) for item in value)
    if not isinstance(value, str) or not isinstance(part, str):
        return False
    if kind is Operator.STARTS_WITH:
        return value.startswith(part)
    if kind is Operator.ENDS_WITH:
        return value.endswith(part)
    if kind is Operator.CONTAINS:
        return part in value
    return compile_pattern(part).search(value) is not None


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, str):
        return "text"
    return "object" if isinstance(value, dict) else "list"


def _exact(number: int | float) -> Decimal:  # noqa: PYI041 - which of the two it is matters here
    """A float counts as its shortest text, as it stands in JSON: 0.1 is one tenth."""
    return Decimal(repr(number)) if isinstance(number, float) else Decimal(number)

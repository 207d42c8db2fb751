"""Keyset paging: a cursor names the last row that was seen, so a page costs the same wherever it is.

A cursor is base64url text that carries the sort values of that row and the name of the order they belong to.
It is opaque to callers and holds no filter: whoever changes the filter between pages gets the rest of the new
list.
"""

from __future__ import annotations

import base64
import binascii
import json
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, and_, literal, or_, tuple_

from airflow_assets.exceptions import InvalidCursor
from airflow_assets.schemas.base import iso

if TYPE_CHECKING:
    from collections.abc import Sequence

SortValue = bytes | int | str | datetime
_TIME = "%Y-%m-%dT%H:%M:%S.%fZ"
_MAX_CURSOR = 12_000
_MAX_INT = (1 << 63) - 1


def encode(order: str, values: Sequence[SortValue]) -> str:
    """Return the cursor after the row with these sort values.

    :param order: names listing and sort; a cursor of another order is refused.

    >>> decode("assets:id", encode("assets:id", [b"orders", 7]), [bytes, int])
    (b'orders', 7)
    """
    content = json.dumps([order, *map(_pack, values)], separators=(",", ":"), ensure_ascii=False)
    return base64.urlsafe_b64encode(content.encode()).decode().rstrip("=")


def decode(order: str, cursor: str | None, kinds: Sequence[type]) -> tuple[Any, ...] | None:
    """Return the sort values of a cursor, or null for the first page.

    :raises InvalidCursor: it was not made by :func:`encode` for this order.
    """
    if cursor is None:
        return None
    try:
        if len(cursor) > _MAX_CURSOR:
            raise ValueError("too long")
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        content = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
        if not isinstance(content, list) or len(content) != len(kinds) + 1 or content[0] != order:
            raise ValueError("of another listing")
        return tuple(_unpack(value, kind) for value, kind in zip(content[1:], kinds, strict=True))
    except (ValueError, binascii.Error, RecursionError):
        raise InvalidCursor(
            f"The cursor is not one of this listing in this order ({order}).",
            hint="Pass next_cursor of the page before unchanged, or none for the first page.",
            field="cursor",
            value=cursor,
        ) from None


def _pack(value: SortValue) -> str | int:
    if isinstance(value, bytes):
        return base64.urlsafe_b64encode(value).decode()
    return iso(value) if isinstance(value, datetime) else value


def _unpack(value: Any, kind: type) -> SortValue:
    if kind is int:
        if type(value) is not int or not 0 <= value <= _MAX_INT:
            raise ValueError("not a number")
        return int(value)
    if not isinstance(value, str):
        raise ValueError("not a text")
    if kind is bytes:
        return base64.b64decode(value.encode("ascii"), altchars=b"-_", validate=True)
    if kind is datetime:
        return datetime.strptime(value, _TIME).replace(tzinfo=timezone.utc)
    if "\0" in value:
        raise ValueError("not a stored text")
    value.encode()  # a ValueError for half of a surrogate pair
    return value


def beyond(
    dialect: str, columns: Sequence[ColumnElement[Any]], values: Sequence[Any], *, descending: bool = False
) -> ColumnElement[bool]:
    """Return the condition that a row comes after ``values`` in the order of ``columns``.

    Written as each database can answer it from an index: MariaDB and MySQL do not look up row values, the
    others do not merge the alternatives.
    """
    bound = [literal(value, column.type) for column, value in zip(columns, values, strict=True)]
    if dialect not in {"mysql", "mariadb"}:
        left, right = tuple_(*columns), tuple_(*bound)
        return left < right if descending else left > right
    alternatives = []
    for at, (column, value) in enumerate(zip(columns, bound, strict=True)):
        equal = [columns[i] == bound[i] for i in range(at)]
        alternatives.append(and_(*equal, column < value if descending else column > value))
    return or_(*alternatives)

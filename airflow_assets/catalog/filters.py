"""Pieces of a WHERE that every listing needs, the same on SQLite, PostgreSQL, MariaDB and MySQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, and_, func, literal, not_, or_, select, true

from airflow_assets.catalog import tables
from airflow_assets.exceptions import InvalidQuery

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from airflow_assets.schemas.actors import Caller

MAX_TEXT = 1_500
"""The longest text a listing compares with: no stored id, name or type is longer."""


def visible(namespace: ColumnElement[Any], caller: Caller) -> ColumnElement[bool]:
    """Return the condition that a row of this namespace exists for the caller.

    A closed namespace closes its dotted children: ``a.b`` hides ``a.b`` and ``a.b.c``, not ``a.b_other``.
    What has no namespace belongs to everybody.
    """
    if not caller.hidden_namespaces:
        return true()
    # "/" is the character after ".", so this range holds exactly what begins with "a.b.".
    outside = [
        and_(namespace != hidden, or_(namespace < f"{hidden}.", namespace >= f"{hidden}/"))
        for hidden in caller.hidden_namespaces
    ]
    return or_(namespace.is_(None), and_(*outside))


def seen_by_key(key: ColumnElement[Any], caller: Caller) -> ColumnElement[bool]:
    """Return the condition that a row does not belong, by the key of its asset, to one that is hidden.

    What has no asset, such as a task inside a graph, belongs to everybody.
    """
    if not caller.hidden_namespaces:
        return true()
    asset = tables.asset.c
    hidden = select(asset.pk).where(asset.asset_key == key, not_(visible(asset.namespace, caller)))
    return not_(hidden.exists())


def is_hidden(namespace: str | None, caller: Caller) -> bool:
    """Tell in Python what :func:`visible` says in SQL."""
    return namespace is not None and any(
        namespace == hidden or namespace.startswith(f"{hidden}.") for hidden in caller.hidden_namespaces
    )


def storable(field: str, value: str) -> str:
    """Return a text that a database can compare with.

    :raises InvalidQuery: it is longer than anything stored, or has U+0000 or half of a surrogate pair.
    """
    problem = None
    if len(value) > MAX_TEXT:
        problem = f"has {len(value):,} characters; at most {MAX_TEXT:,} are allowed"
    elif "\0" in value or any("\ud800" <= char <= "\udfff" for char in value):
        problem = "has a character that no stored text can have"
    if problem:
        raise InvalidQuery(
            f"The {field} to look for {problem}.",
            field=field,
            limit=MAX_TEXT,
            value=value.encode("utf-8", "backslashreplace").decode(),
        )
    return value


def at_most(field: str, values: Collection[Any], limit: int) -> None:
    """Refuse a list that would make a statement without bounds.

    :raises InvalidQuery: there are more than ``limit`` values.
    """
    if len(values) > limit:
        raise InvalidQuery(
            f"{field} has {len(values):,} values; at most {limit:,} are allowed.",
            hint="Ask in several requests.",
            field=field,
            limit=limit,
            value=len(values),
        )


def contains_text(dialect: str, column: ColumnElement[Any], part: str) -> ColumnElement[bool]:
    """Return the condition that ``part`` is in the column: literal (no wildcards), without regard to case.

    Databases disagree about case beyond ASCII, so other letters are replaced one by one: those that have a
    single lower-case letter of their own count as it, on every database.
    """
    folded: ColumnElement[Any] = func.lower(column)
    for upper, lower in _other_cases(part):
        folded = func.replace(folded, upper, lower)
    needle = literal(_lower(part))
    found = func.strpos(folded, needle) if dialect == "postgresql" else func.instr(folded, needle)
    return found > 0


def _lower(text: str) -> str:
    return "".join(char.lower() if len(char.lower()) == 1 else char for char in text)


def _other_cases(part: str) -> list[tuple[str, str]]:
    letters = sorted({char for char in _lower(part) if not char.isascii()})
    return [
        (char.upper(), char)
        for char in letters
        if len(char.upper()) == 1 and _lower(char.upper()) == char != char.upper()
    ]


def within(namespace: ColumnElement[Any], wanted: str) -> ColumnElement[bool]:
    """Return the condition that a row is of the namespace or of a dotted child: ``a.b``, ``a.b.c``.

    Never of ``a.b_other``, and ``_`` is no wildcard: a range, as in :func:`visible`.
    """
    return or_(namespace == wanted, and_(namespace >= f"{wanted}.", namespace < f"{wanted}/"))


def is_within(namespace: str | None, wanted: str) -> bool:
    """Tell in Python what :func:`within` says in SQL."""
    return namespace is not None and (namespace == wanted or namespace.startswith(f"{wanted}."))


def one_of(column: ColumnElement[Any], numbers: Sequence[int]) -> ColumnElement[bool]:
    """Return the condition that the column has one of the numbers; plain equality where there is one alone.

    With that an index has the rows in the order of its next column; with ``IN`` no planner believes it.
    """
    return column == numbers[0] if len(numbers) == 1 else column.in_(numbers)

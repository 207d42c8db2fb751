"""Metadata conditions as a line of text, for the command line and the search field.

::

    owner = team3 and tier >= 2 and region in ("eu", "us") and "cost centre" exists

=============  ===========================  =============  ==========================
``=``          EQUAL_TO                     ``>``          GREATER_THAN
``!=``         NOT_EQUAL_TO                 ``>=``         GREATER_THAN_OR_EQUAL_TO
``in (…)``     IN                           ``<``          LESS_THAN
``not in (…)`` NOT_IN                       ``<=``         LESS_THAN_OR_EQUAL_TO
``exists``     EXISTS                       ``^=``         STARTS_WITH
``not exists`` NOT_EXISTS                   ``$=``         ENDS_WITH
``*=``         CONTAINS                     ``~``          REGEX
=============  ===========================  =============  ==========================

A key is a bare word or a JSON string. A value is JSON (``2``, ``true``, ``null``, ``"2"``, ``[1]``) or a bare
word, which is a text. Words are case-sensitive except ``and``, ``in``, ``not`` and ``exists``.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NoReturn

from airflow_assets.exceptions import InvalidQuery, InvalidRequest
from airflow_assets.schemas.metadata_query import MetadataCondition, Operator
from airflow_assets.schemas.rules import json_text

if TYPE_CHECKING:
    from collections.abc import Sequence

_SYMBOLS = {
    "!=": Operator.NOT_EQUAL_TO,
    ">=": Operator.GREATER_THAN_OR_EQUAL_TO,
    "<=": Operator.LESS_THAN_OR_EQUAL_TO,
    "^=": Operator.STARTS_WITH,
    "$=": Operator.ENDS_WITH,
    "*=": Operator.CONTAINS,
    "=": Operator.EQUAL_TO,
    ">": Operator.GREATER_THAN,
    "<": Operator.LESS_THAN,
    "~": Operator.REGEX,
}
_TEXT_OF = {operator: symbol for symbol, operator in _SYMBOLS.items()} | {
    Operator.IN: "in",
    Operator.NOT_IN: "not in",
    Operator.EXISTS: "exists",
    Operator.NOT_EXISTS: "not exists",
}
_SYMBOL = re.compile("|".join(re.escape(symbol) for symbol in _SYMBOLS))
_KEY = re.compile(r"[^\W\d][\w.\-/:]*")
_WORD = re.compile(r"[^\s(),\"\[\]{}]+")
_KEYWORD = re.compile(r"(?:and|in|not|exists)\b", re.IGNORECASE)
_SPACE = re.compile(r"\s*")
_CONSTANT = re.compile(r"(?:true|false|null|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(?=[\s,)]|$)")


def parse(text: str) -> list[MetadataCondition]:
    """Return the conditions of a line; an empty line has none.

    :raises InvalidQuery: with the position (from 1) at which the line cannot be understood.

    >>> [(c.field, c.type.value, c.value) for c in parse("owner = data and tier >= 2")]
    [('owner', 'EQUAL_TO', 'data'), ('tier', 'GREATER_THAN_OR_EQUAL_TO', 2)]
    """
    return _Parser(text).conditions()


def format_conditions(conditions: Sequence[MetadataCondition]) -> str:
    """Return the line that :func:`parse` reads as these conditions.

    >>> format_conditions(parse("tier>=2 and 'not' = x".replace("'", '"')))
    'tier >= 2 and "not" = "x"'
    """
    return " and ".join(map(_format, conditions))


def _format(condition: MetadataCondition) -> str:
    bare = _KEY.fullmatch(condition.field) and not _KEYWORD.fullmatch(condition.field)
    head = f"{condition.field if bare else json_text(condition.field)} {_TEXT_OF[condition.type]}"
    if condition.type in {Operator.EXISTS, Operator.NOT_EXISTS}:
        return head
    if condition.type in {Operator.IN, Operator.NOT_IN}:
        return f"{head} ({', '.join(map(json_text, condition.value))})"
    return f"{head} {json_text(condition.value)}"


class _Parser:
    """Reads a line from left to right; ``at`` is how far it has come."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self._skip_space()

    def conditions(self) -> list[MetadataCondition]:
        found: list[MetadataCondition] = []
        while self.at < len(self.text):
            if found and not self._keyword("and"):
                raise self._error("expected 'and' or the end")
            found.append(self._condition())
        return found

    def _condition(self) -> MetadataCondition:
        start = self.at
        field, operator = self._key(), self._operator()
        value = None
        if operator in {Operator.IN, Operator.NOT_IN}:
            value = self._list()
        elif operator not in {Operator.EXISTS, Operator.NOT_EXISTS}:
            value = self._value()
        try:
            return MetadataCondition(field=field, type=operator, value=value)
        except InvalidRequest as error:
            raise InvalidQuery(
                f"{error.detail} (at position {start + 1})",
                hint=error.hint,
                position=start + 1,
                value=self.text,
            ) from None

    def _key(self) -> str:
        if self._next() == '"':
            key = self._json()
        elif (found := _KEY.match(self.text, self.at)) and not _KEYWORD.fullmatch(found.group()):
            key = self._take(found)
        else:
            raise self._error("expected a metadata key, bare or in double quotes")
        return str(key)

    def _operator(self) -> Operator:
        if found := _SYMBOL.match(self.text, self.at):
            return _SYMBOLS[self._take(found)]
        negated = self._keyword("not")
        if self._keyword("in"):
            return Operator.NOT_IN if negated else Operator.IN
        if self._keyword("exists"):
            return Operator.NOT_EXISTS if negated else Operator.EXISTS
        raise self._error(f"expected one of {', '.join(_TEXT_OF.values())}")

    def _list(self) -> list[Any]:
        self._punctuation("(")
        found: list[Any] = []
        while self._next() != ")":
            if found:
                self._punctuation(",")
            found.append(self._value())
        self._punctuation(")")
        return found

    def _value(self) -> Any:
        if self._next() in {'"', "[", "{"} or _CONSTANT.match(self.text, self.at):
            return self._json()
        if found := _WORD.match(self.text, self.at):
            return self._take(found)
        raise self._error("expected a value: JSON or a bare word")

    def _json(self) -> Any:
        decoder = json.JSONDecoder(parse_constant=self._no_constant)
        try:
            value, self.at = decoder.raw_decode(self.text, self.at)
        except json.JSONDecodeError as error:
            self.at = error.pos
            raise self._error(f"this is not JSON ({error.msg})") from None
        except (ValueError, RecursionError):
            raise self._error("this JSON value is too long or too deep") from None
        self._skip_space()
        return value

    def _no_constant(self, name: str) -> NoReturn:
        raise self._error(f"{name} is not JSON")

    def _keyword(self, word: str) -> bool:
        found = _KEYWORD.match(self.text, self.at)
        if found and found.group().lower() == word:
            self._take(found)
            return True
        return False

    def _punctuation(self, char: str) -> None:
        if self._next() != char:
            raise self._error(f"expected '{char}'")
        self.at += 1
        self._skip_space()

    def _next(self) -> str:
        return self.text[self.at : self.at + 1]

    def _take(self, found: re.Match[str]) -> str:
        self.at = found.end()
        self._skip_space()
        return found.group()

    def _skip_space(self) -> None:
        space = _SPACE.match(self.text, self.at)
        self.at = space.end() if space else self.at

    def _error(self, problem: str) -> InvalidQuery:
        seen = self.text[self.at : self.at + 20]
        where = f"before {seen!r}" if seen else "at the end"
        return InvalidQuery(
            f"The metadata query cannot be read at position {self.at + 1}, {where}: {problem}.",
            hint='Write for example: owner = "team3" and tier >= 2',
            position=self.at + 1,
            value=self.text,
        )

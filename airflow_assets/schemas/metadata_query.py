"""Conditions on top-level metadata keys: the one grammar of API, client, operators, triggers, CLI and UI.

A condition is ``{"field": "tier", "type": "GREATER_THAN_OR_EQUAL_TO", "value": 2}``; a list of them holds
when every one holds. Comparison is typed: ``true``, ``"true"`` and ``1`` are three values, a ``null`` is
not a missing key, integers compare exactly at any size, and ``1`` equals ``1.0``.
"""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any

from pydantic import BeforeValidator, model_validator
from typing_extensions import Self

from airflow_assets.exceptions import InvalidQuery, InvalidRequest
from airflow_assets.schemas import rules
from airflow_assets.schemas.base import Schema
from airflow_assets.schemas.masking import is_sensitive
from airflow_assets.schemas.patterns import compile_pattern


class Operator(str, Enum):
    """What a condition asks of the value under its key."""

    EQUAL_TO = "EQUAL_TO"
    NOT_EQUAL_TO = "NOT_EQUAL_TO"  # the exact complement of EQUAL_TO: a missing key matches
    IN = "IN"
    NOT_IN = "NOT_IN"  # the exact complement of IN
    EXISTS = "EXISTS"
    NOT_EXISTS = "NOT_EXISTS"
    GREATER_THAN = "GREATER_THAN"  # numbers with numbers, texts with texts (by code point)
    GREATER_THAN_OR_EQUAL_TO = "GREATER_THAN_OR_EQUAL_TO"
    LESS_THAN = "LESS_THAN"
    LESS_THAN_OR_EQUAL_TO = "LESS_THAN_OR_EQUAL_TO"
    STARTS_WITH = "STARTS_WITH"  # texts only, case-sensitive, literal
    ENDS_WITH = "ENDS_WITH"
    CONTAINS = "CONTAINS"  # a text contains a text; a list contains an element
    REGEX = "REGEX"  # RE2 search in a text


RANGES = frozenset(
    {
        Operator.GREATER_THAN,
        Operator.GREATER_THAN_OR_EQUAL_TO,
        Operator.LESS_THAN,
        Operator.LESS_THAN_OR_EQUAL_TO,
    }
)
_TEXTS = frozenset({Operator.STARTS_WITH, Operator.ENDS_WITH, Operator.REGEX})
_LISTS = frozenset({Operator.IN, Operator.NOT_IN})
_NO_VALUE = frozenset({Operator.EXISTS, Operator.NOT_EXISTS})
MAX_LIST = 1_000


def _operator(value: object) -> Operator:
    try:
        return Operator(value)
    except ValueError:
        raise InvalidQuery(
            f"Unknown operator {value!r} in a metadata query.",
            hint=f"Use one of {', '.join(op.value for op in Operator)}.",
            field="type",
            value=str(value),
        ) from None


def _field(value: object) -> str:
    try:
        rules.metadata({str(value): None})
    except InvalidRequest:
        possible = False
    else:
        possible = True
    if not isinstance(value, str) or not possible:
        raise InvalidQuery(
            f"{value!r} is not a metadata key.",
            hint=f"Name a top-level key of 1 to {rules.MAX_METADATA_KEY} printable characters.",
            field="field",
            value=repr(value),
        )
    return value


class MetadataCondition(Schema):
    """One condition; see the module for the rules.

    >>> MetadataCondition(field="environment", type="EQUAL_TO", value="prod")
    """

    field: Annotated[str, BeforeValidator(_field)]
    type: Annotated[Operator, BeforeValidator(_operator)]
    value: Any = None

    @model_validator(mode="after")
    def _value_fits(self) -> Self:
        given = self.type in _NO_VALUE or "value" in self.model_fields_set
        problem = self._problem() if given else 'has no value; write "value": null to ask for null'
        if problem:
            raise InvalidQuery(
                f"The condition {self.type.value} on {self.field!r} {problem}.",
                field=self.field,
                value=repr(self.value),
            )
        return self

    def _problem(self) -> str | None:
        value, kind = self.value, self.type
        if kind in _NO_VALUE:
            return None if value is None else "takes no value"
        if is_sensitive(self.field):
            return "would read a secret; only EXISTS and NOT_EXISTS may ask for this key"
        if kind in _LISTS and not (isinstance(value, list) and len(value) <= MAX_LIST):
            return f"needs a list of at most {MAX_LIST:,} values"
        if kind in _TEXTS and not isinstance(value, str):
            return "needs a text"
        if kind in RANGES and (isinstance(value, bool) or not isinstance(value, (int, float, str))):
            return "needs a number or a text"
        rules.metadata({self.field: value})
        if kind is Operator.REGEX:
            compile_pattern(value)
        return None

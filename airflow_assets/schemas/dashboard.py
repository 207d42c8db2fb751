"""What charts ask of the catalogue: counts of the present inventory, and how many assets were stale when."""

from __future__ import annotations

from datetime import datetime
from enum import Enum
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError, model_validator
from typing_extensions import Self

from airflow_assets.exceptions import InvalidQuery, InvalidRequest
from airflow_assets.schemas.base import Schema, Utc
from airflow_assets.schemas.freshness import FreshnessCheck
from airflow_assets.schemas.masking import is_sensitive
from airflow_assets.schemas.metadata_query import RANGES, MetadataCondition, Operator
from airflow_assets.schemas.queries import Limit

MAX_COLUMNS = 20
MAX_CONDITIONS = 50
MAX_POINTS = 200
_NAME = Annotated[str, Field(min_length=1, max_length=100)]
_TIME: TypeAdapter[datetime] = TypeAdapter(Utc)
_TEXT_OPERATORS = frozenset(
    {
        Operator.EQUAL_TO,
        Operator.NOT_EQUAL_TO,
        Operator.IN,
        Operator.NOT_IN,
        Operator.EXISTS,
        Operator.NOT_EXISTS,
        Operator.STARTS_WITH,
    }
)
_LISTS = frozenset({Operator.IN, Operator.NOT_IN})
_NO_VALUE = frozenset({Operator.EXISTS, Operator.NOT_EXISTS})


class DashboardField(str, Enum):
    """What an asset can be counted by; METADATA needs a ``key``."""

    ID = "ID"
    NAMESPACE = "NAMESPACE"
    TYPE = "TYPE"
    DISPLAY_NAME = "DISPLAY_NAME"
    METADATA = "METADATA"
    CREATED = "CREATED"
    UPDATED = "UPDATED"


TIMES = frozenset({DashboardField.CREATED, DashboardField.UPDATED})


class Aggregate(str, Enum):
    """COUNT: assets that have a value. COUNT_DISTINCT: different values."""

    COUNT = "COUNT"
    COUNT_DISTINCT = "COUNT_DISTINCT"


class _OfField(Schema):
    field: DashboardField
    key: str | None = None

    @model_validator(mode="after")
    def _key_fits(self) -> Self:
        if (self.field is DashboardField.METADATA) != (self.key is not None):
            raise InvalidQuery(
                f"The field {self.field.value} {'needs a' if self.key is None else 'takes no'} key.",
                hint='Write {"field": "METADATA", "key": "owner"}.',
                field="key",
                value=self.key,
            )
        if self.key is not None:
            MetadataCondition(field=self.key, type=Operator.EXISTS)  # a key that can be asked for
            if is_sensitive(self.key):
                raise InvalidQuery(f"{self.key!r} would read a secret.", field="key", value=self.key)
        return self


class DashboardColumn(_OfField):
    """A column of the answer: a field, or with ``agg`` a number.

    Without any ``agg`` there is a row for each asset; with one, a row for each combination of the others.
    """

    agg: Aggregate | None = None


class DashboardCondition(_OfField):
    """Which assets are looked at.

    Metadata takes the operators of metadata queries but REGEX; texts EQUAL_TO, NOT_EQUAL_TO, IN, NOT_IN,
    EXISTS, NOT_EXISTS and STARTS_WITH; times the four comparisons.

    :param values: of IN and NOT_IN; may also be given as ``value``.
    """

    type: Operator = Operator.EQUAL_TO
    value: Any = None
    values: list[Any] | None = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.field is DashboardField.METADATA:
            if self.type is Operator.REGEX:
                raise self._refused("is not possible in a dashboard")
            self.of_metadata()
        elif self.field in TIMES:
            if self.type not in RANGES:
                raise self._refused("compares no times")
            self.time()
        elif self.type not in _TEXT_OPERATORS:
            raise self._refused("compares no texts here")
        elif self.type not in _NO_VALUE and not all(isinstance(one, str) for one in self.operands()):
            raise self._refused("needs a list of texts" if self.type in _LISTS else "needs a text")
        return self

    def operands(self) -> list[Any]:
        """Return what the field is compared with."""
        if self.type not in _LISTS:
            return [self.value]
        found = self.values if self.values is not None else self.value
        return found if isinstance(found, list) else [None]

    def of_metadata(self) -> MetadataCondition:
        """Return the condition on the metadata key."""
        members: dict[str, Any] = {"field": self.key, "type": self.type}
        if self.type in _LISTS:
            members["value"] = self.values if self.values is not None else self.value
        elif self.type not in _NO_VALUE:
            members["value"] = self.value
        return MetadataCondition(**members)

    def time(self) -> datetime:
        """Return the time that the field is compared with."""
        try:
            return _TIME.validate_python(self.value)
        except (ValidationError, InvalidRequest):
            raise self._refused("needs a time with its zone, such as 2026-03-29T07:00:00Z") from None

    def _refused(self, why: str) -> InvalidQuery:
        return InvalidQuery(
            f"The condition {self.type.value} on {self.field.value} {why}.",
            field="where",
            value=repr(self.value if self.values is None else self.values)[:200],
        )


class DashboardQuery(Schema):
    """Which columns of which assets; deleted assets do not count.

    :param columns: name in the answer -> column.
    :param where: conditions, all of which hold.
    :param order_by: the name of a column, with ``-`` before it from high to low. Default: the first number
        from high to low; without a number, by id.
    """

    columns: Annotated[dict[_NAME, DashboardColumn], Field(min_length=1, max_length=MAX_COLUMNS)]
    where: Annotated[list[DashboardCondition], Field(max_length=MAX_CONDITIONS)] = Field(default_factory=list)
    order_by: str | None = None
    limit: Limit = 1_000

    @model_validator(mode="after")
    def _order_is_a_column(self) -> Self:
        if self.order_by is not None and self.order_by.removeprefix("-") not in self.columns:
            raise InvalidQuery(
                f"{self.order_by!r} is not one of the columns.",
                hint=f"Use {', '.join(sorted(self.columns))}.",
                field="orderBy",
                value=self.order_by,
            )
        return self

    @property
    def named_namespaces(self) -> list[str]:
        """The namespaces that the conditions name."""
        conditions = (one for one in self.where if one.field is DashboardField.NAMESPACE)
        return [value for one in conditions for value in one.operands() if isinstance(value, str)]


class DashboardData(Schema):
    """:param columns: in the order asked for. :param truncated: there are more rows than the limit."""

    columns: list[str]
    rows: list[dict[str, Any]]
    truncated: bool


class StalenessQuery(FreshnessCheck):
    """How many assets were stale at each of some moments.

    :param per_asset: as in a check of freshness; asked for unless there is an ``expectation``.
    :param from_time: the first moment; default: a week before the last.
    :param to_time: the last one; default, and latest: now.
    """

    per_asset: bool = True
    from_time: Utc | None = None
    to_time: Utc | None = None
    points: Annotated[int, Field(ge=2, le=MAX_POINTS)] = 50


class StalenessPoint(Schema):
    """Assets at one moment; ``unknown``: the log does not reach back to their last write before it."""

    time: Utc
    stale: int
    fresh: int
    unknown: int


class StalenessSeries(Schema):
    """:param assets: that were looked at. :param left_out: those beyond the first 10,000 by id."""

    points: list[StalenessPoint]
    assets: int
    left_out: int

"""The kinds of typed values; each is an attribute of :class:`MetadataValue` too, for ``isinstance``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from airflow_assets.authoring.checks import of_type, optional
from airflow_assets.authoring.errors import InvalidMetadataError
from airflow_assets.authoring.metadata_values.base import MetadataValue

_INT64 = 2**63


@dataclass(frozen=True, repr=False)
class Text(MetadataValue):
    """Plain text."""

    value: str

    def __post_init__(self) -> None:
        of_type(self.value, str, "text")


@dataclass(frozen=True, repr=False)
class Int(MetadataValue):
    """A whole number of 64 bits."""

    value: int

    def __post_init__(self) -> None:
        if not -_INT64 <= of_type(self.value, int, "int") < _INT64:
            raise InvalidMetadataError(f"{self.value} does not fit into 64 bits; use MetadataValue.text")


@dataclass(frozen=True, repr=False)
class _Number(MetadataValue):
    """A number; a whole one becomes a float."""

    value: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", float(of_type(self.value, (int, float), self.kind)))

    def _to_fields(self) -> dict[str, Any]:
        # JSON has no infinity and no NaN.
        finite = self.value - self.value == 0
        return {"value": self.value if finite else repr(self.value)}

    @classmethod
    def from_fields(cls, members: dict[str, Any]) -> MetadataValue:
        return cls(float(members["value"]))


class Float(_Number):
    """A floating-point number."""


class Timestamp(_Number):
    """Seconds since 1970-01-01 UTC."""


class Duration(_Number):
    """Seconds."""


class Percentage(_Number):
    """A share: 0.25 is 25 %."""


@dataclass(frozen=True, repr=False)
class Bool(MetadataValue):
    """True or false."""

    value: bool

    def __post_init__(self) -> None:
        of_type(self.value, bool, "bool")


@dataclass(frozen=True, repr=False)
class Bytes(MetadataValue):
    """A size in bytes, 0 or more."""

    value: int

    def __post_init__(self) -> None:
        if of_type(self.value, int, "bytes") < 0:
            raise InvalidMetadataError(f"A size in bytes is 0 or more, not {self.value}")


@dataclass(frozen=True, repr=False)
class Url(MetadataValue):
    """An absolute address, kept with its scheme and host in lower case."""

    value: str

    def __post_init__(self) -> None:
        text = of_type(self.value, str, "url").strip()
        try:
            parts = urlsplit(text)
        except ValueError as error:
            raise InvalidMetadataError(f"{text!r} is no URL: {error}") from error
        if not parts.scheme or not (parts.netloc or parts.path) or " " in text:
            raise InvalidMetadataError(f"{text!r} is no URL; one is https://example.com/report")
        path = parts.path or ("/" if parts.netloc else "")
        normal = parts._replace(netloc=parts.netloc.lower(), path=path) if parts.netloc else parts
        object.__setattr__(self, "value", normal.geturl())


class Path(Text):
    """A path of a file or object."""


class Json(Text):
    """A JSON text, stored as it is."""


class Markdown(Text):
    """A text in Markdown."""


class Image(Text):
    """The address of an image."""


class DataVersion(Text):
    """The data version; recorded as the event's, not among its metadata."""


@dataclass(frozen=True, repr=False)
class Null(MetadataValue):
    """Nothing."""


@dataclass(frozen=True, repr=False)
class Sql(MetadataValue):
    """A statement, and the dialect to colour it by."""

    query: str
    dialect: str | None = None

    def __post_init__(self) -> None:
        of_type(self.query, str, "sql")
        optional(self.dialect, str, "dialect")


@dataclass(frozen=True, repr=False)
class CodeBlock(MetadataValue):
    """Code, and the language to colour it by."""

    code: str
    language: str | None = None

    def __post_init__(self) -> None:
        of_type(self.code, str, "code_block")
        optional(self.language, str, "language")


@dataclass(frozen=True, repr=False)
class List(MetadataValue):
    """Values, each of its own kind."""

    values: tuple[MetadataValue, ...]

    def __post_init__(self) -> None:
        items = tuple(of_type(item, MetadataValue, "an element of list_") for item in self.values)
        object.__setattr__(self, "values", items)

    def raw_value(self) -> Any:  # noqa: D102
        return list(self.values)

    def _to_fields(self) -> dict[str, Any]:
        return {"values": [item.to_json() for item in self.values]}

    @classmethod
    def from_fields(cls, members: dict[str, Any]) -> MetadataValue:  # noqa: D102
        return cls(tuple(map(MetadataValue.from_json, members["values"])))


@dataclass(frozen=True, repr=False)
class DateRange(MetadataValue):
    """From one time to another; naive datetimes, which mean UTC."""

    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        for name in ("start", "end"):
            if of_type(getattr(self, name), datetime, name).tzinfo is not None:
                raise InvalidMetadataError(f"date_range takes naive UTC datetimes; {name} has a zone")

    def raw_value(self) -> tuple[datetime, datetime]:  # noqa: D102
        return self.start, self.end

    def _to_fields(self) -> dict[str, Any]:
        return {"start": self.start.isoformat(), "end": self.end.isoformat()}

    @classmethod
    def from_fields(cls, members: dict[str, Any]) -> MetadataValue:  # noqa: D102
        return cls(datetime.fromisoformat(members["start"]), datetime.fromisoformat(members["end"]))


@dataclass(frozen=True, repr=False)
class Schema(MetadataValue):
    """The columns of a table: ``{"name": ..., "type": ...}`` each."""

    columns: tuple[dict[str, str], ...]

    def raw_value(self) -> Any:  # noqa: D102
        return [dict(column) for column in self.columns]

    def _to_fields(self) -> dict[str, Any]:
        return {"columns": self.raw_value()}

    @classmethod
    def from_fields(cls, members: dict[str, Any]) -> MetadataValue:  # noqa: D102
        return cls(tuple(members["columns"]))

    @classmethod
    def of(cls, schema: Any) -> Schema:
        """Return the columns of an Arrow schema, of what exports one, or of a dict of names to types.

        Raises:
            InvalidMetadataError: it is none of these.
        """
        if isinstance(schema, Mapping):
            return cls(tuple({"name": str(name), "type": str(kind)} for name, kind in schema.items()))
        if not hasattr(schema, "names") and hasattr(schema, "__arrow_c_schema__"):
            import pyarrow as pa

            schema = pa.schema(schema)
        try:
            return cls(tuple({"name": field.name, "type": str(field.type)} for field in schema))
        except (TypeError, AttributeError) as error:
            raise InvalidMetadataError(
                "schema takes an Arrow schema or a dict of column names to types, "
                f"not {type(schema).__name__}"
            ) from error

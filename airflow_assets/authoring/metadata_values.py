"""Typed values that a step records beside its data: what they are decides how they are shown and plotted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

from airflow_assets.authoring.checks import of_type, optional
from airflow_assets.authoring.errors import InvalidMetadataError

if TYPE_CHECKING:
    import builtins

_INT64 = 2**63


@dataclass(frozen=True)
class MetadataValue:
    """One value of a kind; make it with the class method of its kind.

    Stored as JSON with the kind's name, so that what is read back is equal and of the same class.

    >>> MetadataValue.int(42).raw_value()
    42
    >>> MetadataValue.from_json(MetadataValue.md("# Rows").to_json())
    MetadataValue.Markdown(value='# Rows')
    """

    kind: ClassVar[str] = ""

    def raw_value(self) -> Any:
        """Return the plain Python value: the one field, or a dict of the fields where there are several."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return next(iter(values.values()), None) if len(values) < 2 else values

    def to_json(self) -> dict[str, Any]:
        """Return ``{kind: {field: value}}``, all of it JSON."""
        return {self.kind: self._to_fields()}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> MetadataValue:
        """Return the value of a document of :meth:`to_json`.

        Raises:
            InvalidMetadataError: the kind is unknown.
        """
        ((kind, members),) = document.items()
        found = _KINDS.get(kind)
        if found is None:
            raise InvalidMetadataError(f"There is no kind of metadata {kind!r}; there are {sorted(_KINDS)}")
        return found.from_fields(dict(members))

    @classmethod
    def coerce(cls, value: Any, what: str = "metadata") -> MetadataValue:
        """Return a plain str, int, float, bool or null as a value; a value stays as it is.

        Raises:
            TypeError: anything else, with the way out.
        """
        if isinstance(value, MetadataValue):
            return value
        if value is None:
            return Null()
        for plain, kind in _PLAIN:
            if isinstance(value, plain):
                return kind(value)
        raise TypeError(
            f"{what} takes str, int, float, bool, None or a MetadataValue, not {type(value).__name__}; "
            "MetadataValue.json(json.dumps(...)) takes nested data"
        )

    def _to_fields(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_fields(cls, members: dict[str, Any]) -> MetadataValue:
        """Return the value whose fields these are, as JSON holds them."""
        return cls(**members)

    def __repr__(self) -> str:
        shown = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in fields(self))
        return f"MetadataValue.{type(self).__name__}({shown})"

    @staticmethod
    def text(value: str) -> Text:
        """Return plain text."""
        return Text(value)

    @staticmethod
    def int(value: builtins.int) -> Int:
        """Return a whole number of 64 bits."""
        return Int(value)

    @staticmethod
    def float_(value: float) -> Float:
        """Return a floating-point number."""
        return Float(value)

    @staticmethod
    def bool_(value: bool) -> Bool:
        """Return true or false."""
        return Bool(value)

    @staticmethod
    def url(value: str) -> Url:
        """Return an absolute address, checked and normalised."""
        return Url(value)

    @staticmethod
    def path(value: str) -> Path:
        """Return the path of a file or object."""
        return Path(value)

    @staticmethod
    def json(value: str) -> Json:
        """Return a JSON text; ``json.dumps`` makes it of data."""
        return Json(value)

    @staticmethod
    def md(value: str) -> Markdown:
        """Return a text in Markdown."""
        return Markdown(value)

    @staticmethod
    def timestamp(value: float) -> Timestamp:
        """Return a time, in seconds since 1970-01-01 UTC."""
        return Timestamp(value)

    @staticmethod
    def null() -> Null:
        """Return nothing, said on purpose."""
        return Null()

    @staticmethod
    def bytes(value: builtins.int) -> Bytes:
        """Return a size in bytes."""
        return Bytes(value)

    @staticmethod
    def duration(value: float) -> Duration:
        """Return a duration in seconds."""
        return Duration(value)

    @staticmethod
    def sql(query: str, dialect: str | None = None) -> Sql:
        """Return a statement."""
        return Sql(query, dialect)

    @staticmethod
    def code_block(code: str, language: str | None = None) -> CodeBlock:
        """Return code."""
        return CodeBlock(code, language)

    @staticmethod
    def image(value: str) -> Image:
        """Return the address of an image."""
        return Image(value)

    @staticmethod
    def percentage(value: float) -> Percentage:
        """Return a share; 0.25 is 25 %."""
        return Percentage(value)

    @staticmethod
    def list_(values: Sequence[MetadataValue]) -> List:
        """Return several values."""
        return List(tuple(values))

    @staticmethod
    def date_range(start: datetime, end: datetime) -> DateRange:
        """Return a time span of naive UTC datetimes."""
        return DateRange(start, end)

    @staticmethod
    def schema(schema: Any) -> TableSchema:
        """Return the columns of an Arrow schema, or of a dict of names to types."""
        return TableSchema(_columns(schema))

    @staticmethod
    def data_version(value: str) -> DataVersion:
        """Return the data version of what was written."""
        return DataVersion(value)


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
        return [item.raw_value() for item in self.values]

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

    def _to_fields(self) -> dict[str, Any]:
        return {"start": self.start.isoformat(), "end": self.end.isoformat()}

    @classmethod
    def from_fields(cls, members: dict[str, Any]) -> MetadataValue:  # noqa: D102
        return cls(datetime.fromisoformat(members["start"]), datetime.fromisoformat(members["end"]))


@dataclass(frozen=True, repr=False)
class TableSchema(MetadataValue):
    """The columns of a table: ``{"name": ..., "type": ...}`` each."""

    columns: tuple[dict[str, str], ...]

    def raw_value(self) -> Any:  # noqa: D102
        return [dict(column) for column in self.columns]

    def _to_fields(self) -> dict[str, Any]:
        return {"columns": self.raw_value()}

    @classmethod
    def from_fields(cls, members: dict[str, Any]) -> MetadataValue:  # noqa: D102
        return cls(tuple(members["columns"]))


def _columns(schema: Any) -> tuple[dict[str, str], ...]:
    """Columns of an Arrow schema, of anything that exports one, or of a mapping of names to types."""
    if isinstance(schema, Mapping):
        return tuple({"name": str(name), "type": str(kind)} for name, kind in schema.items())
    if not hasattr(schema, "names") and hasattr(schema, "__arrow_c_schema__"):
        import pyarrow as pa

        schema = pa.schema(schema)
    try:
        pairs = [(field.name, field.type) for field in schema]
    except (TypeError, AttributeError) as error:
        raise InvalidMetadataError(
            f"schema takes an Arrow schema or a dict of column names to types, not {type(schema).__name__}"
        ) from error
    return tuple({"name": name, "type": str(kind)} for name, kind in pairs)


_PLAIN: tuple[tuple[type, Callable[[Any], MetadataValue]], ...] = (
    (bool, Bool),
    (int, Int),
    (float, Float),
    (str, Text),
)
_CLASSES = (
    Text, Int, Float, Bool, Url, Path, Json, Markdown, Timestamp, Null, Bytes, Duration, Sql, CodeBlock,
    Image, Percentage, List, DateRange, TableSchema, DataVersion,
)  # fmt: skip
_KINDS: dict[str, type[MetadataValue]] = {}
for _class in _CLASSES:
    _class.kind = "Schema" if _class is TableSchema else _class.__name__
    _KINDS[_class.kind] = _class
    setattr(MetadataValue, _class.kind, _class)

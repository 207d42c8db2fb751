"""What all typed values have in common, and how they are made."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

from airflow_assets.authoring.errors import InvalidMetadataError

if TYPE_CHECKING:
    import builtins
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from airflow_assets.authoring.metadata_values import kinds  # noqa: TC004 - no dataclass evaluates a ClassVar

_PLAIN = {bool: "Bool", int: "Int", float: "Float", str: "Text"}
_kinds: dict[str, type[MetadataValue]] = {}


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
    Text: ClassVar[type[kinds.Text]]
    Int: ClassVar[type[kinds.Int]]
    Float: ClassVar[type[kinds.Float]]
    Bool: ClassVar[type[kinds.Bool]]
    Url: ClassVar[type[kinds.Url]]
    Path: ClassVar[type[kinds.Path]]
    Json: ClassVar[type[kinds.Json]]
    Markdown: ClassVar[type[kinds.Markdown]]
    Timestamp: ClassVar[type[kinds.Timestamp]]
    Null: ClassVar[type[kinds.Null]]
    Bytes: ClassVar[type[kinds.Bytes]]
    Duration: ClassVar[type[kinds.Duration]]
    Sql: ClassVar[type[kinds.Sql]]
    CodeBlock: ClassVar[type[kinds.CodeBlock]]
    Image: ClassVar[type[kinds.Image]]
    Percentage: ClassVar[type[kinds.Percentage]]
    List: ClassVar[type[kinds.List]]
    DateRange: ClassVar[type[kinds.DateRange]]
    Schema: ClassVar[type[kinds.Schema]]
    DataVersion: ClassVar[type[kinds.DataVersion]]

    def __init_subclass__(cls) -> None:
        if not cls.__name__.startswith("_"):
            cls.kind = cls.__name__
            _kinds[cls.kind] = cls
            setattr(MetadataValue, cls.kind, cls)

    def raw_value(self) -> Any:
        """Return the plain Python value: the first field."""
        first = next(iter(fields(self)), None)
        return None if first is None else getattr(self, first.name)

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
        found = _kinds.get(kind)
        if found is None:
            raise InvalidMetadataError(f"There is no kind of metadata {kind!r}; there are {sorted(_kinds)}")
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
            return MetadataValue.Null()
        for plain, kind in _PLAIN.items():
            if isinstance(value, plain):
                return _kinds[kind].from_fields({"value": value})
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
    def text(value: str) -> kinds.Text:
        """Return plain text."""
        return MetadataValue.Text(value)

    @staticmethod
    def int(value: builtins.int) -> kinds.Int:
        """Return a whole number of 64 bits."""
        return MetadataValue.Int(value)

    @staticmethod
    def float_(value: float) -> kinds.Float:
        """Return a floating-point number."""
        return MetadataValue.Float(value)

    @staticmethod
    def bool_(value: bool) -> kinds.Bool:
        """Return true or false."""
        return MetadataValue.Bool(value)

    @staticmethod
    def url(value: str) -> kinds.Url:
        """Return an absolute address, checked and normalised."""
        return MetadataValue.Url(value)

    @staticmethod
    def path(value: str) -> kinds.Path:
        """Return the path of a file or object."""
        return MetadataValue.Path(value)

    @staticmethod
    def json(value: str) -> kinds.Json:
        """Return a JSON text; ``json.dumps`` makes it of data."""
        return MetadataValue.Json(value)

    @staticmethod
    def md(value: str) -> kinds.Markdown:
        """Return a text in Markdown."""
        return MetadataValue.Markdown(value)

    @staticmethod
    def timestamp(value: float) -> kinds.Timestamp:
        """Return a time, in seconds since 1970-01-01 UTC."""
        return MetadataValue.Timestamp(value)

    @staticmethod
    def null() -> kinds.Null:
        """Return nothing, said on purpose."""
        return MetadataValue.Null()

    @staticmethod
    def bytes(value: builtins.int) -> kinds.Bytes:
        """Return a size in bytes."""
        return MetadataValue.Bytes(value)

    @staticmethod
    def duration(value: float) -> kinds.Duration:
        """Return a duration in seconds."""
        return MetadataValue.Duration(value)

    @staticmethod
    def sql(query: str, dialect: str | None = None) -> kinds.Sql:
        """Return a statement."""
        return MetadataValue.Sql(query, dialect)

    @staticmethod
    def code_block(code: str, language: str | None = None) -> kinds.CodeBlock:
        """Return code."""
        return MetadataValue.CodeBlock(code, language)

    @staticmethod
    def image(value: str) -> kinds.Image:
        """Return the address of an image."""
        return MetadataValue.Image(value)

    @staticmethod
    def percentage(value: float) -> kinds.Percentage:
        """Return a share; 0.25 is 25 %."""
        return MetadataValue.Percentage(value)

    @staticmethod
    def list_(values: Sequence[MetadataValue]) -> kinds.List:
        """Return several values."""
        return MetadataValue.List(tuple(values))

    @staticmethod
    def date_range(start: datetime, end: datetime) -> kinds.DateRange:
        """Return a time span of naive UTC datetimes."""
        return MetadataValue.DateRange(start, end)

    @staticmethod
    def schema(value: Any) -> kinds.Schema:
        """Return the columns of an Arrow schema, or of a dict of names to types."""
        return MetadataValue.Schema.of(value)

    @staticmethod
    def data_version(value: str) -> kinds.DataVersion:
        """Return the data version of what was written."""
        return MetadataValue.DataVersion(value)

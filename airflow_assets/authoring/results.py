"""What a body may return or yield instead of a plain value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from airflow_assets.authoring.checks import list_of, of_type, optional
from airflow_assets.authoring.metadata import coerced

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from airflow_assets.authoring.metadata_values import MetadataValue


class Result:
    """What :class:`Output`, :class:`Observation` and :class:`Materialization` share; read-only.

    :param output_name: which output of a multi-asset this is; elsewhere it means nothing.
    :param metadata: values of str, int, float, bool, None or ``MetadataValue``.
    :param data_version: instead of a random one.
    :param tags: recorded with the event.

    Raises:
        TypeError: a value that cannot be recorded, at once and not when the step ends.
    """

    _fields: ClassVar[tuple[str, ...]] = ("output_name", "metadata", "data_version", "tags")
    output_name: str | None
    metadata: dict[str, MetadataValue] | None
    data_version: str | None
    tags: list[str] | None

    def __init__(
        self,
        *,
        output_name: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        data_version: str | None = None,
        tags: Sequence[str] | None = None,
    ) -> None:
        self._set(
            output_name=optional(output_name, str, "output_name"),
            metadata=None if metadata is None else coerced(metadata),
            data_version=optional(data_version, str, "data_version"),
            tags=None if tags is None else list_of(tags, str, "tags"),
        )

    def _set(self, **members: Any) -> None:
        for name, value in members.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is read-only: make a new one with {name}={value!r}")

    def __repr__(self) -> str:
        shown = ((name, getattr(self, name)) for name in self._fields)
        return f"{type(self).__name__}({', '.join(f'{n}={v!r}' for n, v in shown if v is not None)})"


class Output(Result):
    """A value with what is recorded about it; the handler and readers get the bare value.

    >>> Output([1, 2], metadata={"rows": 2}).metadata
    {'rows': MetadataValue.Int(value=2)}
    """

    _fields = ("value", *Result._fields)
    value: Any

    def __init__(
        self,
        value: Any = None,
        *,
        output_name: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        data_version: str | None = None,
        tags: Sequence[str] | None = None,
    ) -> None:
        super().__init__(output_name=output_name, metadata=metadata, data_version=data_version, tags=tags)
        self._set(value=value)


class Materialization(Result):
    """The body has written its output itself: an event is recorded, no handler is called.

    >>> Materialization(data_version="etag-7")
    Materialization(data_version='etag-7')
    """


class Observation(Result):
    """What was seen of data that somebody else writes."""

    _fields = ("output_name", "metadata", "data_version")

    def __init__(
        self,
        *,
        output_name: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        data_version: str | None = None,
    ) -> None:
        super().__init__(output_name=output_name, metadata=metadata, data_version=data_version)


class DynamicOutput(Result):
    """An element that a graph asset fans out over, under a key of its own.

    >>> DynamicOutput("eu", 1).key
    'eu'
    """

    _fields = ("key", "value")
    key: str
    value: Any

    def __init__(self, key: str, value: Any) -> None:
        super().__init__()
        if not of_type(key, str, "key"):
            raise TypeError(f"DynamicOutput takes a non-empty str as its key, not {key!r}")
        self._set(key=key, value=value)

"""Assets as they are written and as they are read."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from airflow_assets.schemas import rules
from airflow_assets.schemas.base import Schema, Utc
from airflow_assets.schemas.expectations import Freshness
from airflow_assets.schemas.lease import Lease
from airflow_assets.schemas.masking import mask_metadata


def _metadata(value: object) -> dict[str, Any]:
    masked: dict[str, Any] = mask_metadata(rules.metadata(value))
    return masked


def _described(**schema: Any) -> WithJsonSchema:
    """What the OpenAPI document says of a type; the rules decide."""
    return WithJsonSchema(schema)


AssetId = Annotated[
    str, BeforeValidator(rules.asset_id), _described(type="string", minLength=1, maxLength=rules.MAX_ID)
]
Namespace = Annotated[
    str,
    BeforeValidator(rules.namespace),
    _described(type="string", pattern="^[a-z0-9][a-z0-9._-]*$", maxLength=rules.MAX_NAMESPACE),
]
AssetType = Annotated[
    str, BeforeValidator(rules.asset_type), _described(type="string", minLength=1, maxLength=rules.MAX_TYPE)
]
DisplayName = Annotated[
    str,
    BeforeValidator(rules.display_name),
    _described(type="string", minLength=1, maxLength=rules.MAX_DISPLAY_NAME),
]
Description = Annotated[
    str,
    BeforeValidator(rules.description),
    _described(type="string", maxLength=rules.MAX_DESCRIPTION_BYTES, description="Markdown."),
]
Metadata = Annotated[
    dict[str, Any],
    BeforeValidator(_metadata),
    _described(
        type="object",
        additionalProperties=True,
        maxProperties=rules.MAX_METADATA_KEYS,
        description=f"At most {rules.MAX_METADATA_BYTES:,} bytes, nested {rules.MAX_METADATA_DEPTH} levels.",
    ),
]
Uri = Annotated[
    str, BeforeValidator(rules.uri), _described(type="string", minLength=1, maxLength=rules.MAX_URI)
]


class AssetRef(Schema):
    """An asset named by its id; the type and namespace describe a placeholder made for an unknown id."""

    id: AssetId
    type: AssetType | None = None
    namespace: Namespace | None = None


class AssetInput(Schema):
    """An asset as somebody writes it.

    What is left out keeps its stored value on an update; ``namespace=None`` given explicitly clears the
    namespace (only where the write says so, see :class:`AssetUpdate`). Metadata merges (rule of
    :func:`airflow_assets.catalog.merge.merge_metadata`): a top-level null removes its key.

    >>> AssetInput(id="analytics.orders", type="airflow_assets.types.Table", metadata={"owner": "data"})
    """

    id: AssetId
    type: AssetType | None = None
    namespace: Namespace | None = None
    display_name: DisplayName | None = None
    description: Description | None = None
    metadata: Metadata | None = None
    uri: Uri | None = None
    group: DisplayName | None = None


class AssetUpdate(Schema):
    """A change to an existing asset; only members that are given are changed.

    ``namespace: null`` given explicitly makes the asset tenant-global.
    """

    type: AssetType | None = None
    namespace: Namespace | None = None
    display_name: DisplayName | None = None
    description: Description | None = None
    metadata: Metadata | None = None
    uri: Uri | None = None
    group: DisplayName | None = None


class Asset(Schema):
    """An asset as the catalogue knows it."""

    id: str
    type: str
    namespace: str | None
    display_name: str | None
    description: str | None
    metadata: dict[str, Any]
    uri: str | None
    group: str | None
    tenant_id: str
    created: Utc
    updated: Utc
    deleted: bool
    aliases: list[str] = Field(default_factory=list)
    """Former ids that still resolve (filled by get, empty in lists)."""
    freshness: Freshness | None = None
    """Whether it was written as its metadata expects, and how long ago; null in the answers of writes."""
    lock: Lease | None = None
    """Who holds its lock; null while it is free, and in the answers of writes."""


def _unique_ids(value: list[str]) -> list[str]:
    return list(dict.fromkeys(value))


AssetIds = Annotated[list[AssetId], AfterValidator(_unique_ids)]


class Rename(Schema):
    """Give an asset a new id; the old one stays as an alias that resolves."""

    old_id: AssetId
    new_id: AssetId

"""What a caller may ask of the catalogue: listings with keyset cursors, facets, graphs, batches."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from airflow_assets.exceptions import InvalidQuery
from airflow_assets.schemas.assets import AssetId, AssetIds, AssetInput, AssetType, AssetUpdate, Namespace
from airflow_assets.schemas.base import Schema, Utc
from airflow_assets.schemas.events import EventFilter
from airflow_assets.schemas.lineage import Direction, Role
from airflow_assets.schemas.metadata_query import MetadataCondition

MAX_PAGE = 1_000
MAX_BATCH = 1_000


def _limit(value: object) -> int:
    if isinstance(value, str) and value.isdigit():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_PAGE:
        raise InvalidQuery(
            f"A page can hold 1 to {MAX_PAGE:,} items, not {value!r}.",
            field="limit",
            limit=MAX_PAGE,
            value=str(value),
        )
    return value


Limit = Annotated[
    int, BeforeValidator(_limit), WithJsonSchema({"type": "integer", "minimum": 1, "maximum": MAX_PAGE})
]


class Sort(str, Enum):
    """The order of an asset listing; ties are broken by id, so every order is total."""

    ID = "id"
    ID_DESC = "-id"
    UPDATED = "updated"
    UPDATED_DESC = "-updated"
    CREATED = "created"
    CREATED_DESC = "-created"


class AssetFilter(Schema):
    """Which assets are wanted; every given member must hold. Texts compare exactly and case-sensitively.

    :param q: free text: a literal, case-insensitive part of id, display name or description.
    :param metadata_query: conditions on top-level metadata keys.
    :param locked: only those that are locked, or only those that are not; a lock counts until its time has
        passed or its owner's end has been noticed.
    """

    ids: AssetIds | None = None
    types: list[AssetType] | None = None
    namespace: Namespace | None = None
    q: str | None = None
    metadata_query: list[MetadataCondition] = Field(default_factory=list)
    created_from: Utc | None = None
    created_to: Utc | None = None
    updated_from: Utc | None = None
    updated_to: Utc | None = None
    include_deleted: bool = False
    locked: bool | None = None


class AssetQuery(AssetFilter):
    """One page of assets."""

    sort: Sort = Sort.ID
    limit: Limit = 100
    cursor: str | None = None


class FacetQuery(AssetFilter):
    """Counts by value: ``type``, ``namespace`` or ``metadata.<key>``.

    :param top: the most frequent values of each facet that are listed, 1 to 1,000.
    """

    facets: list[str]
    top: Limit = 20


class FacetValue(Schema):
    """One value of a facet and how many assets have it."""

    value: Any
    count: int


class Facet(Schema):
    """:param missing: assets without the key. :param other: assets with a value beyond the listed ones."""

    name: str
    values: list[FacetValue]
    missing: int
    other: int


class FacetResult(Schema):
    """:param total: matching assets, counted to 10,000 (``total_is_lower_bound`` then says so)."""

    facets: list[Facet]
    total: int
    total_is_lower_bound: bool


class EventQuery(EventFilter):
    """One page of events, oldest first unless ``newest_first``; ``after`` is an exclusive ``seq``."""

    after: int | None = None
    newest_first: bool = False
    from_time: Utc | None = None
    to_time: Utc | None = None
    limit: Limit = 100
    cursor: str | None = None


class HistoryQuery(Schema):
    """One page of an asset's changes, newest first."""

    asset_id: AssetId
    limit: Limit = 100
    cursor: str | None = None


class LineageQuery(Schema):
    """One page of lineage events, newest first."""

    asset_id: AssetId | None = None
    dag_id: str | None = None
    run_id: str | None = None
    task_id: str | None = None
    limit: Limit = 100
    cursor: str | None = None


class UsageQuery(LineageQuery):
    """One page of usages, newest first."""

    role: Role | None = None


def _depth(value: object) -> int:
    if isinstance(value, str) and value.isdigit():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 20:
        raise InvalidQuery(f"A graph can reach 1 to 20 hops, not {value!r}.", field="depth", limit=20)
    return value


class DependencyQuery(Schema):
    """The neighbourhood of an asset.

    :param depth: hops from asset to asset, 1 to 20. :param as_of: what had been seen by then.
    :param tasks: also the tasks that read and write, and the Dags that are scheduled on an asset.
    :param dags: Dags in the place of their tasks. :param max_nodes: what has no room is counted.
    """

    asset_id: AssetId
    direction: Direction = Direction.BOTH
    depth: Annotated[
        int, BeforeValidator(_depth), WithJsonSchema({"type": "integer", "minimum": 1, "maximum": 20})
    ] = 1
    tasks: bool = True
    dags: bool = False
    max_nodes: Limit = 500
    as_of: Utc | None = None


class BatchAction(str, Enum):
    """What a batch item does."""

    CREATE = "create"
    UPDATE = "update"
    UPSERT = "upsert"
    DELETE = "delete"


class BatchItem(Schema):
    """:param asset: for create and upsert. :param changes: for update. :param id: for update and delete."""

    action: BatchAction
    id: AssetId | None = None
    asset: AssetInput | None = None
    changes: AssetUpdate | None = None


class Batch(Schema):
    """Up to 1,000 writes in one request; each item succeeds or fails by itself, in order."""

    items: Annotated[list[BatchItem], Field(max_length=MAX_BATCH)]


class BatchItemResult(Schema):
    """:param status: the status the single request would have had. :param problem: set when it failed."""

    id: str | None
    status: int
    problem: dict[str, Any] | None = None


class BatchResult(Schema):
    """How each item of the batch went, in order."""

    items: list[BatchItemResult]

"""What an export row's ``data`` holds, by kind. Assets are named by their ids, never by row numbers."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from airflow_assets.schemas.actors import Source
from airflow_assets.schemas.assets import (
    AssetId,
    AssetRef,
    AssetType,
    Description,
    DisplayName,
    Metadata,
    Namespace,
    Uri,
)
from airflow_assets.schemas.base import Schema, Utc
from airflow_assets.schemas.events import EventAsset, Kind
from airflow_assets.schemas.lineage import Role, TaskError, TaskState
from airflow_assets.schemas.transfer import RowKind

_MAX_INT = 2**31 - 1
Key = Annotated[str, Field(max_length=250, pattern=r"^[^\x00]*$")]
Count = Annotated[int, Field(ge=0, le=_MAX_INT)]


class AssetData(Schema):
    """An asset, also a deleted one."""

    id: AssetId
    type: AssetType
    namespace: Namespace | None = None
    display_name: DisplayName | None = None
    description: Description | None = None
    metadata: Metadata = Field(default_factory=dict)
    uri: Uri | None = None
    group: DisplayName | None = None
    created: Utc
    updated: Utc
    deleted: bool = False


class AliasData(Schema):
    """A former id and the asset it leads to."""

    id: AssetId
    asset: AssetId
    created: Utc


class EdgeData(Schema):
    """An edge of the graph; null for the end that is only the task."""

    source: AssetId | None
    target: AssetId | None
    dag_id: Key
    task_id: Key
    first_seen: Utc
    last_seen: Utc


class EventData(Schema):
    """An event. ``asset`` is the id the asset has now, ``payload`` what it was then."""

    event_id: Annotated[str, Field(pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]
    asset: AssetId | None
    event: Kind
    created: Utc
    payload: EventAsset
    diff: dict[str, tuple[Any, Any]]
    source: Source
    depth: Count
    suppressed: Annotated[str, Field(max_length=10)] | None = None


class UsageData(Schema):
    """An asset that a lineage row is about, by the id it has now."""

    asset: AssetId
    role: Role


class LineageData(Schema):
    """One bundle of one try, and the assets it touched."""

    dag_id: Key
    run_id: Key
    task_id: Key
    map_index: Annotated[int, Field(ge=-1, le=_MAX_INT)]
    try_number: Count
    ti_id: Annotated[str, Field(max_length=36, pattern=r"^[^\x00]*$")] | None = None
    bundle: Annotated[int, Field(ge=0, le=32_767)]
    state: TaskState
    inputs: list[AssetRef]
    outputs: list[AssetRef]
    warnings: list[str]
    error: TaskError | None = None
    start_date: Utc | None = None
    end_date: Utc | None = None
    created: Utc
    usages: list[UsageData]


DATA_OF: dict[RowKind, type[Schema]] = {
    RowKind.ASSET: AssetData,
    RowKind.ALIAS: AliasData,
    RowKind.EDGE: EdgeData,
    RowKind.EVENT: EventData,
    RowKind.LINEAGE: LineageData,
}

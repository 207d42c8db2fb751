"""The catalogue's protocol: every operation once, with its route, its permission and its models.

The API builds its routes from this table, the client its calls, the in-process transport its look-up; so the
three cannot drift apart. The service method that carries out an operation has the operation's name.

Arguments travel so: ``body`` as JSON; ``query`` as query parameters (lists repeat the parameter, those of
:data:`JSON_PARAMETERS` are one JSON text); ``{asset_id}`` and ``{event_id}`` percent-encoded in the path.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from airflow_assets.schemas import asset_runs, nodes, slots
from airflow_assets.schemas.assets import Asset, AssetInput, AssetUpdate, Rename
from airflow_assets.schemas.base import Page, Schema
from airflow_assets.schemas.dashboard import DashboardData, DashboardQuery, StalenessQuery, StalenessSeries
from airflow_assets.schemas.events import Change, Event, Replay, ReplayResult
from airflow_assets.schemas.freshness import FreshnessCheck, FreshnessReport
from airflow_assets.schemas.lease_waiting import LeaseWait, LeaseWaitResult
from airflow_assets.schemas.leases import (
    AcquireLeases,
    ForcedUnlock,
    ForcedUnlockQuery,
    ForceUnlock,
    ForceUnlockResult,
    Lease,
    LeaseGrant,
    LeaseQuery,
    ReleaseLeases,
    ReleaseResult,
)
from airflow_assets.schemas.lineage import (
    Graph,
    LineageEvent,
    RecordResult,
    StateCorrection,
    TaskRunRecord,
    Usage,
)
from airflow_assets.schemas.native import NativeNames, NativeUris
from airflow_assets.schemas.polls import CheckReport, CheckResult, Firing, PollRef
from airflow_assets.schemas.purge import Purge, PurgeResult
from airflow_assets.schemas.queries import (
    AssetQuery,
    Batch,
    BatchResult,
    DependencyQuery,
    EventQuery,
    FacetQuery,
    FacetResult,
    HistoryQuery,
    LineageQuery,
    UsageQuery,
)
from airflow_assets.schemas.shipping import (
    Bookmark,
    BookmarkMove,
    Bookmarks,
    BookmarksOpen,
    ChangesPage,
    ChangesRead,
    DeletedLineage,
    LineagePage,
    LineageRead,
    ShippedDelete,
    Shipper,
    ShipperQuery,
)
from airflow_assets.schemas.transfer import ExportQuery, ExportRow, ImportRequest, ImportResult
from airflow_assets.schemas.trigger_listing import TriggerQuery, Triggers
from airflow_assets.schemas.waiting import EventWait, EventWaitResult

MOUNT = "/airflow_assets"
"""Where the plugin mounts the API in Airflow's API server."""
API_PREFIX = MOUNT + "/api/v1"
JSON_PARAMETERS = frozenset({"metadataQuery", "columns", "where"})
"""Query parameters that carry JSON."""


class Action(str, Enum):
    """What a caller needs to be allowed to do; docs/permissions.md maps them onto Airflow's managers."""

    LIST = "LIST"
    VIEW = "VIEW"
    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    LOCK = "LOCK"
    UNLOCK = "UNLOCK"
    RECORD = "RECORD"
    """Only task instances record what they did."""
    REPORT = "REPORT"
    """Only the triggers of polled schedules report what they found."""


class GetOptions(Schema):
    """Whether a deleted asset is found too."""

    include_deleted: bool = False


class UpsertResult(Schema):
    """The stored asset, and whether the upsert made it."""

    asset: Asset
    created: bool


@dataclass(frozen=True)
class Operation:
    """One operation of the protocol.

    :param idempotent: a repeat has no further effect, so the client may retry it after a lost answer.
    :param waits: the answer may take as long as the body's ``timeout`` says.
    """

    name: str
    method: str
    path: str
    action: Action
    response: Any
    body: type[Schema] | None = None
    query: type[Schema] | None = None
    idempotent: bool = True
    status: int = 200
    waits: bool = False


_OF_ASSET_RUNS = (
    Operation(
        "declare_nodes",
        "POST",
        "/nodes/declare",
        Action.UPDATE,
        nodes.Declared,
        body=nodes.NodeDeclarations,
    ),
    Operation("list_nodes", "POST", "/nodes/search", Action.LIST, nodes.Nodes, body=nodes.NodeQuery),
    Operation("node_statuses", "GET", "/nodes/status", Action.LIST, nodes.NodeStatuses),
    Operation(
        "node_partitions",
        "GET",
        "/nodes/partitions",
        Action.LIST,
        nodes.NodePartitions,
        query=nodes.NodePartitionQuery,
    ),
    Operation(
        "record_asset_run",
        "POST",
        "/asset-runs/record",
        Action.UPDATE,
        asset_runs.AssetRunRecorded,
        body=asset_runs.AssetRunRecord,
    ),
    Operation(
        "list_asset_runs",
        "GET",
        "/asset-runs",
        Action.LIST,
        asset_runs.AssetRuns,
        query=asset_runs.AssetRunQuery,
    ),
    Operation(
        "cancel_asset_run",
        "POST",
        "/asset-runs/cancel",
        Action.UPDATE,
        asset_runs.CancelResult,
        body=asset_runs.CancelRequest,
    ),
    Operation(
        "list_step_events",
        "GET",
        "/asset-runs/events",
        Action.LIST,
        asset_runs.StepEvents,
        query=asset_runs.StepEventQuery,
    ),
    Operation(
        "change_dynamic_partitions",
        "POST",
        "/dynamic-partitions",
        Action.UPDATE,
        nodes.DynamicPartitions,
        body=nodes.DynamicPartitionChange,
    ),
    Operation(
        "dynamic_partitions",
        "GET",
        "/dynamic-partitions",
        Action.LIST,
        nodes.DynamicPartitions,
        query=nodes.DynamicPartitionQuery,
    ),
    Operation(
        "save_asset_backfill",
        "POST",
        "/asset-backfills",
        Action.UPDATE,
        asset_runs.AssetBackfill,
        body=asset_runs.AssetBackfill,
    ),
    Operation(
        "list_asset_backfills",
        "GET",
        "/asset-backfills",
        Action.LIST,
        asset_runs.AssetBackfills,
        query=asset_runs.AssetBackfillQuery,
    ),
    Operation("claim_slots", "POST", "/slots/claim", Action.UPDATE, slots.SlotGrant, body=slots.SlotClaim),
    Operation(
        "release_slots", "POST", "/slots/release", Action.UPDATE, slots.SlotsReleased, body=slots.SlotRelease
    ),
    Operation("set_pool", "POST", "/pools", Action.UPDATE, slots.Pool, body=slots.PoolLimit),
    Operation("list_pools", "GET", "/pools", Action.LIST, slots.Pools, query=slots.PoolQuery),
)
"""What :mod:`airflow_assets.authoring.storage` asks."""

OPERATIONS: dict[str, Operation] = {
    operation.name: operation
    for operation in (
        Operation("search_assets", "GET", "/assets", Action.LIST, Page[Asset], query=AssetQuery),
        Operation(
            "create_asset",
            "POST",
            "/assets",
            Action.CREATE,
            Asset,
            body=AssetInput,
            idempotent=False,
            status=201,
        ),
        Operation("get_asset", "GET", "/assets/{asset_id}", Action.VIEW, Asset, query=GetOptions),
        Operation("update_asset", "PUT", "/assets/{asset_id}", Action.UPDATE, Asset, body=AssetUpdate),
        Operation(
            "delete_asset", "DELETE", "/assets/{asset_id}", Action.DELETE, None, idempotent=False, status=204
        ),
        Operation("upsert_asset", "POST", "/upsert", Action.UPDATE, UpsertResult, body=AssetInput),
        Operation("rename_asset", "POST", "/rename", Action.UPDATE, Asset, body=Rename),
        Operation("query_assets", "POST", "/search", Action.LIST, Page[Asset], body=AssetQuery),
        Operation("facets", "POST", "/facets", Action.LIST, FacetResult, body=FacetQuery),
        Operation("dashboard", "GET", "/dashboard", Action.LIST, DashboardData, query=DashboardQuery),
        Operation("query_dashboard", "POST", "/dashboard", Action.LIST, DashboardData, body=DashboardQuery),
        Operation("staleness", "POST", "/staleness", Action.LIST, StalenessSeries, body=StalenessQuery),
        Operation("list_triggers", "GET", "/triggers", Action.LIST, Triggers, query=TriggerQuery),
        Operation("batch", "POST", "/batch", Action.UPDATE, BatchResult, body=Batch, idempotent=False),
        Operation("record_task_run", "POST", "/record", Action.RECORD, RecordResult, body=TaskRunRecord),
        Operation(
            "correct_state", "POST", "/record/state", Action.RECORD, RecordResult, body=StateCorrection
        ),
        Operation("list_events", "GET", "/events", Action.LIST, Page[Event], query=EventQuery),
        Operation("get_event", "GET", "/events/{event_id}", Action.VIEW, Event),
        Operation(
            "wait_events", "POST", "/events/wait", Action.LIST, EventWaitResult, body=EventWait, waits=True
        ),
        Operation("replay_event", "POST", "/replay", Action.UPDATE, ReplayResult, body=Replay),
        Operation(
            "check_freshness", "POST", "/freshness/check", Action.LIST, FreshnessReport, body=FreshnessCheck
        ),
        Operation("next_check", "POST", "/firings/next", Action.REPORT, CheckResult, body=PollRef),
        Operation("report_check", "POST", "/firings", Action.REPORT, CheckResult, body=CheckReport),
        Operation("get_firing", "GET", "/firings/{firing_id}", Action.VIEW, Firing),
        Operation("list_history", "GET", "/history", Action.VIEW, Page[Change], query=HistoryQuery),
        Operation("list_usages", "GET", "/usages", Action.LIST, Page[Usage], query=UsageQuery),
        Operation("list_lineage", "GET", "/lineage", Action.LIST, Page[LineageEvent], query=LineageQuery),
        Operation("read_lineage", "POST", "/lineage/read", Action.LIST, LineagePage, body=LineageRead),
        Operation(
            "delete_shipped", "POST", "/lineage/delete", Action.DELETE, DeletedLineage, body=ShippedDelete
        ),
        Operation("read_changes", "POST", "/changes/read", Action.LIST, ChangesPage, body=ChangesRead),
        Operation("list_shippers", "GET", "/shippers", Action.LIST, Page[Shipper], query=ShipperQuery),
        Operation("open_bookmarks", "POST", "/bookmarks/open", Action.UPDATE, Bookmarks, body=BookmarksOpen),
        Operation("move_bookmark", "POST", "/bookmarks/move", Action.UPDATE, Bookmark, body=BookmarkMove),
        Operation("dependencies", "GET", "/dependencies", Action.VIEW, Graph, query=DependencyQuery),
        Operation("acquire_leases", "POST", "/locks/acquire", Action.LOCK, LeaseGrant, body=AcquireLeases),
        Operation(
            "wait_leases", "POST", "/locks/wait", Action.LIST, LeaseWaitResult, body=LeaseWait, waits=True
        ),
        Operation(
            "release_leases", "POST", "/locks/release", Action.UNLOCK, ReleaseResult, body=ReleaseLeases
        ),
        Operation(
            "force_unlock",
            "POST",
            "/locks/force-unlock",
            Action.UNLOCK,
            ForceUnlockResult,
            body=ForceUnlock,
            idempotent=False,
        ),
        Operation("list_leases", "GET", "/locks", Action.LIST, Page[Lease], query=LeaseQuery),
        Operation(
            "list_forced_unlocks",
            "GET",
            "/locks/forced",
            Action.LIST,
            Page[ForcedUnlock],
            query=ForcedUnlockQuery,
        ),
        Operation("native_uris", "POST", "/native-uris", Action.LIST, NativeUris, body=NativeNames),
        Operation("export_rows", "GET", "/export", Action.LIST, Page[ExportRow], query=ExportQuery),
        Operation("purge", "POST", "/purge", Action.DELETE, PurgeResult, body=Purge),
        Operation("import_rows", "POST", "/import", Action.CREATE, ImportResult, body=ImportRequest),
        *_OF_ASSET_RUNS,
    )
}

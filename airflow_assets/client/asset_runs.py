"""The client's methods for runs of assets that are written in Python; part of the client.

``asset_runs_aio.py`` is made from this file by ``python -m scripts.make_async_client``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from airflow_assets.schemas.asset_runs import AssetBackfillQuery, AssetRunQuery
from airflow_assets.schemas.nodes import NodeQuery
from airflow_assets.schemas.slots import PoolQuery

if TYPE_CHECKING:
    from airflow_assets.schemas.asset_runs import (
        AssetBackfill,
        AssetBackfills,
        AssetRunRecord,
        AssetRunRecorded,
        AssetRuns,
        CancelRequest,
        CancelResult,
        StepEventQuery,
        StepEvents,
    )
    from airflow_assets.schemas.base import Schema
    from airflow_assets.schemas.nodes import (
        Declared,
        DynamicPartitionChange,
        DynamicPartitionQuery,
        DynamicPartitions,
        NodeDeclarations,
        NodePartitionQuery,
        NodePartitions,
        Nodes,
        NodeStatuses,
    )
    from airflow_assets.schemas.slots import (
        Pool,
        PoolLimit,
        Pools,
        SlotClaim,
        SlotGrant,
        SlotRelease,
        SlotsReleased,
    )


class AssetRunCalls:
    """Runs, nodes, partitions and slots of assets that are written in Python."""

    if TYPE_CHECKING:

        def _call(self, name: str, payload: Schema | None, path_id: str | None = None) -> Any: ...

    def declare_nodes(self, declarations: NodeDeclarations) -> Declared:
        """Store what code declares of its nodes; those of other code stay."""
        return cast("Declared", self._call("declare_nodes", declarations))

    def list_nodes(self, query: NodeQuery | None = None) -> Nodes:
        """Return what is declared and known of nodes, by name."""
        return cast("Nodes", self._call("list_nodes", query or NodeQuery()))

    def node_statuses(self) -> NodeStatuses:
        """Return whether each node is up to date with its code and its inputs, and why not."""
        return cast("NodeStatuses", self._call("node_statuses", None))

    def node_partitions(self, query: NodePartitionQuery) -> NodePartitions:
        """Return which partitions of a node are materialized, and which have failed since."""
        return cast("NodePartitions", self._call("node_partitions", query))

    def record_asset_run(self, record: AssetRunRecord) -> AssetRunRecorded:
        """Store what a run says, in one transaction; an event that is sent again changes nothing.

        :raises AssetLocked: somebody else holds an asset that is materialized; nothing is stored.
        :raises NotFound: the end of a run that was never begun.
        """
        return cast("AssetRunRecorded", self._call("record_asset_run", record))

    def list_asset_runs(self, query: AssetRunQuery | None = None) -> AssetRuns:
        """Return one run, or the last ones, newest first."""
        return cast("AssetRuns", self._call("list_asset_runs", query or AssetRunQuery()))

    def cancel_asset_run(self, request: CancelRequest) -> CancelResult:
        """Ask a run or a backfill to stop; who runs it looks between two steps."""
        return cast("CancelResult", self._call("cancel_asset_run", request))

    def list_step_events(self, query: StepEventQuery) -> StepEvents:
        """Return the events of a run, oldest first, or the last ones of a node, newest first."""
        return cast("StepEvents", self._call("list_step_events", query))

    def change_dynamic_partitions(self, change: DynamicPartitionChange) -> DynamicPartitions:
        """Register keys of a dynamic definition, or take some out; return what is registered then."""
        return cast("DynamicPartitions", self._call("change_dynamic_partitions", change))

    def dynamic_partitions(self, query: DynamicPartitionQuery) -> DynamicPartitions:
        """Return the registered keys of a dynamic definition, in the order in which they came."""
        return cast("DynamicPartitions", self._call("dynamic_partitions", query))

    def save_asset_backfill(self, backfill: AssetBackfill) -> AssetBackfill:
        """Store a backfill as it is now; that it was asked to stop stays, and is in the answer."""
        return cast("AssetBackfill", self._call("save_asset_backfill", backfill))

    def list_asset_backfills(self, query: AssetBackfillQuery | None = None) -> AssetBackfills:
        """Return one backfill, or the last ones, newest first."""
        return cast("AssetBackfills", self._call("list_asset_backfills", query or AssetBackfillQuery()))

    def claim_slots(self, claim: SlotClaim) -> SlotGrant:
        """Take all slots and locks of nodes that a step needs, or none of them."""
        return cast("SlotGrant", self._call("claim_slots", claim))

    def release_slots(self, release: SlotRelease) -> SlotsReleased:
        """Give up what a step, or all of a run, has claimed."""
        return cast("SlotsReleased", self._call("release_slots", release))

    def set_pool(self, limit: PoolLimit) -> Pool:
        """Set the limit of a pool of slots; who is in it stays."""
        return cast("Pool", self._call("set_pool", limit))

    def list_pools(self, query: PoolQuery | None = None) -> Pools:
        """Return one pool of slots, or all, and who is in it."""
        return cast("Pools", self._call("list_pools", query or PoolQuery()))

"""The operations on runs of assets written in Python; part of the service."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from airflow_assets.catalog import (
    asset_backfills,
    asset_runs,
    dynamic_partitions,
    nodes,
    pools,
    slots,
    step_events,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    from airflow_assets.schemas import asset_runs as runs
    from airflow_assets.schemas import nodes as wire
    from airflow_assets.schemas import slots as claims
    from airflow_assets.schemas.actors import Caller

T = TypeVar("T")


class AssetRunOperations:
    """What :class:`~airflow_assets.catalog.service.CatalogService` has for the authoring of assets."""

    if TYPE_CHECKING:

        def _read(self, work: Callable[[Connection], T]) -> T: ...

        def _write(self, work: Callable[[Connection], tuple[T, bool]]) -> T: ...

    def declare_nodes(self, caller: Caller, body: wire.NodeDeclarations) -> wire.Declared:
        """Store what code declares of its nodes."""
        return self._write(lambda conn: (nodes.declare(conn, caller, body), False))

    def list_nodes(self, caller: Caller, query: wire.NodeQuery) -> wire.Nodes:
        """Return nodes by name."""
        return self._read(lambda conn: nodes.list_nodes(conn, caller, query))

    def node_statuses(self, caller: Caller) -> wire.NodeStatuses:
        """Return whether each node is up to date."""
        return self._read(lambda conn: nodes.node_statuses(conn, caller))

    def node_partitions(self, caller: Caller, query: wire.NodePartitionQuery) -> wire.NodePartitions:
        """Return what is known of a node's partitions."""
        return self._read(lambda conn: nodes.node_partitions(conn, caller, query))

    def record_asset_run(self, caller: Caller, body: runs.AssetRunRecord) -> runs.AssetRunRecorded:
        """Store what a run says, once; see :func:`airflow_assets.catalog.asset_runs.record`."""
        return self._write(lambda conn: asset_runs.record(conn, caller, body))

    def list_asset_runs(self, caller: Caller, query: runs.AssetRunQuery) -> runs.AssetRuns:
        """Return one run, or the last ones."""
        return self._read(lambda conn: asset_runs.list_runs(conn, caller, query))

    def cancel_asset_run(self, caller: Caller, body: runs.CancelRequest) -> runs.CancelResult:
        """Ask a run or a backfill to stop."""

        def work(conn: Connection) -> tuple[runs.CancelResult, bool]:
            return asset_runs.cancel(conn, caller, body), False

        return self._write(work)

    def list_step_events(self, caller: Caller, query: runs.StepEventQuery) -> runs.StepEvents:
        """Return the events of a run or of a node."""
        return self._read(lambda conn: step_events.list_events(conn, caller, query))

    def change_dynamic_partitions(
        self, caller: Caller, body: wire.DynamicPartitionChange
    ) -> wire.DynamicPartitions:
        """Register keys of a dynamic definition, or take some out."""
        return self._write(lambda conn: (dynamic_partitions.change(conn, caller, body), False))

    def dynamic_partitions(self, caller: Caller, query: wire.DynamicPartitionQuery) -> wire.DynamicPartitions:
        """Return the registered keys of a dynamic definition."""
        return self._read(lambda conn: dynamic_partitions.dynamic_partitions(conn, caller, query))

    def save_asset_backfill(self, caller: Caller, body: runs.AssetBackfill) -> runs.AssetBackfill:
        """Store a backfill as it is now."""
        return self._write(lambda conn: (asset_backfills.save(conn, caller, body), False))

    def list_asset_backfills(self, caller: Caller, query: runs.AssetBackfillQuery) -> runs.AssetBackfills:
        """Return one backfill, or the last ones."""
        return self._read(lambda conn: asset_backfills.list_backfills(conn, caller, query))

    def claim_slots(self, caller: Caller, body: claims.SlotClaim) -> claims.SlotGrant:
        """Take what a step needs, or nothing."""
        return self._write(lambda conn: (slots.claim(conn, caller, body), False))

    def release_slots(self, caller: Caller, body: claims.SlotRelease) -> claims.SlotsReleased:
        """Give up what a step, or all of a run, holds."""
        return self._write(lambda conn: (slots.release(conn, caller, body), False))

    def set_pool(self, caller: Caller, body: claims.PoolLimit) -> claims.Pool:
        """Set the limit of a pool."""
        return self._write(lambda conn: (pools.set_pool(conn, caller, body), False))

    def list_pools(self, caller: Caller, query: claims.PoolQuery) -> claims.Pools:
        """Return one pool, or all, and who is in it."""
        return self._read(lambda conn: pools.list_pools(conn, caller, query))

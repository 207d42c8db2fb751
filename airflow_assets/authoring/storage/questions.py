"""The half of a storage that reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_assets.authoring.errors import StorageError
from airflow_assets.authoring.partitions.keys import PartitionKey
from airflow_assets.authoring.storage import records as told
from airflow_assets.authoring.storage import wire
from airflow_assets.authoring.storage.recording import failing_as_storage
from airflow_assets.schemas import asset_runs as runs
from airflow_assets.schemas import nodes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow_assets.client.base import CatalogClient

_ALL = 100_000
_FAILURES = [runs.StepEventType.STEP_FAILURE, runs.StepEventType.STEP_RETRY]


class Questions:
    """See :class:`~airflow_assets.authoring.storage.interface.Storage`."""

    _client: CatalogClient

    def get_events_for_run(self, run_id: str) -> list[told.StoredEvent]:
        """Return all events of a run, oldest first."""
        if not run_id:
            return []  # an observe without anything to observe is no run, and has no id
        return self._events(runs.StepEventQuery(run_id=run_id, limit=_ALL))

    def get_events_for_asset(self, asset_key: str, limit: int = 100) -> list[told.StoredEvent]:
        """Return the last events of a node, newest first."""
        return self._events(runs.StepEventQuery(node=asset_key, limit=limit))

    def get_run_logs(self, run_id: str) -> list[told.StoredLog]:
        """Return the tracebacks of a run's failed tries, oldest first."""
        with failing_as_storage():
            query = runs.StepEventQuery(run_id=run_id, event_types=_FAILURES, limit=_ALL)
            found = map(wire.stored_log, self._client.list_step_events(query).items)
            return [one for one in found if one is not None]

    def get_latest_materialization(
        self, asset_key: str, partition: str | PartitionKey | None = None
    ) -> told.StoredEvent | None:
        """Return the last materialization, of one partition or of any."""
        if partition is None:
            kinds = [runs.StepEventType.MATERIALIZATION]
            found = self._events(runs.StepEventQuery(node=asset_key, event_types=kinds, limit=1))
            return found[0] if found else None
        for key in _keys_called(partition):
            found = self._events(runs.StepEventQuery(node=asset_key, partition_key=key.to_json(), limit=1))
            if found:
                return found[0]
        return None

    def get_asset_record(self, asset_key: str) -> told.AssetRecord | None:
        """Return what is known of a node; null for one that nobody declared or materialized."""
        found = self.get_asset_records([asset_key])
        return found[0] if found else None

    def get_asset_records(self, names: Sequence[str] | None = None) -> list[told.AssetRecord]:
        """Return what is known of all nodes, or of those of these names, by name."""
        return self._records(nodes.NodeQuery(names=None if names is None else list(names)))

    def get_assets_by_tag(self, tag: str) -> list[told.AssetRecord]:
        """Return the nodes that are declared with a tag."""
        return self._records(nodes.NodeQuery(tag=tag))

    def get_assets_by_kind(self, kind: str) -> list[told.AssetRecord]:
        """Return the nodes that are declared with a kind."""
        return self._records(nodes.NodeQuery(kind=kind))

    def get_assets_by_group(self, group: str) -> list[told.AssetRecord]:
        """Return the nodes that are declared in a group."""
        return self._records(nodes.NodeQuery(group=group))

    def compute_staleness(self) -> dict[str, tuple[str, list[told.StaleCause]]]:
        """Return ``UpToDate``, ``Stale`` or ``Missing`` and the causes, by node."""
        with failing_as_storage():
            return {
                one.name: (
                    one.status,
                    [told.StaleCause(one.name, c.category, c.reason, c.dependency) for c in one.causes],
                )
                for one in self._client.node_statuses().items
            }

    def get_run(self, run_id: str) -> told.RunRecord | None:
        """Return a run; null where there is none."""
        run = self._run(run_id)
        return None if run is None else wire.run_record(run)

    def get_runs(self, limit: int = 100, status: str | None = None) -> list[told.RunRecord]:
        """Return the last runs, newest first, of one status or of all.

        Raises:
            StorageError: there is no such status.
        """
        known = [one.value for one in runs.AssetRunStatus]
        if status is not None and status not in known:
            raise StorageError(f"Unknown run status: {status}; there are {', '.join(known)}")
        with failing_as_storage():
            wanted = None if status is None else runs.AssetRunStatus(status)
            found = self._client.list_asset_runs(runs.AssetRunQuery(status=wanted, limit=limit))
            return [wire.run_record(run) for run in found.items]

    def get_run_progress(self, run_id: str) -> tuple[int, int]:
        """Return how many steps are done, and of how many."""
        run = self._run(run_id)
        return (0, 0) if run is None else (run.completed, run.total)

    def is_cancelled(self, run_id: str) -> bool:
        """Tell whether a run was asked to stop."""
        run = self._run(run_id)
        return run is not None and run.cancel_requested

    def get_materialized_partitions(self, asset_key: str) -> list[PartitionKey]:
        """Return the partitions that are materialized, in the order of their canonical text."""
        return [one.partition_key for one in self.get_partition_states(asset_key) if one.materialized]

    def count_materialized_partitions(self, asset_key: str) -> int:
        """Return how many partitions are materialized."""
        with failing_as_storage():
            query = nodes.NodePartitionQuery(node=asset_key, count_only=True)
            return self._client.node_partitions(query).materialized

    def get_partition_states(self, asset_key: str) -> list[told.PartitionState]:
        """Return all partitions of which something is known: materialized ones, and failed ones."""
        with failing_as_storage():
            found = self._client.node_partitions(nodes.NodePartitionQuery(node=asset_key)).items
            return sorted(map(wire.partition_state, found), key=lambda one: str(one.partition_key))

    def get_backfill(self, backfill_id: str) -> told.BackfillRecord | None:
        """Return a backfill; null where there is none."""
        with failing_as_storage():
            query = runs.AssetBackfillQuery(backfill_id=backfill_id)
            found = self._client.list_asset_backfills(query).items
            return wire.backfill(found[0]) if found else None

    def get_backfills(self, limit: int = 100) -> list[told.BackfillRecord]:
        """Return the last backfills, newest first."""
        with failing_as_storage():
            found = self._client.list_asset_backfills(runs.AssetBackfillQuery(limit=limit))
            return [wire.backfill(one) for one in found.items]

    def get_dynamic_partitions(self, partitions_def_name: str) -> list[str]:
        """Return the keys in the order in which they were registered."""
        with failing_as_storage():
            query = nodes.DynamicPartitionQuery(name=partitions_def_name)
            return self._client.dynamic_partitions(query).keys

    def has_dynamic_partition(self, partitions_def_name: str, partition_key: str) -> bool:
        """Tell whether a key is registered."""
        return partition_key in self.get_dynamic_partitions(partitions_def_name)

    def _run(self, run_id: str) -> runs.AssetRun | None:
        with failing_as_storage():
            found = self._client.list_asset_runs(runs.AssetRunQuery(run_id=run_id)).items
            return found[0] if found else None

    def _events(self, query: runs.StepEventQuery) -> list[told.StoredEvent]:
        with failing_as_storage():
            return [wire.stored_event(one) for one in self._client.list_step_events(query).items]

    def _records(self, query: nodes.NodeQuery) -> list[told.AssetRecord]:
        with failing_as_storage():
            return [wire.asset_record(one) for one in self._client.list_nodes(query).items]


def _keys_called(partition: str | PartitionKey) -> list[PartitionKey]:
    """The keys that a text may mean: a single one, or the canonical text of several dimensions."""
    if isinstance(partition, PartitionKey):
        return [partition]
    found = [PartitionKey.single(partition)]
    return [*found, PartitionKey.parse(partition)] if "=" in partition else found

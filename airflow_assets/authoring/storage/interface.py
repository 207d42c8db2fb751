"""What the local runner, Airflow tasks and readers ask of a storage.

Two make it: :class:`~airflow_assets.authoring.storage.direct.DirectStorage` on a database of its own, and
:class:`~airflow_assets.authoring.storage.client.ClientStorage` over the catalogue's client. Their answers are
the same.

A run is recorded so::

    storage.declare(declarations_of(graph))                    # once, when the repository is resolved
    storage.start_run(NewRun(run_id, ("orders", "revenue")))
    recorder = StepRecorder(run_id, "orders")                  # one for each step and try
    failures = run_step(run, step, recorder)                   # it is the engine's ``emit``
    storage.record(run_id, recorder.drain())                   # one transaction; a repeat changes nothing
    storage.finish_run(run_id, RunStatus.Success)

``record`` may be called several times for one step, such as after ``StepStart`` of an action that must not
run twice, and with the events of several steps at once. All times are the database's; text is Unicode.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow_assets.authoring.partitions.keys import PartitionKey
    from airflow_assets.authoring.storage.records import (
        AssetClaim,
        AssetDeclaration,
        AssetRecord,
        BackfillRecord,
        ClaimStatus,
        NewRun,
        PartitionState,
        PoolInfo,
        PoolLimit,
        Recorded,
        RunRecord,
        RunStatus,
        SlotHolder,
        StaleCause,
        StoredEvent,
        StoredLog,
    )


class Storage(Protocol):
    """See the module. Every method raises ``StorageError`` where the database or the catalogue fails."""

    # Recording

    def declare(self, assets: Sequence[AssetDeclaration]) -> None:
        """Store what the code says of its nodes; those of other code stay."""

    def start_run(self, run: NewRun) -> RunRecord:
        """Begin a run, or go on with the one of this id: its status and end are set anew, its events stay."""

    def record(self, run_id: str, events: Sequence[Recorded], *, run: NewRun | None = None) -> None:
        """Store events in one transaction, and with them records, partitions and the catalogue's asset.

        :param run: also begins the run, in the same transaction.

        Raises:
            AssetLocked: somebody holds the lock of an asset that is materialized; nothing is stored.
        """

    def finish_run(
        self,
        run_id: str,
        status: RunStatus,
        *,
        completed: int = 0,
        total: int = 0,
        message: str | None = None,
    ) -> None:
        """Set the last status of a run."""

    def save_backfill(self, backfill: BackfillRecord) -> None:
        """Store a backfill as it is now; a requested cancellation stays."""

    # Questions, under the names of the reference

    def get_events_for_run(self, run_id: str) -> list[StoredEvent]:
        """Return all events of a run, oldest first."""

    def get_events_for_asset(self, asset_key: str, limit: int = 100) -> list[StoredEvent]:
        """Return the last events of a node, newest first."""

    def get_run_logs(self, run_id: str) -> list[StoredLog]:
        """Return the tracebacks of a run's failed tries, oldest first."""

    def get_latest_materialization(
        self, asset_key: str, partition: str | PartitionKey | None = None
    ) -> StoredEvent | None:
        """Return the last materialization, of one partition or of any."""

    def get_asset_record(self, asset_key: str) -> AssetRecord | None:
        """Return what is known of a node; null for one that nobody declared or materialized."""

    def get_asset_records(self, names: Sequence[str] | None = None) -> list[AssetRecord]:
        """Return what is known of all nodes, or of those of these names, by name."""

    def get_assets_by_tag(self, tag: str) -> list[AssetRecord]:
        """Return the nodes that are declared with a tag."""

    def get_assets_by_kind(self, kind: str) -> list[AssetRecord]:
        """Return the nodes that are declared with a kind."""

    def get_assets_by_group(self, group: str) -> list[AssetRecord]:
        """Return the nodes that are declared in a group."""

    def compute_staleness(self) -> dict[str, tuple[str, list[StaleCause]]]:
        """Return ``UpToDate``, ``Stale`` or ``Missing`` and the causes, by node."""

    def get_run(self, run_id: str) -> RunRecord | None:
        """Return a run; null where there is none."""

    def get_runs(self, limit: int = 100, status: str | None = None) -> list[RunRecord]:
        """Return the last runs, newest first, of one status or of all.

        Raises:
            StorageError: there is no such status.
        """

    def get_run_progress(self, run_id: str) -> tuple[int, int]:
        """Return how many steps are done, and of how many."""

    def get_materialized_partitions(self, asset_key: str) -> list[PartitionKey]:
        """Return the partitions that are materialized, in the order of their canonical text."""

    def count_materialized_partitions(self, asset_key: str) -> int:
        """Return how many partitions are materialized."""

    def get_partition_states(self, asset_key: str) -> list[PartitionState]:
        """Return all partitions of which something is known: materialized ones, and failed ones."""

    def get_backfill(self, backfill_id: str) -> BackfillRecord | None:
        """Return a backfill; null where there is none."""

    def get_backfills(self, limit: int = 100) -> list[BackfillRecord]:
        """Return the last backfills, newest first."""

    # Cancelling is cooperative: whoever runs it looks between steps

    def request_cancellation(self, run_id: str) -> None:
        """Ask a run to stop."""

    def is_cancelled(self, run_id: str) -> bool:
        """Tell whether a run was asked to stop."""

    def request_backfill_cancellation(self, backfill_id: str) -> bool:
        """Ask a backfill to stop; false where there is none."""

    # Dynamic partitions

    def add_dynamic_partitions(self, partitions_def_name: str, partition_keys: Sequence[str]) -> None:
        """Register keys; those that are there stay.

        Raises:
            StorageError: a key is empty or has a ``|`` or ``,``; none is registered.
        """

    def delete_dynamic_partition(self, partitions_def_name: str, partition_key: str) -> None:
        """Take a key out; nothing where it is not there."""

    def get_dynamic_partitions(self, partitions_def_name: str) -> list[str]:
        """Return the keys in the order in which they were registered."""

    def has_dynamic_partition(self, partitions_def_name: str, partition_key: str) -> bool:
        """Tell whether a key is registered."""

    # Pools and exclusive locks

    def set_pool_limit(self, pool_key: str, limit: int, lease_duration: str = "5m") -> None:
        """Set how many slots a pool has, and how long they are held unless renewed."""

    def get_pool_limits(self) -> list[PoolLimit]:
        """Return the pools that have a limit."""

    def get_pool_info(self, pool_key: str) -> PoolInfo:
        """Return one pool.

        Raises:
            StorageError: it has no limit and nobody holds slots of it.
        """

    def get_all_pool_infos(self) -> list[PoolInfo]:
        """Return all pools, by name."""

    def get_pool_slot_holders(self, pool_key: str) -> list[SlotHolder]:
        """Return who has slots of a pool now."""

    def claim(
        self,
        run_id: str,
        step_key: str,
        pools: Sequence[tuple[str, int]] = (),
        assets: Sequence[AssetClaim] = (),
        *,
        lease_seconds: float = 300.0,
    ) -> ClaimStatus:
        """Take all slots and sides of locks that a step needs, or none; again for what it has extends it.

        Who is refused asks again after a while.
        """

    def renew(self, run_id: str, step_key: str, *, lease_seconds: float = 300.0) -> bool:
        """Extend what a step has claimed; false where it has run out and is gone."""

    def release(self, run_id: str, step_key: str | None = None) -> None:
        """Give up what a step, or all of a run, has claimed."""

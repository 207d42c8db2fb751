"""The half of a storage that writes."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING

from airflow_assets.authoring.errors import StorageError
from airflow_assets.authoring.storage import wire
from airflow_assets.authoring.storage.records import RunStatus
from airflow_assets.exceptions import AssetCatalogError, AssetLocked
from airflow_assets.schemas import asset_runs as runs
from airflow_assets.schemas import nodes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from airflow_assets.authoring.storage import records as told
    from airflow_assets.client.base import CatalogClient

log = logging.getLogger("airflow_assets.storage")
_AT_ONCE = 10_000


class Recording:
    """See :class:`~airflow_assets.authoring.storage.interface.Storage`."""

    _client: CatalogClient

    def declare(self, assets: Sequence[told.AssetDeclaration]) -> None:
        """Store what the code says of its nodes; those of other code stay."""
        with failing_as_storage():
            items = [wire.declaration(one) for one in assets]
            for start in range(0, len(items), _AT_ONCE):
                part = items[start : start + _AT_ONCE]
                self._client.declare_nodes(nodes.NodeDeclarations(items=part))

    def start_run(self, run: told.NewRun) -> told.RunRecord:
        """Begin a run, or go on with the one of this id; its events stay."""
        with failing_as_storage():
            record = runs.AssetRunRecord(run_id=run.run_id, run=wire.run_input(run))
            self._client.record_asset_run(record)
            (found,) = self._client.list_asset_runs(runs.AssetRunQuery(run_id=run.run_id)).items
            return wire.run_record(found)

    def record(self, run_id: str, events: Sequence[told.Recorded], *, run: told.NewRun | None = None) -> None:
        """Store events in one transaction, and with them records, partitions and the catalogue's asset.

        :param run: also begins the run, in the same transaction.

        Raises:
            AssetLocked: somebody holds the lock of an asset that is materialized; nothing is stored.
        """
        if not events and run is None:
            return
        now = wire.now()
        with failing_as_storage():
            record = runs.AssetRunRecord(
                run_id=run_id,
                run=None if run is None else wire.run_input(run),
                events=[wire.event_input(one, now) for one in events],
            )
            for warning in self._client.record_asset_run(record).warnings:
                log.warning("%s", warning)

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
        with failing_as_storage():
            outcome = runs.AssetRunOutcome(
                status=runs.AssetRunStatus(RunStatus(status).value),
                completed=completed,
                total=total,
                message=message,
            )
            self._client.record_asset_run(runs.AssetRunRecord(run_id=run_id, outcome=outcome))

    def save_backfill(self, backfill: told.BackfillRecord) -> None:
        """Store a backfill as it is now; a requested cancellation stays."""
        with failing_as_storage():
            self._client.save_asset_backfill(
                runs.AssetBackfill(
                    backfill_id=backfill.backfill_id,
                    status=backfill.status,
                    definition=dict(backfill.definition),
                    keys=dict(backfill.keys),
                    run_ids=list(backfill.run_ids),
                )
            )

    def request_cancellation(self, run_id: str) -> None:
        """Ask a run to stop."""
        with failing_as_storage():
            self._client.cancel_asset_run(runs.CancelRequest(run_id=run_id))

    def request_backfill_cancellation(self, backfill_id: str) -> bool:
        """Ask a backfill to stop; false where there is none."""
        with failing_as_storage():
            return self._client.cancel_asset_run(runs.CancelRequest(backfill_id=backfill_id)).found

    def add_dynamic_partitions(self, partitions_def_name: str, partition_keys: Sequence[str]) -> None:
        """Register keys; those that are there stay.

        Raises:
            StorageError: a key is empty or has a ``|`` or ``,``; none is registered.
        """
        with failing_as_storage():
            change = nodes.DynamicPartitionChange(name=partitions_def_name, add=list(partition_keys))
            self._client.change_dynamic_partitions(change)

    def delete_dynamic_partition(self, partitions_def_name: str, partition_key: str) -> None:
        """Take a key out; nothing where it is not there."""
        with failing_as_storage():
            change = nodes.DynamicPartitionChange(name=partitions_def_name, remove=[partition_key])
            self._client.change_dynamic_partitions(change)


@contextmanager
def failing_as_storage() -> Iterator[None]:
    """Let what the catalogue refuses be a ``StorageError``; that an asset is locked is said as it is."""
    try:
        yield
    except AssetLocked:
        raise
    except AssetCatalogError as error:
        raise StorageError(str(error)) from error

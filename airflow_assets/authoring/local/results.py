"""What the methods of a repository give back."""

from __future__ import annotations

from dataclasses import dataclass, field

from airflow_assets.authoring.partitions.keys import PartitionKey
from airflow_assets.authoring.storage.records import LaunchedBy


@dataclass(frozen=True, repr=False)
class RunResult:
    """How a run ended.

    :param run_id: empty where there was nothing to run.
    :param materialized_assets: what it was for, in the order of its steps, whether or not it succeeded.
    :param failed_assets: name and error (``"KeyError: 'day'"``) of each node that failed or was skipped.
    """

    success: bool
    run_id: str
    materialized_assets: list[str] = field(default_factory=list)
    failed_assets: list[tuple[str, str]] = field(default_factory=list)

    def __repr__(self) -> str:
        return (
            f"RunResult(success={str(self.success).lower()}, run_id={self.run_id!r}, "
            f"materialized={len(self.materialized_assets)}, failed={len(self.failed_assets)})"
        )


@dataclass(frozen=True, repr=False)
class BackfillResult:
    """How a backfill ended, or, with ``block=False`` or ``dry_run=True``, what it is going to do.

    :param status: ``Requested``, ``InProgress``, ``CompletedSuccess``, ``CompletedFailed``, ``Canceled``, or
        ``dry_run``.
    :param completed: partitions whose run succeeded.
    :param canceled: partitions whose run was never begun.
    """

    backfill_id: str
    num_partitions: int
    num_runs: int
    status: str
    completed: int = 0
    failed: int = 0
    canceled: int = 0
    run_ids: list[str] = field(default_factory=list)
    is_dry_run: bool = False
    partition_keys: list[PartitionKey] = field(default_factory=list)

    def __repr__(self) -> str:
        if self.is_dry_run:
            return f"BackfillResult(dry_run, partitions={self.num_partitions}, runs={self.num_runs})"
        return (
            f"BackfillResult(id={self.backfill_id!r}, status={self.status!r}, completed={self.completed}, "
            f"failed={self.failed}, canceled={self.canceled})"
        )


@dataclass(frozen=True, repr=False)
class BackfillStatus:
    """How far a backfill has come; the members that are counts count partitions."""

    backfill_id: str
    status: str
    action: str | None
    total_partitions: int
    completed_partitions: int
    failed_partitions: int
    canceled_partitions: int
    launched_by: LaunchedBy = field(default_factory=LaunchedBy.manual)
    run_ids: list[str] = field(default_factory=list)
    tags: list[tuple[str, str]] = field(default_factory=list)
    error: str | None = None

    def __repr__(self) -> str:
        return (
            f"BackfillStatus(id={self.backfill_id!r}, status={self.status!r}, "
            f"completed={self.completed_partitions}/{self.total_partitions}, failed={self.failed_partitions})"
        )

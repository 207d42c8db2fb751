"""What is given to a storage and what it answers: runs, events, records of assets, backfills, claims."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from airflow_assets.authoring.engine.events import StepEvent
from airflow_assets.authoring.partitions.keys import PartitionKey


class RunStatus(str, Enum):
    """How far a run has come; records hold the names as plain text."""

    Queued = "Queued"
    NotStarted = "NotStarted"
    Started = "Started"
    Success = "Success"
    Failure = "Failure"
    Canceled = "Canceled"


@dataclass(frozen=True)
class LaunchedBy:
    """What started a run: ``manual``, ``schedule``, ``sensor``, ``backfill`` or ``condition``.

    >>> LaunchedBy.backfill("b1").backfill_id
    'b1'
    """

    kind: str
    name: str | None = None
    backfill_id: str | None = None
    user: str | None = None

    @classmethod
    def manual(cls, user: str | None = None) -> LaunchedBy:
        """A person or a script."""
        return cls("manual", user=user)

    @classmethod
    def schedule(cls, name: str) -> LaunchedBy:
        """A schedule of this name."""
        return cls("schedule", name)

    @classmethod
    def sensor(cls, name: str) -> LaunchedBy:
        """A sensor of this name."""
        return cls("sensor", name)

    @classmethod
    def backfill(cls, backfill_id: str) -> LaunchedBy:
        """A backfill."""
        return cls("backfill", backfill_id=backfill_id)

    @classmethod
    def condition(cls) -> LaunchedBy:
        """An automation condition."""
        return cls("condition")


@dataclass(frozen=True)
class NewRun:
    """A run to begin.

    :param run_id: 1 to 250 characters; in Airflow ``<dag_id>/<run_id>`` or whatever is unique.
    :param nodes: the names of the selected nodes, in the order of the plan.
    :param action: the verb; null for materialize.
    :param config: the launch document, JSON.
    """

    run_id: str
    nodes: tuple[str, ...] = ()
    action: str | None = None
    partition_key: PartitionKey | None = None
    tags: tuple[tuple[str, str], ...] = ()
    job_name: str | None = None
    priority: int = 0
    launched_by: LaunchedBy = LaunchedBy("manual")
    config: Mapping[str, Any] | None = None
    status: RunStatus = RunStatus.Started


@dataclass(frozen=True)
class Recorded:
    """An event on its way into the storage.

    ``(run, step, attempt, map_index, ordinal)`` is its idempotency key: recorded once, however often sent.

    :param step: the step's name, or an instance's of a fan-out.
    :param attempt: which try of the step; Airflow's ``try_number``.
    :param ordinal: the place among the events of the try.
    :param keeps_inputs: a materialization by an action: what was recorded of the inputs and the code stays.
    :param at: ``time.monotonic()`` when it happened; the storage makes a time of the database's clock of it.
    """

    step: str
    ordinal: int
    event: StepEvent
    attempt: int = 1
    map_index: int = -1
    keeps_inputs: bool = False
    at: float = field(default_factory=time.monotonic)


class StepRecorder:
    """The ``emit`` of one step: keeps its events, numbered, until :meth:`drain`.

    :param action: the step is one of an action other than materialize and observe.

    >>> recorder = StepRecorder("run-1", "orders")
    >>> recorder(StepEvent(EventType.StepStart, "orders"))
    >>> [one.ordinal for one in recorder.drain()]
    [0]
    """

    def __init__(
        self, run_id: str, step: str, *, attempt: int = 1, map_index: int = -1, action: bool = False
    ) -> None:
        self.run_id, self.step, self.attempt, self.map_index = run_id, step, attempt, map_index
        self._action = action
        self._next = 0
        self._kept: list[Recorded] = []

    def __call__(self, event: StepEvent) -> None:
        """Keep an event."""
        self._kept.append(Recorded(self.step, self._next, event, self.attempt, self.map_index, self._action))
        self._next += 1

    def drain(self) -> list[Recorded]:
        """Return the events since the last time."""
        kept, self._kept = self._kept, []
        return kept


@dataclass(frozen=True)
class AssetDeclaration:
    """What the code says of one node, for lists, the catalogue and staleness.

    :param upstreams: of every edge, the lineage-only ones too.
    :param inner: a task inside a graph asset: it has a record, and is no asset of the catalogue.
    """

    name: str
    tags: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    group: str | None = None
    code_version: str | None = None
    upstreams: tuple[str, ...] = ()
    pools: tuple[tuple[str, int], ...] = ()
    inner: bool = False
    external: bool = False


@dataclass(frozen=True)
class StoredEvent:
    """One event as it was recorded. ``timestamp``: nanoseconds since 1970 UTC.

    ``metadata``: pairs of name and tagged JSON text, ``MetadataValue.from_json(json.loads(text))`` reads it;
    of failures, retries and slots, which nobody's code has metadata for, the plain text.
    """

    id: str
    event_type: str
    asset_key: str | None
    run_id: str
    partition_key: PartitionKey | None
    timestamp: int
    metadata: list[tuple[str, str]]
    data_version: str | None
    code_version: str | None
    input_data_versions: list[tuple[str, str]]
    tags: list[str]


@dataclass(frozen=True)
class StoredLog:
    """The traceback of one try that failed; the other streams are kept by Airflow."""

    id: str
    run_id: str
    step_key: str
    timestamp: int
    stdout: str | None
    stderr: str | None
    logs: str | None
    traceback: str | None


@dataclass(frozen=True)
class AssetRecord:
    """What is known of one node now.

    ``last_*`` is null as long as nothing was materialized or observed, and after a whole deletion; then its
    event is ``last_event_id``.
    """

    asset_key: str
    tags: list[str]
    kinds: list[str]
    group: str | None
    code_version: str | None
    last_event_id: str | None
    last_run_id: str | None
    last_timestamp: int | None
    last_data_version: str | None
    last_materialization_code_version: str | None
    last_input_data_versions: list[tuple[str, str]]
    pool: list[tuple[str, int]]


@dataclass(frozen=True)
class RunRecord:
    """A run. Times in nanoseconds since 1970 UTC; ``status`` is a name of :class:`RunStatus`."""

    run_id: str
    job_name: str | None
    status: str
    start_time: int
    end_time: int | None
    tags: list[tuple[str, str]]
    node_names: list[str]
    priority: int
    partition_key: PartitionKey | None
    block_reason: str | None
    launched_by: LaunchedBy
    action: str | None
    config: dict[str, Any] | None


@dataclass(frozen=True)
class StaleCause:
    """Why an asset is stale: ``category`` is ``Code``, or ``Data`` because of the upstream ``dependency``."""

    asset_key: str
    category: str
    reason: str
    dependency: str | None


@dataclass(frozen=True)
class PartitionState:
    """One partition that was materialized, or failed since: ``failed`` tells which came last."""

    partition_key: PartitionKey
    failed: bool
    materialized: bool
    data_version: str | None
    last_run_id: str | None


@dataclass(frozen=True)
class BackfillRecord:
    """A backfill as its coordinator last saved it.

    :param definition: what is needed to run it again: JSON.
    :param keys: status by canonical partition key: ``requested``, ``completed``, ``failed``, ``canceled``.
    """

    backfill_id: str
    status: str
    definition: Mapping[str, Any]
    keys: Mapping[str, str]
    run_ids: tuple[str, ...] = ()
    cancel_requested: bool = False


@dataclass(frozen=True)
class PoolLimit:
    """How many slots a pool has; -1 is no limit."""

    pool_key: str
    slot_limit: int
    lease_duration_secs: int


@dataclass(frozen=True)
class PoolInfo:
    """A pool's limit, and how many slots are taken now."""

    pool_key: str
    slot_limit: int
    lease_duration_secs: int
    claimed_count: int
    pending_count: int


@dataclass(frozen=True)
class SlotHolder:
    """Who has slots of a pool. Times in nanoseconds since 1970 UTC."""

    run_id: str
    step_key: str
    slots_consumed: int
    claimed_at: int
    lease_expires_at: int


@dataclass(frozen=True)
class AssetClaim:
    """The reader's or writer's side of an asset's lock: a materialize reads, an exclusive action writes.

    :param partitions: canonical keys; null is the whole asset.
    """

    asset: str
    exclusive: bool
    partitions: tuple[str, ...] | None = None


@dataclass(frozen=True)
class ClaimStatus:
    """Whether a claim was granted; else why not, in words, and whether it never can be."""

    is_claimed: bool
    reason: str | None = None
    impossible: bool = False

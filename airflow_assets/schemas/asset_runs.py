"""Runs of assets that are written in Python: what they record, and what can be asked about them.

Times travel as ages where a client says them (``ago``, seconds before the request): what is stored are times
of the database's clock.
"""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any

from pydantic import Field

from airflow_assets.schemas.assets import AssetId
from airflow_assets.schemas.base import Schema, Utc
from airflow_assets.schemas.recorded_values import (
    MAX_AGO,
    MAX_EVENTS,
    Document,
    Label,
    Name,
    Number,
    PartitionKeyText,
    RunId,
    Storable,
    Tagged,
    Text,
)


class AssetRunStatus(str, Enum):
    """How far a run has come."""

    QUEUED = "Queued"
    NOT_STARTED = "NotStarted"
    STARTED = "Started"
    SUCCESS = "Success"
    FAILURE = "Failure"
    CANCELED = "Canceled"


ENDED = frozenset({AssetRunStatus.SUCCESS, AssetRunStatus.FAILURE, AssetRunStatus.CANCELED})


class StepEventType(str, Enum):
    """What a step says about a node."""

    STEP_START = "StepStart"
    OBSERVATION = "Observation"
    MATERIALIZATION = "Materialization"
    ACTION_COMPLETED = "ActionCompleted"
    DELETION = "Deletion"
    STEP_SUCCESS = "StepSuccess"
    STEP_FAILURE = "StepFailure"
    STEP_RETRY = "StepRetry"
    SLOT_CLAIMED = "StepSlotClaimed"
    SLOT_WAITING = "StepSlotWaiting"
    SLOT_RELEASED = "StepSlotReleased"


class AssetRunInput(Schema):
    """A run to begin, or to go on with.

    :param partition_key: JSON of the keys, ``{"single": [...]}``, ``{"multi": {...}}`` or ``{"set": [...]}``.
    :param launched_by: ``kind`` and what belongs to it.
    :param config: the launch document.
    """

    status: AssetRunStatus = AssetRunStatus.STARTED
    nodes: list[Text] = Field(default_factory=list)
    action: Label | None = None
    job_name: Label | None = None
    partition_key: PartitionKeyText | None = None
    tags: list[tuple[Text, Text]] = Field(default_factory=list)
    priority: Number = 0
    launched_by: Document = Field(default_factory=dict)
    config: Document | None = None


class AssetRunOutcome(Schema):
    """How a run ended, and how many of its steps did well."""

    status: AssetRunStatus
    completed: Number = 0
    total: Number = 0
    message: Text | None = None


class StepEventInput(Schema):
    """One event of a step; (run, step, attempt, map_index, ordinal) names it, so that a repeat is known.

    :param partition_key: JSON of the keys it is about; null for a node without, or all of it.
    :param metadata: pairs of name and tagged value, ``["rows", {"Int": {"value": 3}}]``.
    :param input_versions: the data version of each upstream at the time.
    :param keeps_inputs: a materialization by an action: what was recorded of the inputs and the code stays.
    :param ago: seconds between the event and the request.
    """

    step: Name
    attempt: Number = 1
    map_index: Number = -1
    ordinal: Number
    event_type: StepEventType
    node: AssetId
    partition_key: PartitionKeyText | None = None
    metadata: list[tuple[Text, Tagged]] = Field(default_factory=list)
    data_version: Text | None = None
    code_version: Text | None = None
    input_versions: Annotated[dict[str, str], Storable] = Field(default_factory=dict)
    tags: list[Text] = Field(default_factory=list)
    keeps_inputs: bool = False
    ago: Annotated[float, Field(ge=0, le=MAX_AGO)] = 0.0


class AssetRunRecord(Schema):
    """What is to be stored of a run in one transaction: its begin, events, its end; each may be left out."""

    run_id: RunId
    run: AssetRunInput | None = None
    events: Annotated[list[StepEventInput], Field(max_length=MAX_EVENTS)] = Field(default_factory=list)
    outcome: AssetRunOutcome | None = None


class AssetRunRecorded(Schema):
    """How many events were new, and what could not be taken into the catalogue's assets."""

    stored: int
    duplicates: int
    warnings: list[str] = Field(default_factory=list)


class AssetRun(Schema):
    """A run as it is stored."""

    run_id: str
    status: AssetRunStatus
    nodes: list[str]
    action: str | None
    job_name: str | None
    partition_key: str | None
    tags: list[tuple[str, str]]
    priority: int
    launched_by: dict[str, Any]
    config: dict[str, Any] | None
    started: Utc
    ended: Utc | None
    completed: int
    total: int
    message: str | None
    cancel_requested: bool


class AssetRuns(Schema):
    """Runs, newest first."""

    items: list[AssetRun]


class AssetRunQuery(Schema):
    """One run, or the last ones."""

    run_id: RunId | None = None
    status: AssetRunStatus | None = None
    limit: Annotated[int, Field(ge=1, le=10_000)] = 100


class CancelRequest(Schema):
    """Ask a run or a backfill to stop: who runs it looks between two steps."""

    run_id: RunId | None = None
    backfill_id: RunId | None = None


class CancelResult(Schema):
    """Whether there is such a run or backfill."""

    found: bool


class StepEvent(Schema):
    """An event as it is stored; ``id`` is the name of it."""

    id: str
    run_id: str
    step: str
    attempt: int
    event_type: StepEventType
    node: str
    partition_key: str | None
    created: Utc
    metadata: list[tuple[str, dict[str, Any]]]
    data_version: str | None
    code_version: str | None
    input_versions: dict[str, str]
    tags: list[str]


class StepEvents(Schema):
    """Events: of a run oldest first, of a node newest first."""

    items: list[StepEvent]


class StepEventQuery(Schema):
    """The events of a run, or the last ones of a node.

    :param partition_key: the last materialization of this partition only.
    """

    run_id: RunId | None = None
    node: AssetId | None = None
    event_types: list[StepEventType] | None = None
    partition_key: PartitionKeyText | None = None
    limit: Annotated[int, Field(ge=1, le=100_000)] = 100


class AssetBackfill(Schema):
    """A backfill as its coordinator saves it.

    :param keys: status by partition.
    :param cancel_requested: read only: :class:`CancelRequest` sets it.
    """

    backfill_id: RunId
    status: Annotated[str, Field(max_length=50), Storable]
    definition: Document
    keys: Annotated[dict[str, str], Storable]
    run_ids: list[Text] = Field(default_factory=list)
    cancel_requested: bool = False


class AssetBackfills(Schema):
    """Backfills, newest first."""

    items: list[AssetBackfill]


class AssetBackfillQuery(Schema):
    """One backfill, or the last ones."""

    backfill_id: RunId | None = None
    limit: Annotated[int, Field(ge=1, le=10_000)] = 100

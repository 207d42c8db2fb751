"""What a step says about itself while it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from airflow_assets.authoring.metadata_values import MetadataValue
from airflow_assets.authoring.partitions.keys import PartitionKey


class EventType(str, Enum):
    """The kinds of events, named as readers of the storage see them."""

    StepStart = "StepStart"
    Observation = "Observation"
    Materialization = "Materialization"
    ActionCompleted = "ActionCompleted"
    Deletion = "Deletion"
    StepSuccess = "StepSuccess"
    StepFailure = "StepFailure"
    StepRetry = "StepRetry"
    StepSlotClaimed = "StepSlotClaimed"
    StepSlotWaiting = "StepSlotWaiting"
    StepSlotReleased = "StepSlotReleased"


@dataclass(frozen=True)
class StepEvent:
    """One event of a node.

    :param partition_key: one partition; null for a step without, or about all of it.
    :param input_data_versions: the version of each upstream at the time, lineage-only ones too.
    """

    event_type: EventType
    asset_key: str
    partition_key: PartitionKey | None = None
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict)
    data_version: str | None = None
    code_version: str | None = None
    input_data_versions: Mapping[str, str] = field(default_factory=dict)
    tags: tuple[str, ...] = ()


Emit = Callable[[StepEvent], None]

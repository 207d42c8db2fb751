"""From what runs say to what travels, and back."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from airflow_assets.authoring.metadata_values import MetadataValue
from airflow_assets.authoring.partitions.keys import PartitionKey
from airflow_assets.authoring.storage import records as told
from airflow_assets.schemas import asset_runs as runs
from airflow_assets.schemas import nodes, slots

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

_ENGINES = {
    runs.StepEventType.STEP_FAILURE,
    runs.StepEventType.STEP_RETRY,
    runs.StepEventType.SLOT_CLAIMED,
    runs.StepEventType.SLOT_WAITING,
    runs.StepEventType.SLOT_RELEASED,
}
"""Events whose metadata only the engine writes: as in the reference, readers see it without tags."""


def run_input(run: told.NewRun) -> runs.AssetRunInput:
    """Return what is sent to begin a run."""
    by = run.launched_by
    return runs.AssetRunInput(
        status=runs.AssetRunStatus(run.status.value),
        nodes=list(run.nodes),
        action=run.action,
        job_name=run.job_name,
        partition_key=key_text(run.partition_key),
        tags=list(run.tags),
        priority=run.priority,
        launched_by={name: value for name, value in vars(by).items() if value is not None},
        config=None if run.config is None else dict(run.config),
    )


def event_input(one: told.Recorded, now: float) -> runs.StepEventInput:
    """Return what is sent of an event; ``now`` is ``time.monotonic()``."""
    event = one.event
    return runs.StepEventInput(
        step=one.step,
        attempt=one.attempt,
        map_index=one.map_index,
        ordinal=one.ordinal,
        event_type=runs.StepEventType(event.event_type.value),
        node=event.asset_key,
        partition_key=key_text(event.partition_key),
        metadata=[(name, value.to_json()) for name, value in event.metadata.items()],
        data_version=event.data_version,
        code_version=event.code_version,
        input_versions=dict(event.input_data_versions),
        tags=list(event.tags),
        keeps_inputs=one.keeps_inputs,
        ago=max(0.0, now - one.at),
    )


def declaration(one: told.AssetDeclaration) -> nodes.NodeDeclaration:
    """Return what is sent of a declaration."""
    return nodes.NodeDeclaration(
        name=one.name,
        tags=list(one.tags),
        kinds=list(one.kinds),
        group=one.group,
        code_version=one.code_version,
        upstreams=list(one.upstreams),
        pools=list(one.pools),
        inner=one.inner,
        external=one.external,
    )


def stored_event(event: runs.StepEvent) -> told.StoredEvent:
    """Return an event as readers see it."""
    written = _plain if event.event_type in _ENGINES else _compact
    return told.StoredEvent(
        id=event.id,
        event_type=event.event_type.value,
        asset_key=event.node,
        run_id=event.run_id,
        partition_key=key_of(event.partition_key),
        timestamp=nanoseconds(event.created),
        metadata=[(name, written(value)) for name, value in event.metadata],
        data_version=event.data_version,
        code_version=event.code_version,
        input_data_versions=list(event.input_versions.items()),
        tags=event.tags,
    )


def stored_log(event: runs.StepEvent) -> told.StoredLog | None:
    """Return the traceback of a failure; null for one without."""
    traceback = next((value for name, value in event.metadata if name == "traceback"), None)
    if traceback is None:
        return None
    text = traceback.get("Text", {}).get("value")
    at = nanoseconds(event.created)
    return told.StoredLog(event.id, event.run_id, event.step, at, None, None, None, text)


def asset_record(node: nodes.AssetNode) -> told.AssetRecord:
    """Return a node as readers see it."""
    return told.AssetRecord(
        asset_key=node.name,
        tags=node.tags,
        kinds=node.kinds,
        group=node.group,
        code_version=node.code_version,
        last_event_id=node.last_event,
        last_run_id=node.last_run_id,
        last_timestamp=None if node.last_time is None else nanoseconds(node.last_time),
        last_data_version=node.data_version,
        last_materialization_code_version=node.materialized_code_version,
        last_input_data_versions=list(node.input_versions.items()),
        pool=node.pools,
    )


def run_record(run: runs.AssetRun) -> told.RunRecord:
    """Return a run as readers see it."""
    return told.RunRecord(
        run_id=run.run_id,
        job_name=run.job_name,
        status=run.status.value,
        start_time=nanoseconds(run.started),
        end_time=None if run.ended is None else nanoseconds(run.ended),
        tags=run.tags,
        node_names=run.nodes,
        priority=run.priority,
        partition_key=key_of(run.partition_key),
        block_reason=run.message if run.status is runs.AssetRunStatus.QUEUED else None,
        launched_by=_launched_by(run.launched_by),
        action=run.action,
        config=run.config,
    )


def _launched_by(said: Mapping[str, Any]) -> told.LaunchedBy:
    """What another client has written may say more."""
    known = {name: said[name] for name in ("kind", "name", "backfill_id", "user") if name in said}
    return told.LaunchedBy(**{"kind": "manual", **known})


def partition_state(one: nodes.NodePartition) -> told.PartitionState:
    """Return a partition as readers see it."""
    key = PartitionKey.from_json(one.partition_key)
    return told.PartitionState(key, one.failed, one.materialized, one.data_version, one.last_run_id)


def backfill(one: runs.AssetBackfill) -> told.BackfillRecord:
    """Return a backfill as readers see it."""
    return told.BackfillRecord(
        one.backfill_id, one.status, one.definition, one.keys, tuple(one.run_ids), one.cancel_requested
    )


def pool_limit(pool: slots.Pool) -> told.PoolLimit:
    """Return a pool's limit."""
    return told.PoolLimit(pool.pool, pool.slot_limit, round(pool.lease_seconds))


def pool_info(pool: slots.Pool) -> told.PoolInfo:
    """Return how full a pool is; who waits asks again, so nobody is counted as pending."""
    taken = sum(holder.slots for holder in pool.holders)
    return told.PoolInfo(pool.pool, pool.slot_limit, round(pool.lease_seconds), taken, 0)


def slot_holder(one: slots.SlotHolder) -> told.SlotHolder:
    """Return who holds slots."""
    return told.SlotHolder(
        one.run_id, one.step, one.slots, nanoseconds(one.claimed), nanoseconds(one.expires)
    )


def key_text(key: PartitionKey | None) -> str | None:
    """Return the JSON of a key."""
    return None if key is None else key.to_json()


def key_of(text: str | None) -> PartitionKey | None:
    """Return the key of a JSON."""
    return None if text is None else PartitionKey.from_json(text)


def nanoseconds(moment: datetime) -> int:
    """Return a time as nanoseconds since 1970 UTC, exact to the microsecond."""
    return int(moment.timestamp()) * 1_000_000_000 + moment.microsecond * 1_000


def metadata_texts(metadata: Mapping[str, MetadataValue]) -> list[tuple[str, str]]:
    """Return metadata as stored events have it."""
    return [(name, _compact(value.to_json())) for name, value in metadata.items()]


def now() -> float:
    """Return the clock that :class:`~airflow_assets.authoring.storage.records.Recorded` is stamped by."""
    return time.monotonic()


def _plain(value: Any) -> str:
    return str(MetadataValue.from_json(value).raw_value())


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

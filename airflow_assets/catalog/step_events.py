"""Reading what steps said."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from airflow_assets.catalog import tables
from airflow_assets.catalog.filters import seen_by_key
from airflow_assets.catalog.node_partitions import partition_hash, single_keys
from airflow_assets.exceptions import InvalidQuery
from airflow_assets.schemas.asset_runs import StepEvent, StepEventQuery, StepEvents, StepEventType
from airflow_assets.schemas.rules import identity

if TYPE_CHECKING:
    from sqlalchemy import Connection, Select

    from airflow_assets.schemas.actors import Caller


def list_events(conn: Connection, caller: Caller, query: StepEventQuery) -> StepEvents:
    """Return the events of a run, oldest first, or the last ones of a node, newest first.

    Raises:
        InvalidQuery: neither a run nor a node is named, or a partition without its node.
    """
    event = tables.step_event.c
    seen = seen_by_key(event.node_key, caller)
    statement: Select[Any] = select(tables.step_event).where(seen).limit(query.limit)
    if query.event_types is not None:
        statement = statement.where(event.event_type.in_([kind.value for kind in query.event_types]))
    if query.run_id is not None and query.partition_key is None:
        statement = statement.where(event.run_key == identity(caller.tenant, query.run_id)).order_by(event.pk)
        if query.node is not None:
            statement = statement.where(event.node_key == identity(caller.tenant, query.node))
    elif query.node is not None:
        statement = _of_node(statement, identity(caller.tenant, query.node), query)
    else:
        raise InvalidQuery(
            "Events are asked for by a run or by a node.", hint="Give runId, or node.", field="runId"
        )
    return StepEvents(items=[_event(row) for row in conn.execute(statement)])


def _of_node(statement: Select[Any], key: bytes, query: StepEventQuery) -> Select[Any]:
    event, partition = tables.step_event.c, tables.node_partition.c
    if query.partition_key is None:
        if query.event_types is None:
            # So that the index on node, type and number serves this too.
            statement = statement.where(event.event_type.in_([kind.value for kind in StepEventType]))
        return statement.where(event.node_key == key).order_by(event.pk.desc())
    hashes = [partition_hash(text) for text in single_keys(query.partition_key)]
    last = select(partition.last_event).where(partition.node_key == key, partition.partition_hash.in_(hashes))
    return statement.where(event.event_key.in_(last))


def _event(row: Any) -> StepEvent:
    details = json.loads(row.details) if row.details else {}
    return StepEvent(
        id=bytes(row.event_key).hex(),
        run_id=row.run_id,
        step=row.step,
        attempt=row.attempt,
        event_type=row.event_type,
        node=row.node,
        partition_key=row.partition_key,
        created=row.created,
        metadata=details.get("metadata", []),
        data_version=details.get("data_version"),
        code_version=details.get("code_version"),
        input_versions=details.get("input_versions", {}),
        tags=details.get("tags", []),
    )

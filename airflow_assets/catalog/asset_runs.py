"""Runs of assets written in Python: one transaction takes their begin, events and end.

What events mean for assets, nodes and partitions is decided in
:mod:`~airflow_assets.catalog.materializations`.
"""

from __future__ import annotations

import hashlib
import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, select, update

from airflow_assets.catalog import asset_backfills, tables
from airflow_assets.catalog.engine import db_now
from airflow_assets.catalog.materializations import Effects
from airflow_assets.catalog.node_partitions import NewEvent
from airflow_assets.catalog.write_set import chunks, insert_rows, replace_rows
from airflow_assets.exceptions import InvalidRequest, NotFound
from airflow_assets.schemas.asset_runs import (
    ENDED,
    AssetRun,
    AssetRunInput,
    AssetRunOutcome,
    AssetRunQuery,
    AssetRunRecord,
    AssetRunRecorded,
    AssetRuns,
    CancelRequest,
    CancelResult,
    StepEventInput,
)
from airflow_assets.schemas.rules import identity, json_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from airflow_assets.schemas.actors import Caller


def record(conn: Connection, caller: Caller, body: AssetRunRecord) -> tuple[AssetRunRecorded, bool]:
    """Store what a run says; also return whether the catalogue's log got events.

    Events that are there already change nothing, whatever else they say.

    Raises:
        AssetLocked: somebody else holds the lock of an asset that is materialized; nothing is stored.
        NotFound: the end of a run that was never begun.
    """
    run_key = identity(caller.tenant, body.run_id)
    events = {event_key(run_key, event): event for event in body.events}
    known = _known(conn, list(events))
    fresh = [
        NewEvent(key, identity(caller.tenant, event.node), event)
        for key, event in events.items()
        if key not in known
    ]
    effects = Effects(conn, caller, body.run_id, fresh)
    now = effects.now or db_now(conn)
    if body.run is not None:
        _begin(conn, caller.tenant, body.run_id, body.run, now)
    if fresh:
        effects.write_nodes(now)
        insert_rows(conn, tables.step_event, [_columns(body.run_id, run_key, one, now) for one in fresh])
    if body.outcome is not None:
        _end(conn, body.run_id, run_key, body.outcome, now)
    logged = effects.write_assets()
    done = AssetRunRecorded(
        stored=len(fresh), duplicates=len(body.events) - len(fresh), warnings=effects.warnings
    )
    return done, logged


def event_key(run_key: bytes, event: StepEventInput) -> bytes:
    """Return the 16 bytes that name an event of a run."""
    place = f"{event.step}\0{event.attempt}\0{event.map_index}\0{event.ordinal}"
    return hashlib.blake2b(run_key + place.encode(), digest_size=16).digest()


def list_runs(conn: Connection, caller: Caller, query: AssetRunQuery) -> AssetRuns:
    """Return one run, or the last ones, newest first."""
    run = tables.asset_run.c
    statement = select(tables.asset_run).order_by(run.started.desc(), run.run_key).limit(query.limit)
    if query.run_id is not None:
        statement = statement.where(run.run_key == identity(caller.tenant, query.run_id))
    else:
        statement = statement.where(run.tenant == caller.tenant)
    if query.status is not None:
        statement = statement.where(run.status == query.status.value)
    return AssetRuns(items=[_run(row) for row in conn.execute(statement)])


def cancel(conn: Connection, caller: Caller, body: CancelRequest) -> CancelResult:
    """Note that a run, or a backfill, shall stop; tell whether there is one.

    Raises:
        InvalidRequest: neither or both are named.
    """
    if (body.run_id is None) == (body.backfill_id is None):
        raise InvalidRequest(
            "Either a run or a backfill is asked to stop.", hint="Give one id.", field="runId"
        )
    if body.backfill_id is not None:
        return CancelResult(found=asset_backfills.cancel(conn, caller, body.backfill_id))
    of_run = _OF_RUN.values(cancel_requested=True)
    return CancelResult(
        found=bool(conn.execute(of_run, {"key": identity(caller.tenant, body.run_id or "")}).rowcount)
    )


def _known(conn: Connection, keys: Sequence[bytes]) -> set[bytes]:
    found: set[bytes] = set()
    for some in chunks(keys):
        found.update(map(bytes, conn.execute(_KNOWN, {"keys": some}).scalars()))
    return found


def _columns(run_id: str, run_key: bytes, one: NewEvent, now: datetime) -> dict[str, Any]:
    event = one.event
    details = {
        "metadata": event.metadata,
        "data_version": event.data_version,
        "code_version": event.code_version,
        "input_versions": event.input_versions,
        "tags": event.tags,
    }
    said = {name: value for name, value in details.items() if value}
    return {
        "event_key": one.key,
        "run_key": run_key,
        "run_id": run_id,
        "node_key": one.node_key,
        "node": event.node,
        "step": event.step,
        "attempt": event.attempt,
        "event_type": event.event_type.value,
        "partition_key": event.partition_key,
        "created": now - timedelta(seconds=event.ago),
        "details": json_text(said) if said else None,
    }


def _begin(conn: Connection, tenant: str, run_id: str, run: AssetRunInput, now: datetime) -> None:
    """Begin a run; of one that is there the events stay, and a request to stop it is over."""
    row = {
        "run_key": identity(tenant, run_id),
        "tenant": tenant,
        "run_id": run_id,
        "status": run.status.value,
        "nodes": json_text(run.nodes),
        "action": run.action,
        "job_name": run.job_name,
        "partition_key": run.partition_key,
        "tags": json_text(run.tags),
        "priority": run.priority,
        "launched_by": json_text(run.launched_by),
        "config": None if run.config is None else json_text(run.config),
        "started": now,
        "ended": None,
        "completed": 0,
        "total": 0,
        "message": None,
        "cancel_requested": False,
    }
    replace_rows(conn, tables.asset_run, [row])


def _end(conn: Connection, run_id: str, run_key: bytes, outcome: AssetRunOutcome, now: datetime) -> None:
    values = {
        "status": outcome.status.value,
        "ended": now if outcome.status in ENDED else None,
        "completed": outcome.completed,
        "total": outcome.total,
        "message": outcome.message,
    }
    if not conn.execute(_OF_RUN.values(values), {"key": run_key}).rowcount:
        raise NotFound(f"There is no run {run_id!r} of assets.", hint="Begin it first.")


def _run(row: Any) -> AssetRun:
    return AssetRun(
        run_id=row.run_id,
        status=row.status,
        nodes=json.loads(row.nodes),
        action=row.action,
        job_name=row.job_name,
        partition_key=row.partition_key,
        tags=json.loads(row.tags),
        priority=row.priority,
        launched_by=json.loads(row.launched_by),
        config=None if row.config is None else json.loads(row.config),
        started=row.started,
        ended=row.ended,
        completed=row.completed,
        total=row.total,
        message=row.message,
        cancel_requested=row.cancel_requested,
    )


_KNOWN = select(tables.step_event.c.event_key).where(
    tables.step_event.c.event_key.in_(bindparam("keys", expanding=True))
)
_OF_RUN = update(tables.asset_run).where(tables.asset_run.c.run_key == bindparam("key"))

"""Backfills of assets written in Python, as their coordinators save them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select, update

from airflow_assets.catalog import tables
from airflow_assets.catalog.engine import utc_now
from airflow_assets.schemas.asset_runs import AssetBackfill, AssetBackfillQuery, AssetBackfills
from airflow_assets.schemas.rules import identity, json_text

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from airflow_assets.schemas.actors import Caller


def save(conn: Connection, caller: Caller, body: AssetBackfill) -> AssetBackfill:
    """Store a backfill as it is now; that it was asked to stop stays."""
    key = identity(caller.tenant, body.backfill_id)
    values = {
        "status": body.status,
        "definition": json_text(body.definition),
        "keys": json_text(body.keys),
        "run_ids": json_text(body.run_ids),
    }
    table = tables.asset_backfill
    changed = update(table).where(table.c.backfill_key == key).values(values)
    if not conn.execute(changed).rowcount:
        names = {"tenant": caller.tenant, "backfill_id": body.backfill_id, "cancel_requested": False}
        conn.execute(insert(table).values(backfill_key=key, created=utc_now(), **names, **values))
    row = conn.execute(select(table).where(table.c.backfill_key == key)).one()
    return _backfill(row)


def list_backfills(conn: Connection, caller: Caller, query: AssetBackfillQuery) -> AssetBackfills:
    """Return one backfill, or the last ones, newest first."""
    row = tables.asset_backfill.c
    statement = select(tables.asset_backfill).order_by(row.created.desc(), row.backfill_key)
    if query.backfill_id is not None:
        statement = statement.where(row.backfill_key == identity(caller.tenant, query.backfill_id))
    else:
        statement = statement.where(row.tenant == caller.tenant)
    return AssetBackfills(items=[_backfill(found) for found in conn.execute(statement.limit(query.limit))])


def cancel(conn: Connection, caller: Caller, backfill_id: str) -> bool:
    """Note that a backfill shall stop; false where there is none."""
    row = tables.asset_backfill.c
    changed = update(tables.asset_backfill).where(row.backfill_key == identity(caller.tenant, backfill_id))
    return bool(conn.execute(changed.values(cancel_requested=True)).rowcount)


def _backfill(row: Any) -> AssetBackfill:
    return AssetBackfill(
        backfill_id=row.backfill_id,
        status=row.status,
        definition=json.loads(row.definition),
        keys=json.loads(row.keys),
        run_ids=json.loads(row.run_ids),
        cancel_requested=row.cancel_requested,
    )

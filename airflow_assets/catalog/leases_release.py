"""Giving locks up, and taking them by force."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import insert

from airflow_assets.catalog import leases_postgres, leases_queue, leases_rows, tables
from airflow_assets.catalog.engine import db_now
from airflow_assets.catalog.leases_assets import Lockable, in_turn, lock_assets, tokens_of
from airflow_assets.catalog.leases_owner import keys_of
from airflow_assets.schemas.leases import ForcedUnlock, ForceUnlockResult, ReleaseResult
from airflow_assets.schemas.rules import json_text

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

    from airflow_assets.schemas.actors import Caller
    from airflow_assets.schemas.leases import ForceUnlock, ReleaseLeases


def release(engine: Engine, caller: Caller, body: ReleaseLeases) -> ReleaseResult:
    """Give up the caller's own locks; what is foreign, free or over stays as it is, as does an unknown asset.

    A caller who carries a fencing number that is out of date gives up nothing.
    """
    mine = keys_of(caller.source)
    if leases_postgres.release(engine, caller, body):
        return ReleaseResult.model_construct(released=list(body.asset_ids))

    def work(conn: Connection, former: bool) -> ReleaseResult:
        assets, now = lock_assets(conn, caller, body.asset_ids, former=former, lenient=True)
        leases = leases_rows.read_leases(conn, {one.key for one in assets.values()})
        tokens = tokens_of(caller, assets)
        released = {}
        for asset_id, one in assets.items():
            row = leases.get(one.key)
            if row is None or not leases_rows.is_held(row, now) or bytes(row.owner_key) not in mine:
                continue
            if tokens.get(one.key, row.fencing) >= row.fencing:
                released[asset_id] = one.key
        leases_rows.free(conn, sorted(set(released.values())))
        if body.wait_id is not None:
            leases_queue.leave(conn, str(body.wait_id))
        return ReleaseResult(released=list(released))

    return in_turn(engine, work)


def force_unlock(engine: Engine, caller: Caller, body: ForceUnlock) -> ForceUnlockResult:
    """Take a lock from its holder, whose later writes under his fencing number are refused, and note why.

    Raises:
        AssetNotFound: there is no such asset, deleted or not, or it is hidden.
    """

    def work(conn: Connection, former: bool) -> ForceUnlockResult:
        assets, now = lock_assets(conn, caller, [body.asset_id], former=former)
        one = assets[body.asset_id]
        row = leases_rows.read_leases(conn, [one.key]).get(one.key)
        if not leases_rows.is_held(row, now):
            return ForceUnlockResult(unlocked=None)
        leases_rows.free(conn, [one.key], fence=True)
        return ForceUnlockResult(unlocked=_noted(conn, caller, body, one, row))

    return in_turn(engine, work)


def _noted(conn: Connection, caller: Caller, body: ForceUnlock, one: Lockable, row: Any) -> ForcedUnlock:
    lease = leases_rows.to_lease(row, one.id)
    created = db_now(conn)
    stored = {
        "tenant": caller.tenant,
        "asset_pk": one.pk,
        "lease": json_text(lease.to_json()),
        "reason": body.reason,
        "source": json_text(caller.source.to_json()),
        "created": created,
    }
    pk: Any = conn.execute(insert(tables.forced_unlock).values(stored)).inserted_primary_key
    return ForcedUnlock(
        id=pk[0], asset_id=one.id, lease=lease, reason=body.reason, source=caller.source, created=created
    )

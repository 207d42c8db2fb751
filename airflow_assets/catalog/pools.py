"""Limits of pools, and who is in them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from airflow_assets.catalog import tables
from airflow_assets.catalog.engine import utc_now
from airflow_assets.catalog.slots import NODE, POOL, pool_key
from airflow_assets.catalog.write_set import replace_rows
from airflow_assets.schemas.slots import Pool, PoolLimit, PoolQuery, Pools, SlotHolder

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from airflow_assets.schemas.actors import Caller

_pool, _claim = tables.slot_pool.c, tables.slot_claim.c


def set_pool(conn: Connection, caller: Caller, body: PoolLimit) -> Pool:
    """Set a pool's limit; who is in it stays, even where they are more now."""
    row = {
        "pool_key": pool_key(caller.tenant, POOL, body.pool),
        "tenant": caller.tenant,
        "name": body.pool,
        "slot_limit": body.slot_limit,
        "lease_seconds": math.ceil(body.lease_seconds),
        "kind": POOL,
    }
    replace_rows(conn, tables.slot_pool, [row])
    (found,) = list_pools(conn, caller, PoolQuery(pool=body.pool)).items
    return found


def list_pools(conn: Connection, caller: Caller, query: PoolQuery) -> Pools:
    """Return one pool, or all, by name."""
    statement = select(tables.slot_pool).where(_pool.tenant == caller.tenant, _pool.kind != NODE)
    if query.pool is not None:
        statement = statement.where(_pool.pool_key == pool_key(caller.tenant, POOL, query.pool))
    rows = conn.execute(statement).all()
    held: dict[bytes, list[Any]] = {bytes(row.pool_key): [] for row in rows}
    claims = select(tables.slot_claim).where(_claim.pool_key.in_(list(held)), _claim.expires > utc_now())
    for claim in conn.execute(claims.order_by(_claim.claimed, _claim.holder_key)):
        held[bytes(claim.pool_key)].append(claim)
    pools = [_seen(row, held[bytes(row.pool_key)]) for row in rows]
    return Pools(items=sorted(pools, key=lambda pool: pool.pool))


def _seen(row: Any, claims: list[Any]) -> Pool:
    return Pool(
        pool=row.name,
        slot_limit=row.slot_limit,
        lease_seconds=row.lease_seconds,
        configured=row.kind == POOL,
        holders=[
            SlotHolder(
                run_id=claim.run_id,
                step=claim.step,
                slots=claim.slots,
                claimed=claim.claimed,
                expires=claim.expires,
            )
            for claim in claims
        ],
    )

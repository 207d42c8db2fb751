"""Slots of pools, and locks of nodes that readers share: claimed all or none, held until they run out.

The rows of what is claimed are locked in the order of their keys, so claims of the same things come one after
the other. A claim that has run out counts for nothing.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, select, update

from airflow_assets.catalog import tables
from airflow_assets.catalog.engine import db_now
from airflow_assets.catalog.write_set import insert_rows, replace_rows
from airflow_assets.schemas.rules import identity, json_text
from airflow_assets.schemas.slots import SlotGrant, SlotsReleased

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from airflow_assets.schemas.actors import Caller
    from airflow_assets.schemas.slots import SlotClaim, SlotRelease

POOL, FREE, NODE = "P", "F", "N"
UNLIMITED = -1
_claim, _pool = tables.slot_claim.c, tables.slot_pool.c


def pool_key(tenant: str, kind: str, name: str) -> bytes:
    """Return the key of a pool's row, or of a node's lock."""
    return identity(tenant, f"{'node' if kind == NODE else 'pool'}\0{name}")


@dataclass(frozen=True, slots=True)
class _Wanted:
    """One thing that a step wants."""

    key: bytes
    kind: str
    name: str
    slots: int = 0
    exclusive: bool = False
    partitions: frozenset[str] | None = None


def claim(conn: Connection, caller: Caller, body: SlotClaim) -> SlotGrant:
    """Take all that a step wants, or nothing; what it holds already is extended."""
    holder = holder_key(caller.tenant, body.run_id, body.step)
    until = timedelta(seconds=body.lease_seconds)
    if body.only_renew:
        return _renew(conn, holder, until, identity(caller.tenant, body.run_id))
    wanted = _wanted(caller.tenant, body)
    pools = _locked(conn, caller.tenant, wanted)
    now = db_now(conn)
    others = _others(conn, [one.key for one in wanted], holder, now)
    for one in wanted:
        refused = _refusal(one, pools[one.key], [held for held in others if bytes(held.pool_key) == one.key])
        if refused is not None:
            return refused
    rows = [
        {
            "pool_key": one.key,
            "holder_key": holder,
            "run_key": identity(caller.tenant, body.run_id),
            "run_id": body.run_id,
            "step": body.step,
            "slots": one.slots,
            "exclusive": one.exclusive,
            "partitions": None if one.partitions is None else json_text(sorted(one.partitions)),
            "claimed": now,
            "expires": now + until,
        }
        for one in wanted
    ]
    if rows:
        replace_rows(conn, tables.slot_claim, rows)
    return SlotGrant(granted=True)


def release(conn: Connection, caller: Caller, body: SlotRelease) -> SlotsReleased:
    """Give up what a step, or all of a run, holds."""
    gone = delete(tables.slot_claim).where(_claim.run_key == identity(caller.tenant, body.run_id))
    if body.step is not None:
        gone = gone.where(_claim.holder_key == holder_key(caller.tenant, body.run_id, body.step))
    return SlotsReleased(released=conn.execute(gone).rowcount)


def holder_key(tenant: str, run_id: str, step: str) -> bytes:
    """Return the key of a step of a run."""
    return hashlib.sha256(json_text([tenant, run_id, step]).encode()).digest()


def _renew(conn: Connection, holder: bytes, until: timedelta, run_key: bytes) -> SlotGrant:
    now = db_now(conn)
    mine = (_claim.run_key == run_key) & (_claim.holder_key == holder) & (_claim.expires > now)
    kept = conn.execute(update(tables.slot_claim).where(mine).values(expires=now + until)).rowcount
    return SlotGrant(granted=bool(kept), reason=None if kept else "the claim has run out")


def _wanted(tenant: str, body: SlotClaim) -> list[_Wanted]:
    """What a step wants, in the order of keys; a pool named twice counts once, with the larger number."""
    found: dict[bytes, _Wanted] = {}
    for pool in body.pools:
        key = pool_key(tenant, POOL, pool.pool)
        slots = max(pool.slots, found[key].slots if key in found else 0)
        found[key] = _Wanted(key, FREE, pool.pool, slots)
    for node in body.nodes:
        partitions = None if node.partitions is None else frozenset(node.partitions)
        key = pool_key(tenant, NODE, node.node)
        found[key] = _Wanted(key, NODE, node.node, 0, node.exclusive, partitions)
    return [found[key] for key in sorted(found)]


def _locked(conn: Connection, tenant: str, wanted: Sequence[_Wanted]) -> dict[bytes, Any]:
    """The rows of what is wanted, locked; made where there are none."""
    keys = [one.key for one in wanted]
    rows = select(tables.slot_pool).where(_pool.pool_key.in_(keys)).order_by(_pool.pool_key)
    there = {bytes(row.pool_key) for row in conn.execute(rows)}
    new = [
        {
            "pool_key": one.key,
            "tenant": tenant,
            "name": one.name,
            "slot_limit": UNLIMITED,
            "lease_seconds": 300,
            "kind": one.kind,
        }
        for one in wanted
        if one.key not in there
    ]
    if new:
        insert_rows(conn, tables.slot_pool, new, ignore=True)
    return {bytes(row.pool_key): row for row in conn.execute(rows.with_for_update())}


def _others(conn: Connection, keys: Sequence[bytes], holder: bytes, now: datetime) -> Sequence[Any]:
    """What others hold of it; what has run out goes."""
    of_these = _claim.pool_key.in_(keys)
    conn.execute(delete(tables.slot_claim).where(of_these, _claim.expires <= now))
    held = select(tables.slot_claim).where(of_these, _claim.holder_key != holder)
    return conn.execute(held).all()


def _refusal(one: _Wanted, pool: Any, others: Sequence[Any]) -> SlotGrant | None:
    if one.kind == NODE:
        return _refusal_by_lock(one, others)
    taken = sum(held.slots for held in others)
    if pool.slot_limit == UNLIMITED or taken + one.slots <= pool.slot_limit:
        return None
    if one.slots > pool.slot_limit:
        said = f"{one.slots} slots of pool {one.name!r} are wanted, and it has {pool.slot_limit}"
        return SlotGrant(granted=False, reason=said, impossible=True)
    return SlotGrant(granted=False, reason=f"pool {one.name!r} full ({taken}/{pool.slot_limit})")


def _refusal_by_lock(one: _Wanted, others: Iterable[Any]) -> SlotGrant | None:
    for held in others:
        if not (one.exclusive or held.exclusive):
            continue
        theirs = None if held.partitions is None else frozenset(json.loads(held.partitions))
        if one.partitions is None or theirs is None or one.partitions & theirs:
            who = f"step {held.step!r} of run {held.run_id!r}"
            return SlotGrant(granted=False, reason=f"{one.name!r} is held by {who}")
    return None

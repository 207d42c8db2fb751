"""The usual acquisition and release on PostgreSQL: one asset, one statement, one round trip.

Each statement commits by itself. It locks the row of the asset, as every writer does, and goes on to the
lease only then; what it sees of the lease is the row as it is after that wait, since it changes that row. It
does only what is plain: a free lock that nobody waits for, and a release by the holder. Where it has done
nothing, the general way of :mod:`~airflow_assets.catalog.leases` decides and finds the words.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeVar

from airflow_assets.catalog.engine import retrying, unmanaged
from airflow_assets.catalog.leases_owner import keys_of
from airflow_assets.catalog.leases_rows import FREE, held_by_other, microseconds, of_ended_runs, to_lease
from airflow_assets.catalog.prepared import Prepared, prepares
from airflow_assets.schemas.rules import identity

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection, Engine

    from airflow_assets.catalog.leases_owner import Owner
    from airflow_assets.exceptions import AssetLocked
    from airflow_assets.schemas.actors import Caller
    from airflow_assets.schemas.lease import Lease
    from airflow_assets.schemas.leases import AcquireLeases, ReleaseLeases

T = TypeVar("T")
_ANY_NUMBER = (1 << 63) - 1


def acquire(engine: Engine, caller: Caller, body: AcquireLeases, owner: Owner) -> Lease | AssetLocked | None:
    """Acquire the lock of one asset if it is free and nobody waits for it; None when that is not so plain.

    Who does not want to wait is told at once that somebody else holds it.
    """
    if not _is_plain(engine, caller, body.asset_ids) or caller.fencing_tokens:
        return None
    key = identity(caller.tenant, body.asset_ids[0])
    columns = owner.columns()
    own = {"ttl": microseconds(body.ttl), "hold_after_run": body.hold_after_run}

    def attempt(conn: Connection) -> Lease | AssetLocked | None:
        rows = _ACQUIRE.rows(conn, key, caller.tenant, *columns.values(), *own.values())
        if not rows:
            return None if body.wait_id else _foreign(conn, key, owner)
        present_id, fencing, acquired, until = rows[0]
        row = SimpleNamespace(**columns, **own, fencing=fencing, acquired=acquired, locked_until=until)
        return to_lease(row, present_id)

    return _committing(engine, attempt, None)


def _foreign(conn: Connection, key: bytes, owner: Owner) -> AssetLocked | None:
    for present_id, *columns in _HELD.rows(conn, key):
        row: Any = SimpleNamespace(**dict(zip(_SHOWN, columns, strict=True)))
        if bytes(row.owner_key) != owner.key and not of_ended_runs(conn, {key: row}):
            return held_by_other(present_id, row)
    return None


def release(engine: Engine, caller: Caller, body: ReleaseLeases) -> bool:
    """Release the lock of one asset if the caller holds it; False when nothing was done."""
    if not _is_plain(engine, caller, body.asset_ids) or body.wait_id is not None:
        return False
    asset_id = body.asset_ids[0]
    if caller.fencing_tokens.keys() - {asset_id}:
        return False  # the number may be known by another id of the asset
    token = caller.fencing_tokens.get(asset_id, _ANY_NUMBER)
    mine = sorted(keys_of(caller.source))
    key = identity(caller.tenant, asset_id)
    return _committing(engine, lambda conn: bool(_RELEASE.rows(conn, key, mine, token)), False)


def _is_plain(engine: Engine, caller: Caller, ids: list[str]) -> bool:
    return engine.dialect.name == "postgresql" and len(ids) == 1 and not caller.hidden_namespaces


def _committing(engine: Engine, work: Callable[[Connection], T], otherwise: T) -> T:
    """The work on a connection on which each statement is a transaction of its own, if it can be had."""

    def attempt() -> T:
        with engine.connect() as conn:
            if not prepares(conn):
                return otherwise
            with unmanaged(conn):
                return work(conn)

    return retrying(attempt)


_ACQUIRE = Prepared(
    "airflow_assets_acquire",
    """
    WITH one AS (
        SELECT asset_key, id FROM airflow_assets_asset WHERE asset_key = {key} AND NOT deleted
            AND (lock_until IS NULL OR lock_until <= clock_timestamp()) FOR UPDATE
    ), begun AS MATERIALIZED (
        SELECT asset_key, id, clock_timestamp() AS now FROM one
    ), held AS (
        INSERT INTO airflow_assets_lease AS kept
            (asset_key, tenant, fencing, queued, owner_key, owner_type, dag_id, run_id, task_id, map_index,
             try_number, clear_number, user_name, acquired, locked_until, ttl, hold_after_run)
        SELECT asset_key, {tenant}, 1, false, {owner_key}, {owner_type}, {dag_id}, {run_id}, {task_id},
            {map_index}, {try_number}, {clear_number}, {user_name}, now,
            now + {ttl} * interval '1 microsecond', {ttl}, {hold_after_run}
        FROM begun
        ON CONFLICT (asset_key) DO UPDATE SET
            fencing = kept.fencing + 1, owner_key = excluded.owner_key, owner_type = excluded.owner_type,
            dag_id = excluded.dag_id, run_id = excluded.run_id, task_id = excluded.task_id,
            map_index = excluded.map_index, try_number = excluded.try_number,
            clear_number = excluded.clear_number, user_name = excluded.user_name,
            acquired = excluded.acquired, locked_until = excluded.locked_until, ttl = excluded.ttl,
            hold_after_run = excluded.hold_after_run
        WHERE NOT kept.queued AND (kept.owner_key IS NULL OR (
            kept.owner_key <> excluded.owner_key AND kept.locked_until <= excluded.acquired))
        RETURNING asset_key, fencing, acquired, locked_until
    )
    UPDATE airflow_assets_asset AS kept SET lock_until = held.locked_until
    FROM held WHERE kept.asset_key = held.asset_key
    RETURNING kept.id, held.fencing, held.acquired, held.locked_until
    """,
    {
        "key": "bytea",
        "tenant": "text",
        "owner_key": "bytea",
        "owner_type": "text",
        "dag_id": "text",
        "run_id": "text",
        "task_id": "text",
        "map_index": "integer",
        "try_number": "integer",
        "clear_number": "integer",
        "user_name": "text",
        "ttl": "bigint",
        "hold_after_run": "boolean",
    },
)
_SHOWN = (
    "owner_key", "owner_type", "dag_id", "run_id", "task_id", "map_index", "user_name", "locked_until",
    "hold_after_run",
)  # fmt: skip
_HELD = Prepared(
    "airflow_assets_held",
    """
    SELECT asset.id, <shown>
    FROM airflow_assets_lease AS lease JOIN airflow_assets_asset AS asset USING (asset_key)
    WHERE lease.asset_key = {key} AND lease.locked_until > clock_timestamp() AND NOT asset.deleted
    """.replace("<shown>", ", ".join(f"lease.{name}" for name in _SHOWN)),
    {"key": "bytea"},
)
_RELEASE = Prepared(
    "airflow_assets_release",
    """
    WITH one AS (
        SELECT asset_key FROM airflow_assets_asset WHERE asset_key = {key} FOR UPDATE
    ), freed AS (
        UPDATE airflow_assets_lease AS kept SET <free>
        FROM one WHERE kept.asset_key = one.asset_key AND kept.owner_key = ANY({mine})
            AND kept.locked_until > clock_timestamp() AND kept.fencing <= {token}
        RETURNING kept.asset_key
    )
    UPDATE airflow_assets_asset AS kept SET lock_until = NULL
    FROM freed WHERE kept.asset_key = freed.asset_key RETURNING 1
    """.replace("<free>", ", ".join(f"{name} = NULL" for name in FREE)),
    {"key": "bytea", "mine": "bytea[]", "token": "bigint"},
)

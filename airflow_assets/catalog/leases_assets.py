"""The rows of the assets that are to be locked or released, locked themselves in one fixed order."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

from sqlalchemy import bindparam, select

from airflow_assets.catalog import tables
from airflow_assets.catalog.assets import not_found
from airflow_assets.catalog.engine import db_now, retrying, utc_now, write
from airflow_assets.catalog.filters import is_hidden
from airflow_assets.schemas.rules import identity

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from sqlalchemy import Connection, Engine

    from airflow_assets.schemas.actors import Caller

T = TypeVar("T")


class Lockable(NamedTuple):
    """An asset whose row is locked; ``id`` is its present one."""

    key: bytes
    pk: int
    id: str
    deleted: bool


class Moved(Exception):
    """An id is not the present one of any asset: begin again, and look for former ids before locking rows.

    Rows that are locked already must not stay so meanwhile: the others may come before them in the order.
    """


def lock_assets(
    conn: Connection,
    caller: Caller,
    ids: Sequence[str],
    *,
    former: bool,
    lenient: bool = False,
) -> tuple[dict[str, Lockable], datetime]:
    """Lock the rows of assets, deleted ones too; return them by the ids that were asked for, and the clock.

    :param former: also look for former ids.
    :param lenient: leave out what is not there instead of raising.

    Raises:
        Moved: an id is not a present one, and ``former`` is false; or no longer is.
        AssetNotFound: there is no such asset for the caller.
    """
    keys = {asset_id: identity(caller.tenant, asset_id) for asset_id in ids}
    known = set(keys.values())
    if former:
        present = _present_keys(conn, list(keys.values()))
        keys = {asset_id: present.get(key, key) for asset_id, key in keys.items()}
        known = set(present.values())
    rows = conn.execute(_LOCK, {"keys": sorted(set(keys.values()))}).all()
    found = {bytes(row.asset_key): row for row in rows}
    if not known <= found.keys():
        raise Moved
    locked: dict[str, Lockable] = {}
    for asset_id, key in keys.items():
        row = found.get(key)
        if row is not None and not is_hidden(row.namespace, caller):
            locked[asset_id] = Lockable(key, row.pk, row.id, bool(row.deleted))
        elif not lenient:
            raise not_found(asset_id)
    return locked, max(row.clock for row in rows) if rows else db_now(conn)


def in_turn(engine: Engine, work: Callable[[Connection, bool], T]) -> T:
    """One transaction; once more, looking for former ids too, where an id is not an asset's present one."""
    former = False

    def attempt() -> T:
        with write(engine) as conn:
            return work(conn, former)

    while True:
        try:
            return retrying(attempt)
        except Moved:
            former = True


def tokens_of(caller: Caller, assets: dict[str, Lockable]) -> dict[bytes, int]:
    """The caller's fencing numbers by asset key, whichever of its ids he knows the asset by."""
    if not caller.fencing_tokens:
        return {}
    keys = {identity(caller.tenant, asset_id): one.key for asset_id, one in assets.items()}
    keys |= {one.key: one.key for one in assets.values()}
    given = {identity(caller.tenant, name): token for name, token in caller.fencing_tokens.items()}
    return {keys[key]: token for key, token in given.items() if key in keys}


def _present_keys(conn: Connection, keys: list[bytes]) -> dict[bytes, bytes]:
    """The present identity of each asset, by its present or a former one."""
    asset, alias = tables.asset.c, tables.alias.c
    before = select(alias.alias_key, asset.asset_key).join(tables.asset, asset.pk == alias.asset_pk)
    found = {bytes(old): bytes(new) for old, new in conn.execute(before.where(alias.alias_key.in_(keys)))}
    now = conn.scalars(select(asset.asset_key).where(asset.asset_key.in_(keys)))
    return found | {bytes(key): bytes(key) for key in now}


_LOCK = (
    select(
        tables.asset.c.asset_key,
        tables.asset.c.pk,
        tables.asset.c.id,
        tables.asset.c.namespace,
        tables.asset.c.deleted,
        utc_now().label("clock"),
    )
    .where(tables.asset.c.asset_key.in_(bindparam("keys", expanding=True)))
    .order_by(tables.asset.c.asset_key)
    .with_for_update()
)

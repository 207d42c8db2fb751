"""Numbers of the whole catalogue for monitors; bounded statements, whatever its size."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from sqlalchemy import func, select

from airflow_assets.catalog.engine import db_now
from airflow_assets.catalog.filters import visible
from airflow_assets.catalog.stale_counts import stale_now
from airflow_assets.catalog.tables import asset, event, lease

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from airflow_assets.schemas.actors import Caller

_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True)
class Inventory:
    """What a caller sees of the catalogue at one moment.

    :param stale: assets that are stale by their own expectation.
    :param locked: locks that are held; one of a run that has ended counts until somebody notices.
    :param events: of the last minute.
    """

    stale: int = 0
    locked: int = 0
    events: int = 0


def inventory(conn: Connection, caller: Caller) -> Inventory:
    """Count; four statements, and one for each different expectation of freshness."""
    now = db_now(conn)
    locks = (
        select(func.count())
        .select_from(lease.join(asset, asset.c.asset_key == lease.c.asset_key))
        .where(lease.c.tenant == caller.tenant, lease.c.locked_until > now)
        .where(visible(asset.c.namespace, caller))
    )
    events = (
        select(func.count())
        .select_from(event)
        .where(event.c.created > now - _MINUTE, event.c.tenant == caller.tenant)
        .where(visible(event.c.namespace, caller))
    )
    return Inventory(
        stale=stale_now(conn, caller, now),
        locked=conn.scalar(locks) or 0,
        events=conn.scalar(events) or 0,
    )

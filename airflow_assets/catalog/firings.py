"""The firings of polled schedules: entries of the log beside its events, in one order with them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select

from airflow_assets.catalog import tables
from airflow_assets.catalog.filters import is_hidden
from airflow_assets.catalog.write_set import take_numbers
from airflow_assets.exceptions import NotFound
from airflow_assets.schemas.polls import Firing, PollKind
from airflow_assets.schemas.rules import json_text

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

    from airflow_assets.schemas.actors import Caller

_firing = tables.firing.c
_COLUMNS = tuple(column for column in _firing if column.name != "tenant")


def append(conn: Connection, tenant: str, firing: Firing) -> None:
    """Append a firing, whose number is given here; the last step of the transaction."""
    row = {
        "firing_id": firing.id,
        "tenant": tenant,
        "kind": firing.kind.value,
        "poll_key": firing.poll_key,
        "created": firing.created,
        "repeats": firing.repeats,
        "payload": json_text(firing.payload),
    }
    conn.execute(insert(tables.firing).values(seq=take_numbers(conn, 1), **row))


def read_firings_after(conn: Connection, tenant: str, seq: int, limit: int) -> list[Firing]:
    """Return the first ``limit`` firings after number ``seq``, oldest first."""
    rows = conn.execute(
        select(*_COLUMNS)
        .where(_firing.tenant == tenant, _firing.seq > seq)
        .order_by(_firing.seq)
        .limit(limit)
    )
    return [_firing_of(row) for row in rows]


def get_firing(conn: Connection, caller: Caller, firing_id: str) -> Firing:
    """Return one firing with its payload, without assets of namespaces that are closed to the caller.

    :raises NotFound: there is none, or it has been purged.
    """
    row = conn.execute(
        select(*_COLUMNS).where(_firing.firing_id == firing_id.lower(), _firing.tenant == caller.tenant)
    ).one_or_none()
    if row is None:
        raise NotFound(f"There is no firing {firing_id!r}.", hint="It may have been purged.")
    found = _firing_of(row)
    assets = found.payload.get("assets")
    if found.kind is not PollKind.FRESHNESS or not assets:
        return found
    seen = [one for one in assets if not is_hidden(one["namespace"], caller)]
    return found.model_copy(update={"payload": {**found.payload, "assets": seen}})


def _firing_of(row: Row[Any]) -> Firing:
    return Firing(
        seq=row.seq,
        id=row.firing_id,
        kind=PollKind(row.kind),
        poll_key=row.poll_key,
        created=row.created,
        repeats=row.repeats,
        payload=json.loads(row.payload),
    )

"""Who ships lineage, how far each exporter has come, and how its last run ended."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select

from airflow_assets.catalog import cursors
from airflow_assets.catalog.bookmarks import KIND
from airflow_assets.catalog.lineage import IS_WHOLE
from airflow_assets.catalog.tables import consumer, lineage, sequence
from airflow_assets.catalog.write_set import LOG
from airflow_assets.schemas.base import Page
from airflow_assets.schemas.shipping import Shipper

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row, Select

    from airflow_assets.schemas.actors import Caller
    from airflow_assets.schemas.shipping import ShipperQuery

_BY_NAME = "shippers:name"


def list_shippers(conn: Connection, caller: Caller, query: ShipperQuery) -> Page[Shipper]:
    """Return one page of the exporters that have a bookmark, by shipper and exporter; one statement.

    Raises:
        InvalidCursor: the cursor is of another listing.
    """
    seen = cursors.decode(_BY_NAME, query.cursor, [str])
    # "0" is the character after "/": the names of this tenant, and of none that only begins like it.
    after = seen[0] if seen is not None else f"{caller.tenant}/"
    first_unread = (
        select(lineage.c.created)
        .where(lineage.c.seq > consumer.c.seq, lineage.c.tenant == caller.tenant, IS_WHOLE)
        .order_by(lineage.c.seq)
        .limit(1)
        .scalar_subquery()
    )
    rows = conn.execute(
        bookmarks_with_end()
        .add_columns(first_unread.label("waiting_since"))
        .where(consumer.c.name > after, consumer.c.name < f"{caller.tenant}0")
        .order_by(consumer.c.name)
        .limit(query.limit + 1)
    ).all()
    shown = rows[: query.limit]
    return Page(
        items=[_shipper(row) for row in shown],
        next_cursor=cursors.encode(_BY_NAME, [shown[-1].name]) if len(rows) > query.limit else None,
    )


def bookmarks_with_end() -> Select[Any]:
    """Return the statement for bookmarks: ``name``, ``seq``, ``state`` and ``last``, the end of the log."""
    end = func.coalesce(sequence.c.value, 0).label("last")  # the sequence has no row before the first entry
    source = consumer.outerjoin(sequence, sequence.c.name == LOG)
    columns = (consumer.c.name, consumer.c.seq, consumer.c.state, end)
    return select(*columns).select_from(source).where(consumer.c.kind == KIND)


def _shipper(row: Row[Any]) -> Shipper:
    state = json.loads(row.state)
    return Shipper(
        key=state["key"],
        exporter=state["exporter"],
        seq=row.seq,
        backlog=max(0, row.last - row.seq),
        waiting_since=row.waiting_since,
        confirmed=state.get("confirmed"),
        result=state.get("result"),
    )

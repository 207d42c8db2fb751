"""What the dispatcher knows of the Dags: who follows what, and how far each has come."""

from __future__ import annotations

import time
from collections import defaultdict
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from sqlalchemy import select

from airflow_assets.airflow_bridge import positions
from airflow_assets.airflow_bridge.context import orm
from airflow_assets.airflow_bridge.positions import Position
from airflow_assets.airflow_bridge.subscriptions import SubscribedDag, Subscriptions
from airflow_assets.catalog import tables
from airflow_assets.catalog.engine import db_now, read, retrying, write
from airflow_assets.catalog.log import last_seq
from airflow_assets.schemas.base import iso

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

REFRESH_EVERY = 0.9
KEEP_GONE = timedelta(hours=1)
"""How long a Dag that is gone keeps its position: a broken deployment loses no events."""
GONE = "gone_since"
"""Marks the position of a Dag that follows nothing any more."""


class Registry:
    """Reads Airflow's schedules at most once a second and keeps the positions.

    A position may be ahead of the database's by events that start no run of the Dag: reading them again after
    a restart does no harm, and an event costs no write for each Dag that it does not concern.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._subscriptions = Subscriptions()
        self._refreshed = float("-inf")
        self._stored: dict[str, Position] = {}
        self._seqs: dict[str, int] = {}
        self._present_ids: dict[str, str] = {}
        self.dags: dict[str, SubscribedDag] = {}

    def refresh(self) -> int:
        """Bring everything up to date where it is older than a second; return the end of the log."""
        if time.monotonic() - self._refreshed < REFRESH_EVERY:
            with read(self._engine) as conn:
                return last_seq(conn)
        with read(self._engine) as conn:
            end = last_seq(conn)
            stored = positions.read_positions(conn)
            self._present_ids = present_ids(conn)
            with orm(conn) as session:
                dags = self._subscriptions.read(session)
        if self._has_news(dags, stored):
            stored = retrying(lambda: self._write_news(dags))
        self.dags = dags
        for dag_id in set(self._stored) - set(stored):
            self.forget(dag_id)
        for dag_id, position in stored.items():
            self.moved(dag_id, position)
        self._refreshed = time.monotonic()
        return end

    def seq(self, dag_id: str) -> int:
        """Return the number of the last event that the Dag has handled."""
        return self._seqs[dag_id]

    def stored(self, dag_id: str) -> int:
        """Return the same as the database has it."""
        return self._stored[dag_id].seq

    def stopped(self, dag: SubscribedDag) -> frozenset[str]:
        """Return the keys of the Dag's triggers that start no more runs."""
        return frozenset(self._stored[dag.dag_id].state.get("stopped", ()))

    def present_id(self, asset_id: str) -> str:
        """Return the id that an asset has now."""
        return self._present_ids.get(asset_id, asset_id)

    def moved(self, dag_id: str, position: Position) -> None:
        """Take over what was read from or written to the database."""
        self._stored[dag_id] = position
        self._seqs[dag_id] = max(position.seq, self._seqs.get(dag_id, 0))

    def advance(self, dag_id: str, seq: int) -> None:
        """Move a Dag behind events that start no run of it; written later."""
        self._seqs[dag_id] = seq

    def forget(self, dag_id: str) -> None:
        """Have the next refresh read the Dag's position anew."""
        self._stored.pop(dag_id, None)
        self._seqs.pop(dag_id, None)
        self.dags.pop(dag_id, None)
        self._refreshed = float("-inf")

    def unwritten(self) -> dict[int, list[str]]:
        """Return the Dags that are ahead of the database, by position."""
        levels: dict[int, list[str]] = defaultdict(list)
        for dag_id, seq in self._seqs.items():
            if dag_id in self._stored and seq > self._stored[dag_id].seq:
                levels[seq].append(dag_id)
        return levels

    def written(self, levels: dict[int, list[str]]) -> None:
        """Take over that :meth:`unwritten` has been written."""
        for seq, dag_ids in levels.items():
            for dag_id in dag_ids:
                self._stored[dag_id] = Position(seq, self._stored[dag_id].state)

    def _has_news(self, dags: dict[str, SubscribedDag], stored: dict[str, Position]) -> bool:
        gone = any(
            (dag_id in dags) == (GONE in position.state) or _is_over(position)
            for dag_id, position in stored.items()
        )
        return gone or not dags.keys() <= stored.keys()

    def _write_news(self, dags: dict[str, SubscribedDag]) -> dict[str, Position]:
        with write(self._engine) as conn:
            now = db_now(conn)
            stored = positions.read_positions(conn)
            for dag_id in sorted(dags.keys() - stored.keys()):
                since = min(trigger.since for trigger in dags[dag_id].triggers)
                stored[dag_id] = positions.start_position(conn, dag_id, since, now)
            for dag_id, position in list(stored.items()):
                marked = _mark(position, dag_id in dags, now)
                if marked is None:
                    positions.drop_positions(conn, [dag_id])
                    del stored[dag_id]
                elif marked is not position:
                    positions.save_position(conn, dag_id, marked)
                    stored[dag_id] = marked
            return stored


def _mark(position: Position, subscribed: bool, now: datetime) -> Position | None:
    """Note since when a Dag is gone; None when that is too long ago."""
    gone = position.state.get(GONE)
    if subscribed:
        rest = {name: value for name, value in position.state.items() if name != GONE}
        return Position(position.seq, rest) if gone else position
    if gone is None:
        return Position(position.seq, {**position.state, GONE: iso(now)})
    return None if _since(gone) <= now - KEEP_GONE else position


def _is_over(position: Position) -> bool:
    gone = position.state.get(GONE)
    return gone is not None and _since(gone) <= datetime.now(_since(gone).tzinfo) - KEEP_GONE


def _since(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def present_ids(conn: Connection) -> dict[str, str]:
    """Return the present id of every asset by its former ones."""
    rows = conn.execute(
        select(tables.alias.c.id.label("former"), tables.asset.c.id.label("present")).join(
            tables.asset, tables.asset.c.pk == tables.alias.c.asset_pk
        )
    )
    return {row.former: row.present for row in rows}

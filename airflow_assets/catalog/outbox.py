"""The log as the dispatcher reads it: events and firings in one order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_assets.catalog.firings import read_firings_after
from airflow_assets.catalog.log import read_after

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from airflow_assets.schemas.runs import Entry


def read_entries(conn: Connection, tenant: str, seq: int, end: int, limit: int) -> tuple[list[Entry], int]:
    """Return the entries after number ``seq``, oldest first, and up to which number these are all.

    :param end: the end of the log as it was before. :param limit: of events, and of firings.
    """
    events = read_after(conn, tenant, seq, limit)
    firings = read_firings_after(conn, tenant, seq, limit)
    reached = min(_reached(events, seq, end, limit), _reached(firings, seq, end, limit))
    both: list[Entry] = [*events, *firings]
    entries = [entry for entry in both if entry.seq <= reached]
    return sorted(entries, key=lambda entry: entry.seq), reached


def _reached(entries: Sequence[Entry], seq: int, end: int, limit: int) -> int:
    last = entries[-1].seq if entries else seq
    return last if len(entries) == limit else max(last, end)

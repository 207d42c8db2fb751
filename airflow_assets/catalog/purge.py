"""A purge, step by step: each step is a second of small transactions and tells where the next goes on.

Nothing is kept of a purge in between: one that was killed is simply begun again and finds what is left.
Usages go first and assets last, so that all that is asked of an asset can be asked while it is there.

A transaction deletes so many records as take it about a twentieth of a second, and the same time passes
before the next: whoever writes meanwhile never waits long, and gets the larger half of the database.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from sqlalchemy import text

from airflow_assets.catalog import cursors
from airflow_assets.catalog.engine import db_now, read, retrying, write
from airflow_assets.catalog.log_readers import SHOWN, read_readers
from airflow_assets.catalog.purge_assets import AssetPurge, NamePurge
from airflow_assets.catalog.purge_log import (
    EventPurge,
    FiringPurge,
    LineagePurge,
    Look,
    Position,
    Task,
    UsagePurge,
)
from airflow_assets.schemas.purge import PurgeResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Engine

    from airflow_assets.catalog.log_readers import MoreReaders
    from airflow_assets.schemas.actors import Caller
    from airflow_assets.schemas.purge import Purge

STEP_SECONDS = 1.0
_ORDER = "purge"
_SHORT, _LONG = 0.03, 0.07
"""Seconds: a transaction shorter than the first lets the next grow, one longer than the second shrinks it."""
_FIRST, _LEAST, _MOST = 200, 20, 2_000


class Part(Protocol):
    """One kind of record."""

    @property
    def kinds(self) -> tuple[type, ...]:
        """The types of a position."""

    def look(self, conn: Connection, task: Task, after: Position, size: int) -> Look:
        """Look at the next ``size`` records and say which go; writes nothing, locks nothing."""

    def delete(self, conn: Connection, task: Task, wanted: Sequence[Any]) -> int:
        """Delete some records of a look and return how many there were of them still."""


PARTS: dict[str, Part] = {
    "usages": UsagePurge(),
    "lineage": LineagePurge(),
    "events": EventPurge(),
    "firings": FiringPurge(),
    "assets": AssetPurge(),
    "names": NamePurge(),
}
_COUNT_OF = {
    "assets": "purged_assets_count",
    "usages": "purged_asset_usages_count",
    "lineage": "purged_asset_lineages_count",
    "events": "purged_asset_events_count",
}


def purge(
    engine: Engine, caller: Caller, body: Purge, more_readers: MoreReaders | None = None
) -> PurgeResult:
    """Make one step of a purge.

    :param more_readers: readers of the log that are not in the table ``consumer``.
    :raises InvalidCursor: the cursor is not one of a purge.
    """
    return _Step(engine, caller, body, more_readers).run()


@dataclass
class _Place:
    """Where a purge is: in which part, behind which record, and how old a record must be."""

    part: str
    end: datetime
    position: Position = None

    def cursor(self) -> str:
        inner = cursors.encode(self.part, self.position) if self.position else ""
        return cursors.encode(_ORDER, (self.part, self.end, inner))

    @classmethod
    def of(cls, cursor: str | None) -> _Place | None:
        found = cursors.decode(_ORDER, cursor, (str, datetime, str))
        if found is None:
            return None
        part, end, inner = found
        if part not in PARTS:  # of another version: what it had done is done, so begin again
            return None
        return cls(part, end, cursors.decode(part, inner, PARTS[part].kinds) if inner else None)


@dataclass
class _Pace:
    """How many records the next transaction takes, and how long to rest after one."""

    size: int = _FIRST
    least_rest: float = 0.0
    until: float = field(default_factory=lambda: time.monotonic() + STEP_SECONDS)

    def note(self, took: float) -> None:
        if took > _LONG:
            self.size = max(_LEAST, self.size // 2)
        elif took < _SHORT:
            self.size = min(_MOST, self.size * 2)
        time.sleep(max(self.least_rest, min(took, 0.5)))

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self.until


class _Step:
    def __init__(self, engine: Engine, caller: Caller, body: Purge, more: MoreReaders | None) -> None:
        self._engine = engine
        self._body = body
        # SQLite has no queue for its one writer: whoever waits must find a gap when he looks.
        self._pace = _Pace(least_rest=0.005 if engine.dialect.name == "sqlite" else 0.0)
        place = _Place.of(body.cursor)
        with read(engine) as conn:
            self._task = Task(
                caller,
                body,
                place.end if place else min(body.end_date, db_now(conn)),
                read_readers(conn, more),
            )
        switched_on = {
            "usages": body.purge_asset_usages,
            "lineage": body.purge_asset_lineages,
            "events": body.purge_asset_events,
            "firings": body.purge_asset_events and not body.dry_run,
            "assets": body.purge_assets,
            "names": not body.dry_run,
        }
        self._parts = [part for part in PARTS if switched_on[part]]
        self._place = place or _Place(next(iter(PARTS)), self._task.end)
        self._counts: dict[str, int] = {_COUNT_OF[part]: 0 for part in self._parts if part in _COUNT_OF}
        self._locked = self._kept = 0
        self._done = 0
        self._begun = False  # however slow the database is, a step gets on

    def run(self) -> PurgeResult:
        for part in list(PARTS)[list(PARTS).index(self._place.part) :]:
            if part not in self._parts:
                continue
            if part != self._place.part:
                self._place = _Place(part, self._task.end)
            if not self._finish(part):
                return self._result(self._place.cursor())
        return self._result(None)

    def _finish(self, name: str) -> bool:
        """Work on one part until its end; false if there is no more time for it."""
        part = PARTS[name]
        while True:
            if self._begun and (self._pace.is_over or self._done >= self._body.limit):
                return False
            self._begun = True
            began = time.monotonic()
            look = self._look(part)
            count = self._delete(part, look.wanted) if look.wanted and not self._body.dry_run else look.count
            self._note(name, look, count)
            if look.end:
                return True
            self._place = replace(self._place, position=look.position)
            self._pace.note(0.0 if self._body.dry_run else time.monotonic() - began)

    def _note(self, name: str, look: Look, count: int) -> None:
        if name in _COUNT_OF:
            self._counts[_COUNT_OF[name]] += count
        self._done += count
        self._locked += look.locked
        self._kept += look.kept

    def _look(self, part: Part) -> Look:
        size = min(self._pace.size, self._body.limit - self._done)

        def work() -> Look:
            with read(self._engine) as conn:
                return part.look(conn, self._task, self._place.position, size)

        return retrying(work)

    def _delete(self, part: Part, wanted: Sequence[Any]) -> int:
        def work() -> int:
            with write(self._engine) as conn:
                if conn.dialect.name == "postgresql":
                    # What a crash brings back is purged again; waiting for the disk would make others wait.
                    conn.execute(text("SET LOCAL synchronous_commit = off"))
                return part.delete(conn, self._task, wanted)

        return retrying(work)

    def _result(self, cursor: str | None) -> PurgeResult:
        readers = self._task.readers
        return PurgeResult(
            **self._counts,
            locked_assets_count=self._locked,
            kept_for_readers_count=self._kept,
            readers=readers.waiting[:SHOWN] if self._kept else [],
            idle_readers=readers.idle[:SHOWN],
            next_cursor=cursor,
        )

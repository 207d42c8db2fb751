"""The look-up of the hub of those who wait for events: one statement reads what is new for all of them."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlalchemy import select

from airflow_assets.airflow_bridge.registry import present_ids
from airflow_assets.catalog import tables, waits
from airflow_assets.catalog.engine import read, retrying, write
from airflow_assets.catalog.filters import is_hidden
from airflow_assets.catalog.log import EVENT_COLUMNS, event_of, last_seq
from airflow_assets.schemas.actors import Caller
from airflow_assets.schemas.events import Event, EventFilter
from airflow_assets.schemas.matching import event_matches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy import Connection, Engine

PAGE = 500
MAX_RECENT, MAX_RECENT_BYTES = 1_000, 8 * 1024 * 1024
MAX_STALE = 30.0
"""Seconds without a look-up after which the newest events are not read one by one any more."""
CATCHING_UP = 0.5
"""Seconds of one pass for those who are far behind, each of whom is looked up by himself."""
KEEP_EVERY = 60.0
_ANY = ("", None)


@dataclass(eq=False)
class EventWaiter:
    """Somebody waits for the first event after ``cursor`` that matches.

    A look-up moves the cursor behind what does not match, never behind an event that it hands out: that may
    come too late for the waiter, who then asks again from the cursor.
    """

    caller: Caller
    filter: EventFilter
    cursor: int
    keep_for: str | None = None


@dataclass
class _Recent:
    """The newest events: all with numbers above ``floor`` and up to ``head``."""

    floor: int
    head: int
    events: list[Event] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)

    def add(self, event: Event, size: int) -> None:
        self.events.append(event)
        self.sizes.append(size)
        self.head = event.seq

    def after(self, seq: int) -> list[Event]:
        return self.events[bisect_right(self.events, seq, key=lambda event: event.seq) :]

    def trim(self) -> None:
        total, first = sum(self.sizes), 0
        while len(self.events) - first > MAX_RECENT or total > MAX_RECENT_BYTES:
            total -= self.sizes[first]
            self.floor = self.events[first].seq
            first += 1
        del self.events[:first], self.sizes[:first]


class EventLook:
    """Looks for everybody who waits; called by one thread at a time.

    :param engine: returns the engine to use.
    """

    def __init__(self, engine: Callable[[], Engine]) -> None:
        self._engine = engine
        self._recent: _Recent | None = None
        self._more = False
        self._looked = float("-inf")
        self._kept = time.monotonic()

    @property
    def head(self) -> int:
        """The number up to which events have been looked at; 0 before the first look-up."""
        return self._recent.head if self._recent else 0

    def __call__(self, waiters: list[EventWaiter]) -> list[tuple[EventWaiter, Event]]:
        """Return those for whom there is an event; the others' cursors move on."""
        found = retrying(lambda: self._pass(waiters), attempts=2)
        if time.monotonic() - self._kept >= KEEP_EVERY:
            self._kept = time.monotonic()
            self._keep([waiter for waiter in waiters if waiter.keep_for])
        return found

    def _pass(self, waiters: list[EventWaiter]) -> list[tuple[EventWaiter, Event]]:
        with read(self._engine()) as conn:
            recent = self._read_first(conn, waiters)
            found = dict(_catch_up(conn, [one for one in waiters if one.cursor < recent.floor]))
            rest = [one for one in waiters if one.cursor >= recent.floor and one not in found]
            found.update(_hand_out(conn, recent, rest))
            while self._read_on(conn, recent):
                rest = [one for one in rest if one not in found]
                found.update(_hand_out(conn, recent, rest))
        self._looked = time.monotonic()
        return list(found.items())

    def _read_first(self, conn: Connection, waiters: list[EventWaiter]) -> _Recent:
        """Read one page of what is new; after a long time without a waiter begin near the end of the log."""
        if self._recent is None or time.monotonic() - self._looked > MAX_STALE:
            end = last_seq(conn)
            start = min(end, max(end - MAX_RECENT, min(one.cursor for one in waiters)))
            self._recent = _Recent(floor=start, head=start)
        self._more = self._read_page(conn, self._recent)
        return self._recent

    def _read_on(self, conn: Connection, recent: _Recent) -> bool:
        """Read one more page if the last one was full; what everybody has seen makes room for it."""
        recent.trim()
        if not self._more:
            return False
        self._more = self._read_page(conn, recent)
        return True

    def _read_page(self, conn: Connection, recent: _Recent) -> bool:
        """Return whether there may be more."""
        seq = tables.event.c.seq
        rows = conn.execute(select(*EVENT_COLUMNS).where(seq > recent.head).order_by(seq).limit(PAGE)).all()
        for row in rows:
            recent.add(event_of(row), len(row.payload))
        return len(rows) == PAGE

    def _keep(self, waiters: list[EventWaiter]) -> None:
        """Note that these sensors wait; at the lowest of their places, so that one statement does for all."""
        if not waiters:
            return

        def work() -> None:
            with write(self._engine()) as conn:
                waits.advance(
                    conn, {str(one.keep_for) for one in waiters}, min(one.cursor for one in waiters)
                )

        retrying(work)


def _catch_up(conn: Connection, waiters: list[EventWaiter]) -> Iterator[tuple[EventWaiter, Event]]:
    """Look up, each by itself, those who are further behind than the newest events reach."""
    until = time.monotonic() + CATCHING_UP
    for waiter in waiters:
        if time.monotonic() > until:  # the others' turn comes with the next pass
            return
        result = waits.first_match(conn, waiter.caller, waiter.filter, waiter.cursor)
        if result.event is not None:
            yield waiter, result.event
        else:
            waiter.cursor = result.cursor


def _hand_out(
    conn: Connection, recent: _Recent, waiters: list[EventWaiter]
) -> Iterator[tuple[EventWaiter, Event]]:
    """Give each waiter the first event after its cursor that matches."""
    behind: dict[int, list[EventWaiter]] = defaultdict(list)
    for waiter in waiters:
        if waiter.cursor < recent.head:
            behind[waiter.cursor].append(waiter)
    if not any(recent.after(cursor) for cursor in behind):
        _move(waiters, recent.head)
        return
    by_id = any(one.filter.asset_id for group in behind.values() for one in group)
    former = present_ids(conn) if by_id else {}
    for cursor, group in behind.items():
        index = _Index(group, former)
        for event in recent.after(cursor):
            for waiter in index.take(event):
                yield waiter, event
        _move(index.left(), recent.head)


def _move(waiters: list[EventWaiter], seq: int) -> None:
    for waiter in waiters:
        waiter.cursor = max(waiter.cursor, seq)


class _Index:
    """Waiters by the narrowest member of their filters, so that an event is compared with few of them."""

    def __init__(self, waiters: list[EventWaiter], former: dict[str, str]) -> None:
        self._former = former
        self._by: dict[tuple[str, str | None], list[EventWaiter]] = defaultdict(list)
        for waiter in waiters:
            self._by[self._key(waiter.filter)].append(waiter)

    def take(self, event: Event) -> list[EventWaiter]:
        """Return and forget those whom the event matches."""
        taken: list[EventWaiter] = []
        asset = event.asset
        present_id = self._present(asset.id)
        for key in (("id", present_id), ("namespace", asset.namespace), ("type", asset.type), _ANY):
            hits = [one for one in self._by.get(key, ()) if self._matches(one, event)]
            if hits:
                gone = set(hits)
                self._by[key] = [one for one in self._by[key] if one not in gone]
                taken += hits
        return taken

    def left(self) -> list[EventWaiter]:
        """Return those who are still there."""
        return [one for group in self._by.values() for one in group]

    def _key(self, wanted: EventFilter) -> tuple[str, str | None]:
        if wanted.asset_id is not None:
            return "id", self._present(wanted.asset_id)
        if wanted.namespace is not None:
            return "namespace", wanted.namespace
        return ("type", wanted.asset_type) if wanted.asset_type is not None else _ANY

    def _matches(self, waiter: EventWaiter, event: Event) -> bool:
        return (
            event.asset.tenant_id == waiter.caller.tenant
            and not is_hidden(event.asset.namespace, waiter.caller)
            and waits.is_news(event)
            and event_matches(waiter.filter, event, resolve=self._present)
        )

    def _present(self, asset_id: str) -> str:
        return self._former.get(asset_id, asset_id)

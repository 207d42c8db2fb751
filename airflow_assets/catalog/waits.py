"""Waiting for events: the first that matches after a place in the log, and the places kept for sensors.

A sensor's place is a row of ``consumer`` of kind ``sensor``, named by the id of the task instance (each try
has another): every event up to it has been looked at and did not match. So a sensor that is rescheduled goes
on where it was, and purge knows what sensors still need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import Select, insert, select, update

from airflow_assets.catalog import tables
from airflow_assets.catalog.engine import utc_now
from airflow_assets.catalog.event_listing import clauses_of, part_of
from airflow_assets.catalog.log import EVENT_COLUMNS, event_of, first_seq_since, last_seq
from airflow_assets.catalog.looking import look_until
from airflow_assets.schemas.events import Event, EventFilter
from airflow_assets.schemas.matching import conditions_hold
from airflow_assets.schemas.queries import EventQuery
from airflow_assets.schemas.transfer import IMPORTED
from airflow_assets.schemas.waiting import EventWaitResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from sqlalchemy import Connection

    from airflow_assets.schemas.actors import Caller
    from airflow_assets.schemas.waiting import EventWait

KIND = "sensor"
_FEW, _PAGE, _PAGES = 20, 1_000, 10
_AT_ONCE = 500
_consumer = tables.consumer.c


def wait(look_once: Callable[[EventWait], EventWaitResult], asked: EventWait) -> EventWaitResult:
    """Look again and again, in the calling thread, until there is an event or the time has passed."""
    next_look = asked

    def look_on() -> EventWaitResult:
        nonlocal next_look
        seen = look_once(next_look)
        next_look = asked.model_copy(update={"after": seen.cursor})
        return seen

    return look_until(look_on, lambda seen: seen.event is not None, asked.timeout)


def look(conn: Connection, caller: Caller, wait: EventWait) -> EventWaitResult:
    """Look once, without keeping a place."""
    return first_match(conn, caller, wait.filter, _start(conn, caller, wait))


def look_for_sensor(conn: Connection, caller: Caller, wait: EventWait) -> EventWaitResult:
    """Look once from the kept place on, and keep how far that came; in a writing transaction.

    An event that is found stays in front of the place: if the answer gets lost, a repeat finds it again.
    """
    name = str(wait.keep_for)
    place = conn.execute(select(_consumer.seq).where(_consumer.kind == KIND, _consumer.name == name)).scalar()
    if place is None:
        place = _start(conn, caller, wait)
        conn.execute(
            insert(tables.consumer).values(kind=KIND, name=name, seq=place, state=None, updated=utc_now())
        )
    result = first_match(conn, caller, wait.filter, int(place))
    advance(conn, [name], max(int(place), result.cursor - 1 if result.event else result.cursor))
    return result


def advance(conn: Connection, names: Iterable[str], seq: int) -> None:
    """Say that sensors still wait, and have come to ``seq``.

    A place never moves back, and none is made.
    """
    wanted = sorted(names)
    for start in range(0, len(wanted), _AT_ONCE):
        here = _consumer.name.in_(wanted[start : start + _AT_ONCE])
        conn.execute(
            update(tables.consumer)
            .where(_consumer.kind == KIND, here, _consumer.seq <= seq)
            .values(seq=seq, updated=utc_now())
        )


def first_match(conn: Connection, caller: Caller, wanted: EventFilter, after: int) -> EventWaitResult:
    """Return the first event after number ``after`` that matches, as the caller sees the log.

    What an import brought is past and matches nothing. At most 10,000 events are read for a metadata query;
    the cursor then is not yet at the end of the log.
    """
    end = max(after, last_seq(conn))  # read first: what comes in between has a greater number
    clauses = clauses_of(conn, caller, _query(wanted, after))
    if clauses is None:
        return EventWaitResult(cursor=end)
    statement = select(*EVENT_COLUMNS).where(*clauses)
    seq, size = after, _PAGE if wanted.metadata_query else _FEW
    for _ in range(_PAGES):
        events = _events(conn, part_of(statement, seq, size, newest_first=False))
        for event in events:
            seq = event.seq
            if is_news(event) and conditions_hold(event.asset.metadata, wanted.metadata_query):
                return EventWaitResult(cursor=seq, event=event)
        if len(events) < size:
            return EventWaitResult(cursor=max(end, seq))
        size = _PAGE
    return EventWaitResult(cursor=seq)


def is_news(event: Event) -> bool:
    """Whether something happened, and not only an import wrote down that it once did."""
    return not (event.suppressed or "").startswith(IMPORTED)


def _start(conn: Connection, caller: Caller, wait: EventWait) -> int:
    if wait.after is not None:
        return wait.after
    if wait.since is not None:
        return first_seq_since(conn, caller.tenant, wait.since)
    return last_seq(conn)


def _query(wanted: EventFilter, after: int) -> EventQuery:
    return EventQuery(**{name: getattr(wanted, name) for name in EventFilter.model_fields}, after=after)


def _events(conn: Connection, statement: Select[Any]) -> list[Event]:
    return [event_of(row) for row in conn.execute(statement)]

"""What polled schedules remember, and the firings that come of their checks.

A report counts if its number is the one that is due; its memory, the next number and the firing are written
in one transaction. So two triggerers fire once, a repeated report fires nothing, and a report that never came
leaves everything as it was for the next check.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import uuid6
from sqlalchemy import delete, insert, select, update

from airflow_assets.catalog import firings, tables
from airflow_assets.catalog.engine import db_now
from airflow_assets.exceptions import InvalidRequest
from airflow_assets.schemas.base import iso
from airflow_assets.schemas.polls import (
    CheckResult,
    Firing,
    FreshnessPoll,
    PollKind,
    interval_seconds,
)
from airflow_assets.schemas.rules import json_text

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from airflow_assets.catalog.freshness import Observation
    from airflow_assets.schemas.actors import Caller
    from airflow_assets.schemas.polls import CheckReport

MAX_PAYLOAD = 8_000_000
"""Characters; of a firing with more than that the assets travel without metadata and description."""
FORGET = timedelta(days=366)
"""How long a poll that nobody checks is remembered; a definition that was changed never is again."""
_poll = tables.poll.c


@dataclass(frozen=True)
class Remembered:
    """What is known of a poll; ``number`` 0: nothing yet."""

    number: int = 0
    due: datetime | None = None
    memory: dict[str, Any] | None = None
    last_firing: str | None = None


@dataclass(frozen=True)
class Decision:
    """What a report comes to: the payload of a firing or null, and the memory from now on."""

    payload: dict[str, Any] | None
    memory: dict[str, Any] | None


def load(conn: Connection, poll_key: str) -> Remembered:
    """Return what is remembered of a poll."""
    row = conn.execute(
        select(_poll.number, _poll.due, _poll.state, _poll.last_firing).where(_poll.poll_key == poll_key)
    ).one_or_none()
    if row is None:
        return Remembered()
    return Remembered(row.number, row.due, json.loads(row.state) if row.state else None, row.last_firing)


def next_check(conn: Connection, poll_key: str) -> CheckResult:
    """Tell which check is next, and when."""
    known = load(conn, poll_key)
    return CheckResult(number=known.number, wait=_wait(known, db_now(conn)))


def settle(
    conn: Connection, caller: Caller, report: CheckReport, observed: Observation | None
) -> CheckResult:
    """Take a report, once for each number.

    :param observed: what the server saw for a freshness poll, from the memory of this very number.
    """
    key = report.poll.key
    known = load(conn, key)
    now = db_now(conn)
    if known.number != report.number:
        # The answer to the report before may have been lost: then this is its repeat.
        repeated = known.last_firing if known.number == report.number + 1 else None
        return CheckResult(number=known.number, wait=_wait(known, now), firing_id=repeated)
    decision = _decide(report, known.memory, observed, now)
    firing_id = str(uuid6.uuid7()) if decision.payload is not None else None
    after = Remembered(known.number + 1, _next_due(report, known, now), decision.memory, firing_id)
    if not _remember(conn, report, known, after, now):
        return settle(conn, caller, report, observed)
    if firing_id is not None:
        poll, payload = report.poll, decision.payload or {}
        firing = Firing(
            seq=0,
            id=firing_id,
            kind=PollKind(poll.kind),
            poll_key=poll.key,
            created=now,
            repeats=poll.repeats,
            payload=payload,
        )
        firings.append(conn, caller.tenant, firing)
    return CheckResult(number=after.number, wait=_wait(after, now), accepted=True, firing_id=firing_id)


def _decide(
    report: CheckReport, memory: dict[str, Any] | None, observed: Observation | None, now: datetime
) -> Decision:
    if report.error is not None:
        return Decision(None, memory)
    if isinstance(report.poll, FreshnessPoll):
        return _decide_freshness(observed)
    if report.matched is None:
        raise InvalidRequest(
            "The report of a script says neither whether it matched nor what failed.",
            hint="Send matched, or error.",
            field="matched",
        )
    was = bool((memory or {}).get("matched"))
    fires = report.matched and not (report.poll.edge and was)
    # The triggerer's clock may be wrong: the database's is the one that counts.
    payload = {**(report.payload or {}), "timestamp": iso(now)}
    return Decision(payload if fires else None, {"matched": report.matched})


def _decide_freshness(observed: Observation | None) -> Decision:
    if observed is None:
        raise ValueError("a freshness poll is decided from what the server saw")
    if not observed.assets:
        return Decision(None, observed.memory)
    whole = [one.to_json() for one in observed.assets]
    if len(json_text(whole)) > MAX_PAYLOAD:
        whole = [{**one, "metadata": None, "description": None} for one in whole]
    return Decision({"checkTime": whole[0]["checkTime"], "assets": whole}, observed.memory)


def _next_due(report: CheckReport, known: Remembered, now: datetime) -> datetime:
    """One interval after the check was due; after a pause, one interval from now."""
    interval = timedelta(seconds=interval_seconds(report.poll))
    due = (known.due or now) + interval
    return due if due > now else now + interval


def _remember(
    conn: Connection, report: CheckReport, known: Remembered, after: Remembered, now: datetime
) -> bool:
    """Write the new memory unless somebody else was faster (a lost insert is tried again as a lost race)."""
    values: dict[str, Any] = {
        "state": None if after.memory is None else json_text(after.memory),
        "number": after.number,
        "due": after.due,
        "checked": now,
        "last_firing": after.last_firing,
        "error": report.error,
    }
    if after.last_firing is not None:
        values["fired"] = now
    if known.due is None:
        poll = report.poll
        definition = json_text(poll.model_dump(mode="json", by_alias=True))
        conn.execute(
            insert(tables.poll).values(poll_key=poll.key, kind=poll.kind, definition=definition, **values)
        )
        conn.execute(delete(tables.poll).where(_poll.checked < now - FORGET))
        return True
    done = conn.execute(
        update(tables.poll)
        .where(_poll.poll_key == report.poll.key, _poll.number == known.number)
        .values(**values)
    )
    return bool(done.rowcount)


def _wait(known: Remembered, now: datetime) -> float:
    return 0.0 if known.due is None else max(0.0, (known.due - now).total_seconds())

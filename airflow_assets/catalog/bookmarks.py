"""How far each exporter of a shipper has confirmed: rows of the table ``consumer`` of kind ``shipper``.

The row's name says tenant, shipper and exporter; its state, where the exporter began and which events are its
own.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, insert, select, update

from airflow_assets.catalog.engine import db_now, utc_now
from airflow_assets.catalog.log import last_seq
from airflow_assets.catalog.log_readers import read_readers
from airflow_assets.catalog.tables import consumer, lineage
from airflow_assets.exceptions import Conflict, InvalidRequest, NotFound
from airflow_assets.schemas.rules import json_text
from airflow_assets.schemas.shipping import Bookmark, Bookmarks, LineageFilter

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from airflow_assets.schemas.actors import Caller
    from airflow_assets.schemas.shipping import BookmarkMove, BookmarksOpen, ShippedDelete

KIND = "shipper"
_LONGEST_NAME = 250
_AT_ONE_TIME = 1_000


@dataclass(frozen=True)
class _Stored:
    seq: int
    state: dict[str, Any]

    @property
    def begin(self) -> int:
        return int(self.state["begin"])

    @property
    def filter(self) -> LineageFilter:
        return LineageFilter.model_validate(self.state["filter"])


def open_bookmarks(conn: Connection, caller: Caller, body: BookmarksOpen) -> Bookmarks:
    """Return the bookmarks of a shipper's exporters, made where there are none."""
    wanted = body.filter.to_json()
    items = []
    since: int | None = None
    for exporter in body.exporters:
        name = _name(caller, body.key, exporter)
        stored = _find(conn, name)
        if stored is None:
            if since is None:
                since = _first_since(conn, caller, db_now(conn) - timedelta(seconds=body.lookback))
            stored = _Stored(since, {"begin": since, "filter": wanted})
            row = {
                "kind": KIND,
                "name": name,
                "seq": since,
                "state": json_text(stored.state),
                "updated": utc_now(),
            }
            conn.execute(insert(consumer).values(row))
        else:
            if stored.state["filter"] != wanted:
                stored = _Stored(stored.seq, {**stored.state, "begin": stored.seq, "filter": wanted})
            values = {"state": json_text(stored.state), "updated": utc_now()}
            conn.execute(update(consumer).where(*_named(name)).values(values))
        items.append(Bookmark(exporter=exporter, seq=stored.seq, begin=stored.begin))
    return Bookmarks(items=items)


def move_bookmark(conn: Connection, caller: Caller, body: BookmarkMove) -> Bookmark:
    """Move a bookmark forward; a repeat changes nothing.

    Raises:
        InvalidRequest: the new place is before the old one.
        NotFound: the bookmark has not been opened.
        Conflict: somebody else has moved it meanwhile.
    """
    if body.seq < body.expected:
        raise InvalidRequest(
            f"A bookmark moves forward only, not from {body.expected} to {body.seq}.",
            field="seq",
            value=body.seq,
            limit=body.expected,
        )
    name = _name(caller, body.key, body.exporter)
    moved = conn.execute(
        update(consumer)
        .where(*_named(name), consumer.c.seq == body.expected)
        .values(seq=body.seq, updated=utc_now())
    ).rowcount
    stored = _find(conn, name)
    if stored is None:
        raise _not_opened(body.key, body.exporter)
    if not moved and stored.seq != body.seq:
        raise Conflict(
            f"The bookmark of exporter {body.exporter!r} of shipper {body.key!r} is at {stored.seq}, "
            f"not at {body.expected}: another run ships with it.",
            hint="Let one run at a time ship (max_active_runs=1), or give each an offset_key of its own.",
            value=stored.seq,
        )
    return Bookmark(exporter=body.exporter, seq=stored.seq, begin=stored.begin)


def deletable(conn: Connection, caller: Caller, body: ShippedDelete) -> tuple[int, int, LineageFilter]:
    """Return what of the log a shipper's exporters have all confirmed, and no other reader still needs.

    After, up to, and which events.

    Raises:
        NotFound: one of the exporters has no bookmark.
    """
    own = []
    for exporter in body.exporters:
        stored = _find(conn, _name(caller, body.key, exporter))
        if stored is None:
            raise _not_opened(body.key, exporter)
        own.append(stored)
    end = min(read_readers(conn).floor(lineage=True), *(stored.seq for stored in own))
    return max(stored.begin for stored in own), end, own[0].filter


def _first_since(conn: Connection, caller: Caller, since: datetime) -> int:
    """The number from which to read (exclusive) to see all lineage since then; compare ``log.py``."""
    last = last_seq(conn)
    early = (
        select(lineage.c.seq)
        .where(lineage.c.created >= since, lineage.c.tenant == caller.tenant)
        .order_by(lineage.c.created)
        .limit(_AT_ONE_TIME)
        .subquery()
    )
    first = conn.execute(select(func.min(early.c.seq))).scalar()
    return last if first is None else int(first) - 1


def _name(caller: Caller, key: str, exporter: str) -> str:
    """The key is what stands between the first and the last slash; a long one is cut and hashed."""
    name = f"{caller.tenant}/{key}/{exporter}"
    if len(name) <= _LONGEST_NAME:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()
    return f"{name[: _LONGEST_NAME - len(digest) - 1]}#{digest}"


def _named(name: str) -> tuple[Any, Any]:
    return consumer.c.kind == KIND, consumer.c.name == name


def _find(conn: Connection, name: str) -> _Stored | None:
    row = conn.execute(select(consumer.c.seq, consumer.c.state).where(*_named(name))).first()
    return None if row is None else _Stored(row.seq, json.loads(row.state))


def _not_opened(key: str, exporter: str) -> NotFound:
    return NotFound(
        f"The exporter {exporter!r} of shipper {key!r} has no bookmark.",
        hint="Open its bookmark first.",
        exporter=exporter,
    )

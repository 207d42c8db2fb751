"""How far each exporter of a shipper has confirmed: rows of the table ``consumer`` of kind ``shipper``.

The row's name says tenant, shipper and exporter; its state, their names, where the exporter began, which
events are its own, when it last confirmed, and how its last run ended.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select, update

from airflow_assets.catalog.engine import db_now, utc_now
from airflow_assets.catalog.log import first_seq_since
from airflow_assets.catalog.log_readers import read_readers
from airflow_assets.catalog.tables import consumer, event, lineage
from airflow_assets.exceptions import Conflict, InvalidRequest, NotFound
from airflow_assets.schemas.base import iso
from airflow_assets.schemas.rules import json_text
from airflow_assets.schemas.shipping import Bookmark, Bookmarks, LineageFilter

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from airflow_assets.schemas.actors import Caller
    from airflow_assets.schemas.shipping import BookmarkMove, BookmarksOpen, ShippedDelete

KIND = "shipper"
_LONGEST_NAME = 250


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
                begin = db_now(conn) - timedelta(seconds=body.lookback)
                since = first_seq_since(conn, caller.tenant, begin, (lineage, event))
            state = {"key": body.key, "exporter": exporter, "begin": since, "filter": wanted}
            stored = _Stored(since, state)
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
    """Move a bookmark forward, or leave it and note how a run ended; a repeat changes nothing.

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
    _note(conn, name, stored, body, moved=stored.seq > body.expected)
    return Bookmark(exporter=body.exporter, seq=stored.seq, begin=stored.begin)


def _note(conn: Connection, name: str, stored: _Stored, body: BookmarkMove, *, moved: bool) -> None:
    """Keep when the exporter has confirmed, and how its run ended."""
    noted: dict[str, Any] = {}
    now = iso(db_now(conn)) if moved or body.result is not None else None
    if moved:
        noted["confirmed"] = now
    if body.result is not None:
        noted["result"] = {**body.result.to_json(), "ended": now}
    if noted:
        values = {"state": json_text({**stored.state, **noted})}
        conn.execute(update(consumer).where(*_named(name)).values(values))


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

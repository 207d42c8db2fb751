"""Purging the log: usages, lineage events, events; each is looked for in one transaction, deleted in another.

A look reads some records in the order of their time, from where the one before ended, and decides which go.
It locks nothing, however few records match; the deletion names its rows by their keys, so it is short.

A lineage event whose usages stay leaves a *shell*: its run and state, which the usages need, without inputs
and outputs; listings leave shells out. A lineage event that is still young leaves one too, so that a repeat
of its record, or the reconciler, finds that it has been recorded.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, case, delete, exists, func, literal, or_, select, true, update

from airflow_assets.catalog import cursors
from airflow_assets.catalog.engine import utc_now
from airflow_assets.catalog.filters import is_hidden, is_within, one_of, visible, within
from airflow_assets.catalog.lineage import IS_WHOLE
from airflow_assets.catalog.log_readers import Readers
from airflow_assets.catalog.search import numbers_of
from airflow_assets.catalog.tables import asset, event, firing, lineage, purged_asset, usage
from airflow_assets.catalog.write_set import chunks
from airflow_assets.schemas.actors import Caller
from airflow_assets.schemas.purge import Purge

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import ColumnElement, Connection, Select

YOUNG = timedelta(minutes=15)
"""How long after its record somebody may look whether a try has one; the reconciler does for 10 minutes."""
Position = tuple[Any, ...] | None


@dataclass
class Look:
    """What one look found.

    :param wanted: keys of what goes. :param count: how many records that is, at most: another purge may be
        faster. :param kept: records that match and stay because somebody reads them still.
    :param position: the last record looked at. :param end: there are no more.
    """

    wanted: list[Any] = field(default_factory=list)
    count: int = 0
    kept: int = 0
    locked: int = 0
    position: Position = None
    end: bool = False


@dataclass(frozen=True)
class Task:
    """What all parts of one step share. :param end: purge what is as old as this."""

    caller: Caller
    body: Purge
    end: datetime
    readers: Readers


class UsagePurge:
    """Usages, in the order of their time."""

    kinds = (datetime, int, int, str)

    def look(self, conn: Connection, task: Task, after: Position, size: int) -> Look:
        """Look at the next ``size`` usages."""
        order = (usage.c.created, usage.c.lineage_seq, usage.c.asset_pk, usage.c.role)
        where = _of_asset(conn, task, usage.c.asset_pk)
        if where is None:
            return Look(end=True)
        source = usage.outerjoin(lineage, lineage.c.seq == usage.c.lineage_seq)
        # A usage without its lineage event is listed nowhere: nobody misses it.
        wanted = [or_(lineage.c.tenant == task.caller.tenant, lineage.c.tenant.is_(None))]
        if task.body.namespace or task.caller.hidden_namespaces:
            source = source.outerjoin(asset, asset.c.pk == usage.c.asset_pk)
            source = source.outerjoin(purged_asset, purged_asset.c.asset_pk == usage.c.asset_pk)
            wanted += _of_namespace(task, func.coalesce(asset.c.namespace, purged_asset.c.namespace))
        rows: Select[Any] = select(*order, _flag(wanted)).select_from(source)
        found, look = _page(conn, rows.where(usage.c.created <= task.end, *where), order, after, size)
        look.wanted = [row for row in found if row.wanted]
        look.count = len(look.wanted)
        return look

    def delete(self, conn: Connection, task: Task, wanted: Sequence[Any]) -> int:  # noqa: ARG002
        """Delete usages, and the shells that no usage needs any more."""
        count = 0
        for rows in chunks(wanted):
            seqs = sorted({row.lineage_seq for row in rows})
            # Any pair of these is wanted, since its time and its asset are.
            pks = sorted({row.asset_pk for row in rows})
            count += conn.execute(
                delete(usage).where(usage.c.lineage_seq.in_(seqs), usage.c.asset_pk.in_(pks))
            ).rowcount
            conn.execute(
                delete(lineage).where(
                    lineage.c.seq.in_(seqs),
                    ~IS_WHOLE,
                    lineage.c.created <= _now(conn) - YOUNG,
                    ~exists().where(usage.c.lineage_seq == lineage.c.seq),
                )
            )
        return count


class LineagePurge:
    """Lineage events, in the order of their time."""

    kinds = (datetime, int)

    def look(self, conn: Connection, task: Task, after: Position, size: int) -> Look:
        """Look at the next ``size`` lineage events; of a namespace is one all of whose assets are of it."""
        order = (lineage.c.created, lineage.c.seq)
        floor = task.readers.floor(lineage=True)
        by_namespace = bool(task.body.namespace or task.caller.hidden_namespaces)
        texts = (lineage.c.inputs, lineage.c.outputs) if by_namespace else ()
        wanted = _flag([lineage.c.tenant == task.caller.tenant])
        rows: Select[Any] = select(*order, lineage.c.bundle, *texts, wanted)
        found, look = _page(conn, rows.where(lineage.c.created <= task.end), order, after, size)
        matching = [
            row
            for row in found
            if row.wanted and (row.bundle < 0 or not by_namespace or _all_within(task, row))
        ]
        look.wanted = [row.seq for row in matching if row.bundle < 0 or row.seq <= floor]
        look.count = sum(row.bundle >= 0 and row.seq <= floor for row in matching)
        look.kept = sum(row.bundle >= 0 and row.seq > floor for row in matching)
        return look

    def delete(self, conn: Connection, task: Task, wanted: Sequence[Any]) -> int:  # noqa: ARG002
        """Delete lineage events, or leave their shells, and delete shells that are not needed any more."""
        count = 0
        needed = or_(
            exists().where(usage.c.lineage_seq == lineage.c.seq), lineage.c.created > _now(conn) - YOUNG
        )
        for seqs in chunks(wanted):
            some = lineage.c.seq.in_(seqs)
            shells = conn.scalars(select(lineage.c.seq).where(some, needed)).all()
            if shells:
                emptied = {"inputs": "[]", "outputs": "[]", "warnings": "[]", "error": None}
                count += conn.execute(
                    update(lineage)
                    .where(lineage.c.seq.in_(sorted(shells)), IS_WHOLE)
                    .values(bundle=-1 - lineage.c.bundle, **emptied)
                ).rowcount
            rest = lineage.c.seq.in_(sorted(set(seqs) - set(shells)))
            count += conn.execute(delete(lineage).where(rest, IS_WHOLE)).rowcount
            conn.execute(delete(lineage).where(rest, ~IS_WHOLE))
        return count


class EventPurge:
    """Events, in the order of their time; those after the first reader's position stay."""

    kinds = (datetime, int)

    def look(self, conn: Connection, task: Task, after: Position, size: int) -> Look:
        """Look at the next ``size`` events."""
        where = _of_asset(conn, task, event.c.asset_pk)
        if where is None:
            return Look(end=True)
        order = (event.c.created, event.c.seq)
        floor = task.readers.floor(lineage=False)
        wanted = [event.c.tenant == task.caller.tenant, *_of_namespace(task, event.c.namespace)]
        if task.body.asset_type is not None:
            wanted.append(event.c.type.in_(task.body.asset_type))
        rows = select(*order, _flag(wanted)).where(event.c.created <= task.end, *where)
        found, look = _page(conn, rows, order, after, size)
        matching = [row.seq for row in found if row.wanted]
        look.wanted = [seq for seq in matching if seq <= floor]
        look.count = len(look.wanted)
        look.kept = len(matching) - look.count
        return look

    def delete(self, conn: Connection, task: Task, wanted: Sequence[Any]) -> int:  # noqa: ARG002
        """Delete events."""
        return sum(
            conn.execute(delete(event).where(event.c.seq.in_(seqs))).rowcount for seqs in chunks(wanted)
        )


class FiringPurge:
    """Firings of polled schedules, which go with the events when all of those do; nobody counts them."""

    kinds = (datetime, int)

    def look(self, conn: Connection, task: Task, after: Position, size: int) -> Look:
        """Look at the next ``size`` firings."""
        body = task.body
        if body.namespace or body.asset_id or body.asset_type is not None or task.caller.hidden_namespaces:
            return Look(end=True)
        order = (firing.c.created, firing.c.seq)
        wanted = [firing.c.tenant == task.caller.tenant, firing.c.seq <= task.readers.floor(lineage=False)]
        rows = select(*order, _flag(wanted)).where(firing.c.created <= task.end)
        found, look = _page(conn, rows, order, after, size)
        look.wanted = [row.seq for row in found if row.wanted]
        return look

    def delete(self, conn: Connection, task: Task, wanted: Sequence[Any]) -> int:  # noqa: ARG002
        """Delete firings."""
        for seqs in chunks(wanted):
            conn.execute(delete(firing).where(firing.c.seq.in_(seqs)))
        return 0


def _page(
    conn: Connection, rows: Select[Any], order: Sequence[ColumnElement[Any]], after: Position, size: int
) -> tuple[Sequence[Any], Look]:
    if after is not None:
        rows = rows.where(cursors.beyond(conn.dialect.name, order, after))
    found = conn.execute(rows.order_by(*order).limit(size)).all()
    look = Look(end=len(found) < size)
    if found:
        look.position = tuple(getattr(found[-1], column.name) for column in order)
    return found, look


def _flag(conditions: Sequence[ColumnElement[bool]]) -> ColumnElement[Any]:
    """The conditions as a column: the page is one of all records, so that its cost has a bound."""
    return case((and_(true(), *conditions), literal(1)), else_=literal(0)).label("wanted")


def _of_namespace(task: Task, namespace: ColumnElement[Any]) -> list[ColumnElement[bool]]:
    found = [visible(namespace, task.caller)]
    if task.body.namespace is not None:
        found.append(within(namespace, task.body.namespace))
    return found


def _of_asset(conn: Connection, task: Task, pk: ColumnElement[Any]) -> list[ColumnElement[bool]] | None:
    """The condition that a record is of the wanted asset, if one is wanted; null when there is none."""
    if task.body.asset_id is None:
        return []
    numbers = numbers_of(conn, task.caller, task.body.asset_id)
    return [one_of(pk, numbers)] if numbers else None


def _all_within(task: Task, row: Any) -> bool:
    namespaces = list(_namespaces(row))
    if any(is_hidden(one, task.caller) for one in namespaces):
        return False
    wanted = task.body.namespace
    return wanted is None or (bool(namespaces) and all(is_within(one, wanted) for one in namespaces))


def _namespaces(row: Any) -> Iterator[str | None]:
    for text in (row.inputs, row.outputs):
        yield from (ref["namespace"] for ref in json.loads(text))


def _now(conn: Connection) -> datetime:
    return conn.execute(select(utc_now())).scalar_one()

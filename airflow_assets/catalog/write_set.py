"""The rows of one transaction, written at its end in one fixed order.

The order is what keeps writers from dead locks and readers of the log from gaps: assets by key, their
metadata and aliases, edges by key, then the sequence row, then lineage, usages and events. Taking the
sequence row locks it until the commit, so transactions commit in the order of their numbers.

This module only writes: what the rows should be is decided by :mod:`~airflow_assets.catalog.assets` and
:mod:`~airflow_assets.catalog.record`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeVar

import uuid6
from sqlalchemy import bindparam, delete, func, insert, select, update
from sqlalchemy.dialects import mysql, postgresql, sqlite

from airflow_assets.catalog import tables, write_postgres
from airflow_assets.catalog.states import AssetState
from airflow_assets.catalog.values import equal, id_sort, value_columns
from airflow_assets.catalog.write_postgres import EDGE_REST
from airflow_assets.schemas.rules import json_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection, Table

_Item = TypeVar("_Item")
LOG = "log"
_MYSQL = frozenset({"mysql", "mariadb"})
_IN_LIST = 500
_ROWS = 500


@dataclass(frozen=True, slots=True)
class Touch:
    """One asset before and after the transaction; ``before`` is null for a new one."""

    before: AssetState | None
    after: AssetState

    def changed_metadata(self) -> tuple[list[str], list[str]]:
        """Return the keys that are no longer there, and those that are new or have a new value."""
        old, new = self.before.metadata if self.before else {}, self.after.metadata
        if old is new:
            return [], []
        come = [name for name, value in new.items() if name not in old or not equal(old[name], value)]
        return sorted(old.keys() - new), sorted(come)


@dataclass(frozen=True, slots=True)
class EventRow:
    """An event without its number: the asset by key, the table's other columns as they are stored."""

    asset: AssetState
    kind: str
    diff: dict[str, list[Any]]


@dataclass(frozen=True, slots=True)
class LineageRow:
    """A lineage row without its number, and the assets (by key) its usages are for."""

    columns: dict[str, Any]
    inputs: tuple[bytes, ...] = ()
    outputs: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class EdgeRow:
    """An edge of the graph; null for the end that the task itself is."""

    source: bytes | None
    target: bytes | None
    dag_id: str
    task_id: str


@dataclass(slots=True)
class WriteSet:
    """What one transaction writes.

    :param now: the time of everything that is written.
    :param source: JSON text of the :class:`~airflow_assets.schemas.actors.Source` of the events.
    :param pks: row numbers of the assets known so far, by key; completed by :meth:`write`.
    """

    tenant: str
    now: datetime
    source: str
    depth: int = 0
    pks: dict[bytes, int] = field(default_factory=dict)
    assets: dict[bytes, Touch] = field(default_factory=dict)
    dropped_aliases: list[bytes] = field(default_factory=list)
    aliases: list[dict[str, Any]] = field(default_factory=list)
    edges: set[EdgeRow] = field(default_factory=set)
    lineage: list[LineageRow] = field(default_factory=list)
    events: list[EventRow] = field(default_factory=list)

    def write(self, conn: Connection, *, last: bool = False) -> bool:
        """Write everything and tell whether there were events.

        :param last: nothing else follows in the transaction, so it may be committed already.

        Raises:
            IntegrityError: somebody else wrote one of the new rows first; run the transaction again.
        """
        if write_postgres.fits(conn, self):
            write_postgres.write(conn, self, last=last)
            return bool(self.events)
        self._write_assets(conn)
        self._write_metadata(conn)
        self._write_aliases(conn)
        self._write_edges(conn)
        self._write_log(conn)
        return bool(self.events)

    def _write_assets(self, conn: Connection) -> None:
        touched = [self.assets[key] for key in sorted(self.assets)]
        new = [touch.after for touch in touched if touch.before is None]
        if new:
            insert_rows(conn, tables.asset, [state.columns() for state in new])
            for keys in chunks([state.key for state in new]):
                found = conn.execute(_PKS.where(tables.asset.c.asset_key.in_(keys)))
                self.pks.update((bytes(key), pk) for key, pk in found)
        changed = [touch.after for touch in touched if touch.before and touch.before.key == touch.after.key]
        if changed:
            replace_rows(conn, tables.asset, [{"pk": state.pk, **state.columns()} for state in changed])
        moved = [touch.after for touch in touched if touch.before and touch.before.key != touch.after.key]
        for state in moved:
            row = update(tables.asset).where(tables.asset.c.pk == state.pk)
            conn.execute(row.values(state.columns()))

    def _write_metadata(self, conn: Connection) -> None:
        stale: list[dict[str, Any]] = []
        fresh: list[dict[str, Any]] = []
        for key in sorted(self.assets):
            before, after = self.assets[key].before, self.assets[key].after
            pk, sort = self.pks[key], id_sort(after.id)
            gone, come = self.assets[key].changed_metadata()
            if before and before.id != after.id:
                come = sorted(after.metadata)  # the rows carry the id's sort key
            stale += [{"row_pk": pk, "row_field": name} for name in gone]
            fresh += [
                {"asset_pk": pk, "id_sort": sort, **value_columns(name, after.metadata[name])}
                for name in come
            ]
        if stale:
            conn.execute(_DELETE_VALUE, stale)
        if fresh:
            replace_rows(conn, tables.metadata_value, fresh)

    def _write_aliases(self, conn: Connection) -> None:
        for keys in chunks(sorted(self.dropped_aliases)):
            conn.execute(delete(tables.alias).where(tables.alias.c.alias_key.in_(keys)))
        if self.aliases:
            insert_rows(conn, tables.alias, sorted(self.aliases, key=lambda row: row["alias_key"]))

    def _write_edges(self, conn: Connection) -> None:
        rows = {row["edge_key"]: row for row in self.edge_rows()}
        if not rows:
            return
        keys = list(rows)
        seen: dict[bytes, datetime] = {}
        for some in chunks(keys):
            found = conn.execute(_EDGES_SEEN.where(tables.edge.c.edge_key.in_(some)))
            seen.update((bytes(key), last_seen) for key, last_seen in found)
        times = {"first_seen": self.now, "last_seen": self.now}
        new = [{**rows[key], **times} for key in keys if key not in seen]
        old = [{"row_key": key} for key in keys if key in seen and seen[key] <= self.now - EDGE_REST]
        if old:
            conn.execute(_SEE_EDGE.values(last_seen=self.now), old)
        if new:
            insert_rows(conn, tables.edge, new, ignore=True)

    def edge_rows(self) -> list[dict[str, Any]]:
        """Return the distinct edges by key, without their times."""
        rows = {row["edge_key"]: row for row in map(self._edge_columns, self.edges)}
        return [rows[key] for key in sorted(rows)]

    def _edge_columns(self, edge: EdgeRow) -> dict[str, Any]:
        source = self.pks[edge.source] if edge.source else 0
        target = self.pks[edge.target] if edge.target else 0
        return {
            "edge_key": edge_key(source, target, edge.dag_id, edge.task_id),
            "source_pk": source,
            "target_pk": target,
            "dag_id": edge.dag_id,
            "task_id": edge.task_id,
        }

    def _write_log(self, conn: Connection) -> None:
        count = len(self.lineage) + len(self.events)
        if not count:
            return
        first = take_numbers(conn, count)
        write_postgres.may_number(conn)
        lineage = [
            {**row.columns, "seq": seq, "tenant": self.tenant, "created": self.now}
            for seq, row in enumerate(self.lineage, first)
        ]
        usages = [
            {"lineage_seq": seq, "asset_pk": pk, "role": role, "created": self.now}
            for seq, line in enumerate(self.lineage, first)
            for role, pk in self.usages(line)
        ]
        shared = {"tenant": self.tenant, "created": self.now}
        events = [
            {**self.event_columns(row), "seq": seq, **shared}
            for seq, row in enumerate(self.events, first + len(lineage))
        ]
        for table, rows in ((tables.lineage, lineage), (tables.usage, usages), (tables.event, events)):
            if rows:
                insert_rows(conn, table, rows)

    def usages(self, line: LineageRow) -> Iterator[tuple[str, int]]:
        """Yield role and asset of each usage of a lineage row."""
        for role, keys in (("i", line.inputs), ("o", line.outputs)):
            for pk in sorted({self.pks[key] for key in keys}):
                yield role, pk

    def event_columns(self, row: EventRow) -> dict[str, Any]:
        """Return an event's columns but for its number, tenant and time."""
        return {
            "event_id": str(uuid6.uuid7()),
            "asset_pk": self.pks[row.asset.key],
            "kind": row.kind,
            "namespace": row.asset.namespace,
            "type": row.asset.type,
            "payload": json_text(row.asset.payload()),
            "diff": json_text(row.diff),
            "source": self.source,
            "depth": self.depth,
            "suppressed": None,
        }


def edge_key(source_pk: int, target_pk: int, dag_id: str, task_id: str) -> bytes:
    """Return the 16 bytes that name an edge of the graph; 0 for the end that is only the task."""
    identity = json_text([source_pk, target_pk, dag_id, task_id]).encode()
    return blake2b(identity, digest_size=16).digest()


def take_numbers(conn: Connection, count: int) -> int:
    """Lock the sequence until the commit and return the first of ``count`` new numbers.

    Nothing that can wait may follow in the transaction: every other writer waits behind it.
    """
    if not conn.execute(_ADVANCE, {"count": count}).rowcount:
        # Tables made by another way than the migrations, or emptied: go on behind what is there.
        last = max(conn.execute(select(func.coalesce(func.max(t.c.seq), 0))).scalar_one() for t in _NUMBERED)
        conn.execute(insert(tables.sequence).values(name=LOG, value=last + count))
        return int(last) + 1
    return int(conn.execute(_LAST).scalar_one()) - count + 1


def chunks(items: Sequence[_Item], size: int = _IN_LIST) -> Iterator[Sequence[_Item]]:
    """Cut a list for ``IN``: SQLite limits the variables of a statement."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def insert_rows(
    conn: Connection, table: Table, rows: Sequence[dict[str, Any]], *, ignore: bool = False
) -> None:
    """Insert rows, many in one statement; with ``ignore`` those that are there already stay as they are."""
    _in_portions(conn, _insertion(conn.dialect.name, table, ignore), rows)


def replace_rows(conn: Connection, table: Table, rows: Sequence[dict[str, Any]]) -> None:
    """Write rows by primary key, many in one statement, whether they are there or not.

    Columns that the rows leave out stay as they are.
    """
    _in_portions(conn, _replacement(conn.dialect.name, table, tuple(rows[0])), rows)


@lru_cache(maxsize=256)
def _insertion(dialect: str, table: Table, ignore: bool) -> Any:
    if ignore and dialect in _MYSQL:
        return insert(table).prefix_with("IGNORE")
    return _own_insert(dialect, table).on_conflict_do_nothing() if ignore else insert(table)


@lru_cache(maxsize=256)
def _replacement(dialect: str, table: Table, columns: tuple[str, ...]) -> Any:
    """A statement is made once: making it takes longer than carrying it out."""
    statement: Any = _own_insert(dialect, table)
    keys = [column.name for column in table.primary_key]
    given = [name for name in columns if name not in keys]
    if dialect in _MYSQL:
        return statement.on_duplicate_key_update({name: statement.inserted[name] for name in given})
    new_values = {name: statement.excluded[name] for name in given}
    return statement.on_conflict_do_update(index_elements=keys, set_=new_values)


def _own_insert(dialect: str, table: Table) -> Any:
    if dialect in _MYSQL:
        return mysql.insert(table)
    return sqlite.insert(table) if dialect == "sqlite" else postgresql.insert(table)


def _in_portions(conn: Connection, statement: Any, rows: Sequence[dict[str, Any]]) -> None:
    for start in range(0, len(rows), _ROWS):
        conn.execute(statement, rows[start : start + _ROWS])


_NUMBERED = (tables.event, tables.lineage, tables.firing)
_PKS = select(tables.asset.c.asset_key, tables.asset.c.pk)
_DELETE_VALUE = delete(tables.metadata_value).where(
    tables.metadata_value.c.asset_pk == bindparam("row_pk"),
    tables.metadata_value.c.field == bindparam("row_field"),
)
_EDGES_SEEN = select(tables.edge.c.edge_key, tables.edge.c.last_seen)
_SEE_EDGE = update(tables.edge).where(tables.edge.c.edge_key == bindparam("row_key"))
_ADVANCE = (
    update(tables.sequence)
    .where(tables.sequence.c.name == LOG)
    .values(value=tables.sequence.c.value + bindparam("count"))
)
_LAST = select(tables.sequence.c.value).where(tables.sequence.c.name == LOG)

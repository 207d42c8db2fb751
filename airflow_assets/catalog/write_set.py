"""The rows of one transaction, written at its end in one fixed order.

The order is what keeps writers from dead locks and readers of the log from gaps: assets by key, their
metadata and aliases, edges by key, then the sequence row, then lineage, usages and events. Taking the
sequence row locks it until the commit, so transactions commit in the order of their numbers.

This module only writes: what the rows should be is decided by :mod:`~airflow_assets.catalog.assets` and
:mod:`~airflow_assets.catalog.record`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import uuid6
from sqlalchemy import bindparam, delete, func, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from airflow_assets.catalog import tables
from airflow_assets.catalog.states import AssetState
from airflow_assets.catalog.values import equal, id_sort, value_columns
from airflow_assets.schemas.rules import json_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sqlalchemy import Connection, Table

LOG = "log"
EDGE_REST = timedelta(hours=1)
"""How often at most ``edge.last_seen`` moves."""
_IN_LIST = 500
_ROWS = 500


@dataclass(frozen=True, slots=True)
class Touch:
    """One asset before and after the transaction; ``before`` is null for a new one."""

    before: AssetState | None
    after: AssetState


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

    def write(self, conn: Connection) -> list[int]:
        """Write everything and return the numbers of the events, in their order.

        Raises:
            IntegrityError: somebody else wrote one of the new rows first; run the transaction again.
        """
        self._write_assets(conn)
        self._write_metadata(conn)
        self._write_aliases(conn)
        self._write_edges(conn)
        return self._write_log(conn)

    def _write_assets(self, conn: Connection) -> None:
        touched = [self.assets[key] for key in sorted(self.assets)]
        new = [touch.after for touch in touched if touch.before is None]
        if new:
            _insert(conn, tables.asset, [state.columns() for state in new])
            for keys in chunks([state.key for state in new]):
                found = conn.execute(_PKS.where(tables.asset.c.asset_key.in_(keys)))
                self.pks.update((bytes(key), pk) for key, pk in found)
        changed = [touch.after for touch in touched if touch.before is not None]
        if changed:
            conn.execute(_UPDATE_ASSET, [{**state.columns(), "row_pk": state.pk} for state in changed])

    def _write_metadata(self, conn: Connection) -> None:
        stale: list[dict[str, Any]] = []
        fresh: list[dict[str, Any]] = []
        renamed: list[dict[str, Any]] = []
        for key in sorted(self.assets):
            before, after = self.assets[key].before, self.assets[key].after
            pk, sort = self.pks[key], id_sort(after.id)
            old = before.metadata if before else {}
            if old is not after.metadata:
                gone = [name for name, value in old.items() if not _same(after.metadata, name, value)]
                come = [name for name, value in after.metadata.items() if not _same(old, name, value)]
                stale += [{"row_pk": pk, "row_field": name} for name in sorted(gone)]
                fresh += [
                    {"asset_pk": pk, "id_sort": sort, **value_columns(name, after.metadata[name])}
                    for name in sorted(come)
                ]
            if before and before.id != after.id:
                renamed.append({"row_pk": pk, "new_sort": sort})
        if stale:
            conn.execute(_DELETE_VALUE, stale)
        if renamed:
            conn.execute(_MOVE_VALUES, renamed)
        if fresh:
            _insert(conn, tables.metadata_value, fresh)

    def _write_aliases(self, conn: Connection) -> None:
        for keys in chunks(sorted(self.dropped_aliases)):
            conn.execute(delete(tables.alias).where(tables.alias.c.alias_key.in_(keys)))
        if self.aliases:
            _insert(conn, tables.alias, sorted(self.aliases, key=lambda row: row["alias_key"]))

    def _write_edges(self, conn: Connection) -> None:
        rows = {row["edge_key"]: row for row in map(self._edge_columns, self.edges)}
        if not rows:
            return
        keys = sorted(rows)
        seen: dict[bytes, datetime] = {}
        for some in chunks(keys):
            found = conn.execute(_EDGES_SEEN.where(tables.edge.c.edge_key.in_(some)))
            seen.update((bytes(key), last_seen) for key, last_seen in found)
        new = [rows[key] for key in keys if key not in seen]
        old = [{"row_key": key} for key in keys if key in seen and seen[key] <= self.now - EDGE_REST]
        if old:
            conn.execute(_SEE_EDGE.values(last_seen=self.now), old)
        if new:
            _insert(conn, tables.edge, new, ignore=True)

    def _edge_columns(self, edge: EdgeRow) -> dict[str, Any]:
        source = self.pks[edge.source] if edge.source else 0
        target = self.pks[edge.target] if edge.target else 0
        identity = json_text([source, target, edge.dag_id, edge.task_id]).encode()
        return {
            "edge_key": blake2b(identity, digest_size=16).digest(),
            "source_pk": source,
            "target_pk": target,
            "dag_id": edge.dag_id,
            "task_id": edge.task_id,
            "first_seen": self.now,
            "last_seen": self.now,
        }

    def _write_log(self, conn: Connection) -> list[int]:
        count = len(self.lineage) + len(self.events)
        if not count:
            return []
        first = take_numbers(conn, count)
        lineage = [
            {**row.columns, "seq": seq, "tenant": self.tenant, "created": self.now}
            for seq, row in enumerate(self.lineage, first)
        ]
        usages = [row for seq, line in enumerate(self.lineage, first) for row in self._usages(seq, line)]
        first += len(lineage)
        events = [self._event_columns(seq, row) for seq, row in enumerate(self.events, first)]
        for table, rows in ((tables.lineage, lineage), (tables.usage, usages), (tables.event, events)):
            if rows:
                _insert(conn, table, rows)
        return [row["seq"] for row in events]

    def _usages(self, seq: int, line: LineageRow) -> Iterator[dict[str, Any]]:
        for role, keys in (("i", line.inputs), ("o", line.outputs)):
            for pk in sorted({self.pks[key] for key in keys}):
                yield {"lineage_seq": seq, "asset_pk": pk, "role": role, "created": self.now}

    def _event_columns(self, seq: int, row: EventRow) -> dict[str, Any]:
        return {
            "seq": seq,
            "event_id": str(uuid6.uuid7()),
            "tenant": self.tenant,
            "asset_pk": self.pks[row.asset.key],
            "kind": row.kind,
            "created": self.now,
            "namespace": row.asset.namespace,
            "type": row.asset.type,
            "payload": json_text(row.asset.payload()),
            "diff": json_text(row.diff),
            "source": self.source,
            "depth": self.depth,
            "suppressed": None,
        }


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


def chunks(items: Sequence[bytes], size: int = _IN_LIST) -> Iterator[Sequence[bytes]]:
    """Cut a list for ``IN``: SQLite limits the variables of a statement."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def _same(metadata: dict[str, Any], name: str, value: Any) -> bool:
    return name in metadata and equal(metadata[name], value)


def _insert(conn: Connection, table: Table, rows: Sequence[dict[str, Any]], *, ignore: bool = False) -> None:
    statement: Any = insert(table)
    if ignore:
        dialect = conn.dialect.name
        if dialect in {"mysql", "mariadb"}:
            statement = statement.prefix_with("IGNORE")
        else:
            module: Any = sqlite if dialect == "sqlite" else postgresql
            statement = module.insert(table).on_conflict_do_nothing()
    for start in range(0, len(rows), _ROWS):
        conn.execute(statement, rows[start : start + _ROWS])


def _assignments(columns: Iterable[str]) -> dict[str, Any]:
    return {name: bindparam(name) for name in columns}


_NUMBERED = (tables.event, tables.lineage)
_PKS = select(tables.asset.c.asset_key, tables.asset.c.pk)
_UPDATE_ASSET = (
    update(tables.asset)
    .where(tables.asset.c.pk == bindparam("row_pk"))
    .values(_assignments(column.name for column in tables.asset.c if column.name not in {"pk", "tenant"}))
)
_DELETE_VALUE = delete(tables.metadata_value).where(
    tables.metadata_value.c.asset_pk == bindparam("row_pk"),
    tables.metadata_value.c.field == bindparam("row_field"),
)
_MOVE_VALUES = (
    update(tables.metadata_value)
    .where(tables.metadata_value.c.asset_pk == bindparam("row_pk"))
    .values(id_sort=bindparam("new_sort"))
)
_EDGES_SEEN = select(tables.edge.c.edge_key, tables.edge.c.last_seen)
_SEE_EDGE = update(tables.edge).where(tables.edge.c.edge_key == bindparam("row_key"))
_ADVANCE = (
    update(tables.sequence)
    .where(tables.sequence.c.name == LOG)
    .values(value=tables.sequence.c.value + bindparam("count"))
)
_LAST = select(tables.sequence.c.value).where(tables.sequence.c.name == LOG)

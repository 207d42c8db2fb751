"""What task runs read and wrote, as they recorded it: usages of assets and lineage events, newest first.

Both name an asset as it was called at the time and are there as long as they are not purged, also when the
asset is deleted. A filter by asset means the asset that has or had the id; of an asset that there never was,
or that the caller may not see, there is nothing to list.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, func, or_, select

from airflow_assets.catalog import cursors
from airflow_assets.catalog.filters import is_hidden, one_of, storable, visible
from airflow_assets.catalog.search import numbers_of
from airflow_assets.catalog.tables import alias, asset, lineage, purged_asset, usage
from airflow_assets.schemas.assets import AssetRef
from airflow_assets.schemas.base import Page
from airflow_assets.schemas.lineage import LineageEvent, Role, TaskError, TaskRun, TaskState, Usage
from airflow_assets.schemas.rules import identity

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from sqlalchemy import ColumnElement, Connection, FromClause, Row

    from airflow_assets.schemas.actors import Caller
    from airflow_assets.schemas.queries import LineageQuery, UsageQuery

_USAGES = "usages:-seq"
_LINEAGE = "lineage:-seq"
ROLES = {"i": Role.INPUT, "o": Role.OUTPUT}
_LETTERS = {role: letter for letter, role in ROLES.items()}
_KEYS = 5_000
IS_WHOLE = lineage.c.bundle >= 0
"""False for the shell that a purged lineage event leaves while usages, or repeats of the record, need it."""
_RUN_COLUMNS = (
    lineage.c.dag_id,
    lineage.c.run_id,
    lineage.c.task_id,
    lineage.c.map_index,
    lineage.c.try_number,
    lineage.c.ti_id,
    lineage.c.state,
)


def list_usages(conn: Connection, caller: Caller, query: UsageQuery) -> Page[Usage]:
    """Return one page of usages: one for each asset a bundle of a try read or wrote.

    :raises InvalidCursor: the cursor is of another listing.
    """
    seen = cursors.decode(_USAGES, query.cursor, [int, int, str])
    order = (usage.c.lineage_seq, usage.c.asset_pk, usage.c.role)
    namespace = func.coalesce(asset.c.namespace, purged_asset.c.namespace)
    where = [*_of_runs(query), lineage.c.tenant == caller.tenant, visible(namespace, caller)]
    where.append(or_(asset.c.pk.is_not(None), purged_asset.c.asset_pk.is_not(None)))
    where.append(_of_asset(conn, caller, query))
    if query.role is not None:
        where.append(usage.c.role == _LETTERS[query.role])
    if seen is not None:
        where.append(cursors.beyond(conn.dialect.name, order, seen, descending=True))
    name = func.coalesce(asset.c.id, purged_asset.c.id).label("id")
    columns = (*order, usage.c.created, name, *_RUN_COLUMNS)
    rows = conn.execute(
        select(*columns)
        .join_from(usage, lineage, lineage.c.seq == usage.c.lineage_seq)
        .outerjoin(asset, asset.c.pk == usage.c.asset_pk)
        .outerjoin(purged_asset, purged_asset.c.asset_pk == usage.c.asset_pk)
        .where(*where)
        .order_by(*(column.desc() for column in order))
        .limit(query.limit + 1)
    ).all()
    shown = rows[: query.limit]
    last = [getattr(shown[-1], column.name) for column in order] if len(rows) > query.limit else None
    return Page(
        items=[_usage(row) for row in shown],
        next_cursor=cursors.encode(_USAGES, last) if last is not None else None,
    )


def list_lineage(conn: Connection, caller: Caller, query: LineageQuery) -> Page[LineageEvent]:
    """Return one page of lineage events: one for each bundle of a try.

    Assets that are hidden from the caller are left out of inputs and outputs.

    :raises InvalidCursor: the cursor is of another listing.
    """
    seen = cursors.decode(_LINEAGE, query.cursor, [int])
    where = [*_of_runs(query), lineage.c.tenant == caller.tenant, IS_WHOLE]
    source: FromClause = lineage
    seq: ColumnElement[int] = lineage.c.seq
    if query.asset_id is not None:
        source = usage.join(lineage, lineage.c.seq == usage.c.lineage_seq)
        seq = usage.c.lineage_seq
        where += [_of_asset(conn, caller, query), _first_role()]
    if seen is not None:
        where.append(seq < seen[0])
    statement = select(lineage).select_from(source).where(*where)
    rows = conn.execute(statement.order_by(seq.desc()).limit(query.limit + 1)).all()
    shown = rows[: query.limit]
    refs = Refs.of(conn, caller, shown)
    return Page(
        items=[event_of(row, refs) for row in shown],
        next_cursor=cursors.encode(_LINEAGE, [shown[-1].seq]) if len(rows) > query.limit else None,
    )


def _of_runs(query: LineageQuery) -> list[ColumnElement[bool]]:
    wanted = (
        (lineage.c.dag_id, query.dag_id),
        (lineage.c.run_id, query.run_id),
        (lineage.c.task_id, query.task_id),
    )
    return [column == storable(column.name, value) for column, value in wanted if value is not None]


def _of_asset(conn: Connection, caller: Caller, query: LineageQuery) -> ColumnElement[bool]:
    """The condition on usages that they are of the wanted asset."""
    if query.asset_id is None:
        return usage.c.asset_pk > 0
    return one_of(usage.c.asset_pk, numbers_of(conn, caller, query.asset_id))


def _first_role() -> ColumnElement[bool]:
    """Of an asset that a bundle both read and wrote, one usage only."""
    other = usage.alias("other")
    written_too = (
        select(other.c.role)
        .where(
            other.c.lineage_seq == usage.c.lineage_seq,
            other.c.asset_pk == usage.c.asset_pk,
            other.c.role == "o",
        )
        .exists()
    )
    return or_(usage.c.role == "o", and_(usage.c.role == "i", ~written_too))


def _usage(row: Any) -> Usage:
    return Usage(
        asset_id=row.id,
        role=ROLES[row.role],
        task=_task(row),
        state=TaskState(row.state),
        created=row.created,
        lineage_seq=row.lineage_seq,
    )


def _task(row: Any) -> TaskRun:
    return TaskRun(
        dag_id=row.dag_id,
        run_id=row.run_id,
        task_id=row.task_id,
        map_index=row.map_index,
        try_number=row.try_number,
        ti_id=row.ti_id,
    )


def event_of(row: Row[Any], refs: Refs) -> LineageEvent:
    """Return the lineage event of a row of the table ``lineage``."""
    return LineageEvent(
        seq=row.seq,
        task=_task(row),
        bundle=row.bundle,
        state=TaskState(row.state),
        inputs=refs.visible(row.inputs),
        outputs=refs.visible(row.outputs),
        warnings=refs.visible_warnings(row.warnings),
        error=error_of(row),
        start_date=row.start_date,
        end_date=row.end_date,
        created=row.created,
    )


def error_of(row: Row[Any]) -> TaskError | None:
    """Return the exception of a row of the table ``lineage``."""
    return TaskError.model_construct(**json.loads(row.error)) if row.error else None


class Refs:
    """The assets named in some lineage rows, without those that are hidden now or were then."""

    def __init__(self, caller: Caller, hidden: Collection[str]) -> None:
        """:param hidden: the ids that name, or named before a rename, an asset that is hidden now."""
        self._caller = caller
        self._hidden = hidden

    @classmethod
    def of(cls, conn: Connection, caller: Caller, rows: Sequence[Row[Any]]) -> Refs:
        """Look up which are hidden; no statement where nothing is."""
        if not caller.hidden_namespaces:
            return cls(caller, ())
        refs = (ref for row in rows for text in (row.inputs, row.outputs) for ref in json.loads(text))
        return cls(caller, set(hidden_ids(conn, caller, sorted({ref["id"] for ref in refs}))))

    def visible(self, text: str) -> list[AssetRef]:
        """Return the refs of a column ``inputs`` or ``outputs``."""
        return [
            AssetRef.model_construct(id=ref["id"], type=ref["type"], namespace=ref["namespace"])
            for ref in json.loads(text)
            if ref["id"] not in self._hidden and not is_hidden(ref["namespace"], self._caller)
        ]

    def hides_some(self, row: Row[Any]) -> bool:
        """Whether a row names an asset that is hidden."""
        return any(len(self.visible(text)) < len(json.loads(text)) for text in (row.inputs, row.outputs))

    def visible_warnings(self, text: str) -> list[str]:
        """Return the warnings of a row, without those that name a hidden asset (see ``record.py``)."""
        names = tuple(f"Not stored: {asset_id} [" for asset_id in self._hidden)
        return [warning for warning in json.loads(text) if not warning.startswith(names)]


def hidden_ids(conn: Connection, caller: Caller, ids: Sequence[str]) -> Iterable[str]:
    """Yield which of these ids name, or named before a rename, an asset that is hidden now."""
    by_key = {identity(caller.tenant, asset_id): asset_id for asset_id in ids}
    keys = sorted(by_key)
    for start in range(0, len(keys), _KEYS):
        some = keys[start : start + _KEYS]
        now = select(asset.c.asset_key, asset.c.namespace).where(asset.c.asset_key.in_(some))
        before = select(alias.c.alias_key, asset.c.namespace).join_from(
            alias, asset, alias.c.asset_pk == asset.c.pk
        )
        named = now.union_all(before.where(alias.c.alias_key.in_(some)))
        yield from (by_key[bytes(key)] for key, space in conn.execute(named) if is_hidden(space, caller))

"""Takes over the events of Airflow's own ``asset_event`` table: REST, watchers, tasks in other languages.

Ids are given out when a transaction inserts and become visible when it commits, in any order. So the follower
keeps a trailing window: every event above a *floor* that has not been taken is looked at, however late it
appears, and each id is claimed in ``followed`` in the transaction that writes what came of it. The floor is
the highest id that was claimed a quarter of an hour ago: a transaction may stay open that long.
"""

from __future__ import annotations

import json
import logging
import time
import unicodedata
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, func, insert, select, update

from airflow_assets.airflow_bridge.context import announce_commit, give_way, orm
from airflow_assets.airflow_bridge.declared_runs import STATES, Declarations, EndedTry, as_output
from airflow_assets.catalog import assets, record, tables
from airflow_assets.catalog.engine import db_now, read, retrying, utc_now, write
from airflow_assets.catalog.workspace import Workspace
from airflow_assets.exceptions import InvalidRequest, NotPermitted
from airflow_assets.schemas.actors import Caller, Source, SourceKind
from airflow_assets.schemas.declared import MARKER_GROUPS, Declared, from_native, is_authored, is_template
from airflow_assets.schemas.lineage import TaskRun
from airflow_assets.schemas.masking import scrub_uri

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy import Connection, Engine
    from sqlalchemy.orm import Session

log = logging.getLogger(__name__)
WINDOW = timedelta(minutes=15)
PAGE = 500
BATCH = 50
_KIND, _NAME = "follower", "asset_event"
_FLOOR_EVERY = 60.0
_INTERNAL = frozenset({"from_rest_api", "from_trigger"})
_followed = tables.followed.c
_consumer = tables.consumer.c


class Follower:
    """The job; see the module."""

    name = "follower"
    interval = 2.0

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._declarations = Declarations()
        self._floor: int | None = None
        self._floor_moved = time.monotonic()

    def close(self) -> None:
        """Nothing to let go of."""

    def step(self) -> bool:
        """Take over what is new; return True if there may be more."""
        if self._floor is None:
            self._floor = retrying(self._begin)
        with read(self._engine) as conn, orm(conn) as session:
            rows = list(session.execute(_not_taken(self._floor)))
            silent = [row.id for row in rows if _names_no_asset(row) or _is_recorded(conn, row)]
        if silent:
            retrying(lambda: self._claim(silent))
        left = [row for row in rows if row.id not in set(silent)]
        of_tasks = [row for row in left if row.source_task_id is not None]
        others = [row for row in left if row.source_task_id is None]
        for start in range(0, len(others), BATCH):
            self._in_turn(self._upsert, others[start : start + BATCH])
        for row in of_tasks:
            self._in_turn(self._record, [row])
        if time.monotonic() - self._floor_moved >= _FLOOR_EVERY:
            self._floor = retrying(self._move_floor)
        return len(rows) == PAGE

    def _begin(self) -> int:
        """Return where to follow from; the first time: from now."""
        from airflow.models.asset import AssetEvent

        with write(self._engine) as conn:
            floor = conn.execute(
                select(_consumer.seq).where(_consumer.kind == _KIND, _consumer.name == _NAME)
            ).scalar()
            if floor is None:
                with orm(conn) as session:
                    floor = session.scalar(select(func.max(AssetEvent.id))) or 0
                conn.execute(
                    insert(tables.consumer).values(kind=_KIND, name=_NAME, seq=floor, updated=utc_now())
                )
            return int(floor)

    def _move_floor(self) -> int:
        self._floor_moved = time.monotonic()
        with write(self._engine) as conn:
            floor = conn.execute(
                select(func.max(_followed.airflow_event_id)).where(_followed.created < db_now(conn) - WINDOW)
            ).scalar()
            if floor is None:
                return int(self._floor or 0)
            conn.execute(
                update(tables.consumer)
                .where(_consumer.kind == _KIND, _consumer.name == _NAME)
                .values(seq=floor, updated=utc_now())
            )
            conn.execute(delete(tables.followed).where(_followed.airflow_event_id <= floor))
            return int(floor)

    def _claim(self, ids: list[int]) -> None:
        with write(self._engine) as conn:
            _claim(conn, ids)

    def _in_turn(self, take: Callable[[Connection, list[Any]], None], rows: list[Any]) -> None:
        """Claim events and take them over, in one transaction."""

        def work() -> None:
            with write(self._engine) as conn:
                _claim(conn, [row.id for row in rows])
                take(conn, rows)

        began = time.monotonic()
        retrying(work)
        announce_commit()
        give_way(self._engine, time.monotonic() - began)

    def _upsert(self, conn: Connection, rows: list[Any]) -> None:
        """Store the assets of events, one event of the catalogue for each; what breaks a rule is left out."""
        made = []
        for row in rows:
            with _left_out(row):
                made.append((row, as_output(_declared(row))))
        space = Workspace(conn, _caller(rows[0]), [output.id for _, output in made])
        for row, output in made:
            with _left_out(row):
                assets.upsert(space, output)
        space.write()

    def _record(self, conn: Connection, rows: list[Any]) -> None:
        """Store the record of the task that caused an event; just the asset if the task has a record."""
        (row,) = rows
        with orm(conn) as session:
            ended = _source_try(session, row)
            made = self._declarations.record(session, ended, [_declared(row)]) if ended else None
        if ended is not None and made is not None:
            with _left_out(row):
                if not record.record_task_run(conn, ended.caller, made).duplicate:
                    return
        self._upsert(conn, rows)


@contextmanager
def _left_out(row: Any) -> Iterator[None]:
    """Log and leave out what breaks a rule of the catalogue; nothing has been written for it."""
    try:
        yield
    except (InvalidRequest, NotPermitted, ValueError) as error:
        log.warning("Airflow's event %d of asset %r is not taken over: %s", row.id, row.name, error)


def _claim(conn: Connection, ids: list[int]) -> None:
    now = db_now(conn)
    conn.execute(insert(tables.followed), [{"airflow_event_id": one, "created": now} for one in ids])


def _not_taken(floor: int) -> Any:
    from airflow.models.asset import AssetEvent, AssetModel

    taken = select(_followed.airflow_event_id).where(_followed.airflow_event_id == AssetEvent.id)
    return (
        select(
            AssetEvent.id,
            AssetEvent.extra,
            AssetEvent.source_dag_id,
            AssetEvent.source_run_id,
            AssetEvent.source_task_id,
            AssetEvent.source_map_index,
            AssetModel.name,
            AssetModel.uri,
            AssetModel.group,
            AssetModel.extra.label("asset_extra"),
        )
        .outerjoin(AssetModel, AssetModel.id == AssetEvent.asset_id)
        .where(AssetEvent.id > floor, ~taken.exists())
        .order_by(AssetEvent.id)
        .limit(PAGE)
    )


def _declared(row: Any) -> Declared:
    """Return the asset of an event; what the event carries is metadata of the asset."""
    declared = from_native(row.name, row.uri, row.group, row.asset_extra)
    known = declared.without_templates() or Declared(id=row.name)
    return known.with_metadata(
        {key: value for key, value in (row.extra or {}).items() if key not in _INTERNAL}
    )


def _names_no_asset(row: Any) -> bool:
    """Whether it is gone, one of our markers, or what only its own task can record or render."""
    if row.group is None or row.group in MARKER_GROUPS:
        return True
    if row.source_task_id is not None and is_authored(row.asset_extra):
        return True
    return is_template(from_native(row.name, row.uri, row.group, row.asset_extra).id)


def _is_recorded(conn: Connection, row: Any) -> bool:
    """Whether the task that caused the event has itself recorded the asset."""
    if row.source_run_id is None or row.source_task_id is None:
        return False
    lineage = tables.lineage.c
    outputs = conn.execute(
        select(lineage.outputs).where(
            lineage.dag_id == row.source_dag_id,
            lineage.run_id == row.source_run_id,
            lineage.task_id == row.source_task_id,
            lineage.map_index == _map_index(row),
        )
    ).scalars()
    asset_id = unicodedata.normalize("NFC", scrub_uri(_declared(row).id))
    return any(output["id"] == asset_id for text in outputs for output in json.loads(text))


def _source_try(session: Session, row: Any) -> EndedTry | None:
    from airflow.models.taskinstance import TaskInstance

    if row.source_run_id is None or row.source_task_id is None:
        return None
    found = session.execute(
        select(
            TaskInstance.id,
            TaskInstance.try_number,
            TaskInstance.state,
            TaskInstance.start_date,
            TaskInstance.end_date,
        ).where(
            TaskInstance.dag_id == row.source_dag_id,
            TaskInstance.run_id == row.source_run_id,
            TaskInstance.task_id == row.source_task_id,
            TaskInstance.map_index == _map_index(row),
        )
    ).first()
    state = STATES.get(str(getattr(found.state, "value", found.state))) if found else None
    if found is None or state is None:
        return None
    task = TaskRun(
        dag_id=row.source_dag_id,
        run_id=row.source_run_id,
        task_id=row.source_task_id,
        map_index=_map_index(row),
        try_number=found.try_number,
        ti_id=str(found.id),
    )
    return EndedTry(task, state, found.start_date, found.end_date)


def _caller(row: Any) -> Caller:
    return Caller(
        source=Source(
            kind=SourceKind.AIRFLOW,
            dag_id=row.source_dag_id,
            run_id=row.source_run_id,
            task_id=row.source_task_id,
            map_index=None if row.source_task_id is None else _map_index(row),
        )
    )


def _map_index(row: Any) -> int:
    return -1 if row.source_map_index is None else int(row.source_map_index)

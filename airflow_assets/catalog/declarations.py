"""What Dags declare, as edges of the graph beside the recorded ones.

Each pass is told everything that is declared now. What is new gets an edge from now on; what is missing is
ended and kept, so that a graph of an earlier time still has it; what comes back goes on as if it had never
been gone. An asset that the catalogue does not know yet has no edges: it gets them once it is there.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select, true, update

from airflow_assets.catalog.engine import db_now, read, retrying, write
from airflow_assets.catalog.record import MAX_EDGES
from airflow_assets.catalog.tables import alias, asset, edge
from airflow_assets.catalog.write_set import chunks
from airflow_assets.schemas.rules import identity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from sqlalchemy import Connection, Engine

Pair = tuple[int, int]


@dataclass(frozen=True)
class DeclaredTask:
    """The ids of the assets that a task declares.

    :param task_id: without characters for a Dag, whose ``inputs`` are the assets that it is scheduled on.
    """

    dag_id: str
    task_id: str
    inputs: frozenset[str] = frozenset()
    outputs: frozenset[str] = frozenset()


class Declarations:
    """The declared edges of one tenant; one object at a time writes them, since it remembers what is stored.

    :param engine: from :func:`airflow_assets.catalog.engine.make_engine`.
    """

    def __init__(self, engine: Engine, tenant: str) -> None:
        self._engine = engine
        self._tenant = tenant
        self._stored: dict[bytes, bool] | None = None  # whether it is there, or ended

    def put(self, tasks: Sequence[DeclaredTask]) -> None:
        """Make the declared edges those of these tasks; no statement writes what has not changed."""
        with read(self._engine) as conn:
            if self._stored is None:
                rows = conn.execute(select(edge.c.edge_key, edge.c.ended).where(edge.c.declared == true()))
                self._stored = {bytes(row.edge_key): row.ended is None for row in rows}
            wanted = _edges(tasks, self._numbers(conn, tasks))
        there = self._stored
        self._change([key for key in wanted if key not in there], lambda *at: _add(wanted, *at))
        self._change([key for key in wanted if there.get(key) is False], _revive)
        self._change([key for key, is_there in there.items() if is_there and key not in wanted], _end)
        there.update(dict.fromkeys(there, False))
        there.update(dict.fromkeys(wanted, True))

    def _numbers(self, conn: Connection, tasks: Iterable[DeclaredTask]) -> dict[str, int]:
        """The row numbers of the declared ids that the catalogue knows, by present or former id."""
        ids = {one for task in tasks for one in task.inputs | task.outputs}
        by_key = {identity(self._tenant, one): one for one in ids}
        found: dict[str, int] = {}
        for keys in chunks(sorted(by_key)):
            before = select(alias.c.alias_key, alias.c.asset_pk).where(alias.c.alias_key.in_(keys))
            now = select(asset.c.asset_key, asset.c.pk).where(asset.c.asset_key.in_(keys))
            for statement in (before, now):  # who has the id now comes before who had it
                found.update((by_key[bytes(key)], pk) for key, pk in conn.execute(statement))
        return found

    def _change(self, keys: list[bytes], change: Callable[[Connection, Sequence[bytes]], None]) -> None:
        """Apply a change portion by portion: nobody waits long for a row of ours."""
        for some in chunks(sorted(keys)):

            def work(some: Sequence[bytes] = some) -> None:
                with write(self._engine) as conn:
                    change(conn, some)

            retrying(work)


def _edges(tasks: Iterable[DeclaredTask], numbers: dict[str, int]) -> dict[bytes, dict[str, Any]]:
    rows = {}
    for task in tasks:
        inputs = sorted({numbers[one] for one in task.inputs if one in numbers})
        outputs = sorted({numbers[one] for one in task.outputs if one in numbers})
        for source, target in _pairs(inputs, outputs):
            rows[_key(source, target, task)] = {
                "source_pk": source,
                "target_pk": target,
                "dag_id": task.dag_id,
                "task_id": task.task_id,
            }
    return rows


def _pairs(inputs: list[int], outputs: list[int]) -> Iterator[Pair]:
    """Every input is upstream of every output; of too many the task is shown, and no edge from end to end."""
    if len(inputs) * len(outputs) > MAX_EDGES:
        yield from ((source, 0) for source in inputs)
        yield from ((0, target) for target in outputs)
    elif inputs or outputs:
        yield from ((source, target) for source in inputs or [0] for target in outputs or [0])


def _key(source: int, target: int, task: DeclaredTask) -> bytes:
    content = json.dumps(["declared", source, target, task.dag_id, task.task_id])
    return blake2b(content.encode(), digest_size=16).digest()


def _add(wanted: dict[bytes, dict[str, Any]], conn: Connection, keys: Sequence[bytes]) -> None:
    present = {bytes(key) for key in conn.scalars(select(edge.c.edge_key).where(edge.c.edge_key.in_(keys)))}
    now = db_now(conn)
    members = {"first_seen": now, "last_seen": now, "declared": True}
    rows = [{"edge_key": key, **wanted[key], **members} for key in keys if key not in present]
    if rows:
        conn.execute(insert(edge), rows)


def _revive(conn: Connection, keys: Sequence[bytes]) -> None:
    conn.execute(update(edge).where(edge.c.edge_key.in_(keys)).values(ended=None))


def _end(conn: Connection, keys: Sequence[bytes]) -> None:
    conn.execute(update(edge).where(edge.c.edge_key.in_(keys)).values(ended=db_now(conn)))

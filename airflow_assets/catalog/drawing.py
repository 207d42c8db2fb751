"""From rows of ``edge`` to the nodes and relations of a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from airflow_assets.schemas.lineage import Edge, Graph, Node, NodeKind, Relation

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime


class Drawing:
    """A graph that is being put together.

    Uids are made of ids (``asset:<id>``, ``task:<dag_id>/<task_id>``), so the same node has the same one in
    every answer.

    :param assets: rows with ``pk``, ``id``, ``type`` and ``namespace``, in the order in which they are shown.
    :param as_of: no edge is said to have been seen later.
    """

    def __init__(self, assets: Iterable[Any], as_of: datetime | None) -> None:
        self._assets = {row.pk: _asset(row) for row in assets}
        self._tasks: dict[tuple[str, str], Node] = {}
        self._edges: dict[tuple[str, str, Relation], Edge] = {}
        self._as_of = as_of

    def add_assets(self, edges: Iterable[Any]) -> None:
        """Draw edges from asset to asset; both ends are assets of the drawing."""
        for row in edges:
            self._draw(self._assets[row.source_pk], self._assets[row.target_pk], Relation.UPSTREAM_OF, row)

    def add_tasks(self, edges: Iterable[Any], *, room: int) -> int:
        """Draw the tasks of these edges and what they read and write; an end may be 0.

        Returns the number of tasks for which there was no room.
        """
        left_out: set[tuple[str, str]] = set()
        for row in edges:
            key = (row.dag_id, row.task_id)
            if key not in self._tasks and len(self._tasks) >= room:
                left_out.add(key)
                continue
            task = self._tasks.setdefault(key, _task(*key))
            if row.source_pk:
                self._draw(self._assets[row.source_pk], task, Relation.CONSUMED_BY, row)
            if row.target_pk:
                self._draw(task, self._assets[row.target_pk], Relation.PRODUCES, row)
        return len(left_out)

    def graph(self, *, hidden: int, truncated: int) -> Graph:
        """Return what was drawn: assets first, then tasks and edges by their names."""
        tasks = [self._tasks[key] for key in sorted(self._tasks)]
        edges = [self._edges[key] for key in sorted(self._edges, key=lambda key: (*key[:2], key[2].value))]
        return Graph(nodes=[*self._assets.values(), *tasks], edges=edges, hidden=hidden, truncated=truncated)

    def _draw(self, source: Node, target: Node, relation: Relation, row: Any) -> None:
        key = (source.uid, target.uid, relation)
        known = self._edges.get(key)
        first, last = row.first_seen, row.last_seen
        if self._as_of is not None:
            last = min(last, self._as_of)
        if known is not None:
            first, last = min(first, known.first_seen), max(last, known.last_seen)
        self._edges[key] = Edge(
            source=source.uid, target=target.uid, relation=relation, first_seen=first, last_seen=last
        )


def _asset(row: Any) -> Node:
    return Node(uid=f"asset:{row.id}", kind=NodeKind.ASSET, id=row.id, type=row.type, namespace=row.namespace)


def _task(dag_id: str, task_id: str) -> Node:
    return Node(
        uid=f"task:{quote(dag_id, safe='')}/{task_id}",
        kind=NodeKind.TASK,
        id=f"{dag_id}.{task_id}",
        dag_id=dag_id,
        task_id=task_id,
    )

"""From rows of ``edge`` to the nodes and relations of a graph."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from airflow_assets.schemas.lineage import Edge, Graph, Node, NodeKind, Relation

if TYPE_CHECKING:
    from collections.abc import Iterable


class Drawing:
    """A graph that is being put together.

    Uids are made of ids (``asset:<id>``, ``task:<dag_id>/<task_id>``, ``dag:<dag_id>``), so the same node has
    the same one in every answer.

    :param assets: the nodes of the assets by row number, in the order in which they are shown.
    :param as_of: no edge is said to have been seen later.
    :param dags: Dags stand for their tasks.
    """

    def __init__(self, assets: dict[int, Node], as_of: datetime | None, *, dags: bool = False) -> None:
        self._assets = assets
        self._tasks: dict[tuple[str, str], Node] = {}
        self._lines: dict[tuple[str, str, Relation], _Line] = {}
        self._as_of = as_of
        self._dags = dags

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
            key = (row.dag_id, "" if self._dags else row.task_id)
            if key not in self._tasks and len(self._tasks) >= room:
                left_out.add(key)
                continue
            task = self._tasks.setdefault(key, _task(*key))
            reads = Relation.CONSUMED_BY if row.task_id else Relation.TRIGGERS
            if row.source_pk:
                self._draw(self._assets[row.source_pk], task, reads, row)
            if row.target_pk:
                self._draw(task, self._assets[row.target_pk], Relation.PRODUCES, row)
        return len(left_out)

    def graph(self, *, hidden: int, truncated: int) -> Graph:
        """Return what was drawn: assets first, then tasks and edges by their names."""
        tasks = [self._tasks[key] for key in sorted(self._tasks)]
        lines = sorted(self._lines.items(), key=lambda item: (*item[0][:2], item[0][2].value))
        edges = [line.edge(*key) for key, line in lines]
        return Graph(nodes=[*self._assets.values(), *tasks], edges=edges, hidden=hidden, truncated=truncated)

    def _draw(self, source: Node, target: Node, relation: Relation, row: Any) -> None:
        last = row.last_seen if self._as_of is None else min(row.last_seen, self._as_of)
        line = self._lines.setdefault((source.uid, target.uid, relation), _Line())
        (line.declared if row.declared else line.recorded).append((row.first_seen, last))


@dataclass
class _Line:
    """When an edge was seen, by each of the ways in which it is known."""

    recorded: list[tuple[datetime, datetime]] = field(default_factory=list)
    declared: list[tuple[datetime, datetime]] = field(default_factory=list)

    def edge(self, source: str, target: str, relation: Relation) -> Edge:
        times = self.recorded or self.declared
        return Edge.trusted(
            source=source,
            target=target,
            relation=relation,
            recorded=bool(self.recorded),
            declared=bool(self.declared),
            first_seen=min(first for first, _ in times),
            last_seen=max(last for _, last in times),
        )


def _task(dag_id: str, task_id: str) -> Node:
    dag = quote(dag_id, safe="")
    if not task_id:
        return Node(uid=f"dag:{dag}", kind=NodeKind.DAG, id=dag_id, dag_id=dag_id)
    return Node(
        uid=f"task:{dag}/{task_id}",
        kind=NodeKind.TASK,
        id=f"{dag_id}.{task_id}",
        dag_id=dag_id,
        task_id=task_id,
    )

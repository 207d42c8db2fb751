"""The neighbourhood of an asset in the graph: what it was made from, what is made from it, by which tasks.

A hop goes from asset to asset through one task. Upstream are the asset's ancestors, downstream its
descendants; ``BOTH`` shows both, not what else is made from an ancestor. Recorded edges are never forgotten:
with ``as_of`` the graph has those that had been seen by then. Declared ones are there from when they were
noticed until they were found to be gone. Assets that are deleted today are left out, at any time asked for.

A hop is one statement a direction, at any number of edges; the search ends at ``depth`` or ``max_nodes``, so
a cycle is no danger.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    and_,
    case,
    false,
    func,
    literal,
    not_,
    or_,
    select,
    union,
    union_all,
)

from airflow_assets.catalog.asset_nodes import asset_nodes
from airflow_assets.catalog.assets import not_found
from airflow_assets.catalog.drawing import Drawing
from airflow_assets.catalog.filters import visible
from airflow_assets.catalog.search import find
from airflow_assets.catalog.tables import asset, edge
from airflow_assets.exceptions import InvalidQuery
from airflow_assets.schemas.actors import Caller
from airflow_assets.schemas.lineage import Direction
from airflow_assets.schemas.queries import DependencyQuery

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from sqlalchemy import Select

    from airflow_assets.schemas.lineage import Graph

MAX_EDGES = 50_000
"""More rows than this between the nodes of one answer cannot be drawn and are an error."""
MAX_OUTER = 5_000
_UP, _DOWN = Direction.UPSTREAM, Direction.DOWNSTREAM
_NEAR = {_UP: edge.c.target_pk, _DOWN: edge.c.source_pk}
_FAR = {_UP: edge.c.source_pk, _DOWN: edge.c.target_pk}
_NODE = (
    *(asset.c.pk, asset.c.id, asset.c.type, asset.c.namespace, asset.c.display_name),
    *(asset.c.updated, asset.c.lock_until),
)


def dependencies(conn: Connection, caller: Caller, query: DependencyQuery) -> Graph:
    """Return the assets, tasks and edges within the wanted number of hops.

    ``hidden`` counts the assets next to shown ones that the caller may not see; the search does not go
    through them. ``truncated`` counts the nodes that were found and had no room; what lies behind them is not
    counted.

    :raises AssetNotFound: there is no such asset, it is deleted, or it is hidden.
    :raises InvalidQuery: more than 50,000 edges are between the nodes.
    """
    start = find(conn, caller, query.asset_id)
    if start is None or start.deleted:
        raise not_found(query.asset_id)
    reach = _Reach(conn, caller, query, {start.pk: start})
    reach.explore(start.pk, [d for d in (_UP, _DOWN) if query.direction in {d, Direction.BOTH}])
    drawing = Drawing(asset_nodes(conn, reach.nodes, start.now_), query.as_of, dags=query.dags)
    inner = reach.inner_edges()
    drawing.add_assets(inner)
    truncated = reach.truncated
    if query.tasks:
        truncated += _add_tasks(drawing, reach, inner)
    return drawing.graph(hidden=reach.hidden_neighbours(), truncated=truncated)


def _add_tasks(drawing: Drawing, reach: _Reach, inner: Sequence[Any]) -> int:
    """Draw the tasks; returns how many had no room."""
    room = reach.query.max_nodes - len(reach.nodes)
    if room <= 0:
        return reach.count_tasks()
    outer, unread = reach.outer_edges()
    return unread + drawing.add_tasks([*inner, *outer], room=room)


@dataclass
class _Reach:
    """The assets found so far, by row number, and from which of them the search went on, and where to."""

    conn: Connection
    caller: Caller
    query: DependencyQuery
    nodes: dict[int, Any]
    left: dict[Direction, set[int]] = field(default_factory=lambda: {_UP: set(), _DOWN: set()})
    truncated: int = 0
    hidden: list[int] = field(default_factory=list)

    def explore(self, start: int, directions: Collection[Direction]) -> None:
        """Add what lies around, hop by hop in all directions alike: nearest first, then by id."""
        frontiers = {direction: [start] for direction in directions}
        seen = {direction: {start} for direction in directions}
        for _ in range(self.query.depth):
            for direction, frontier in frontiers.items():
                frontiers[direction] = self._advance(frontier, direction, seen[direction])

    def _advance(self, frontier: list[int], direction: Direction, seen: set[int]) -> list[int]:
        """Go one hop on; returns from where to go on, nothing once there was no room for all."""
        if not frontier:
            return []
        self.left[direction].update(frontier)
        found = self._hop(frontier, direction, seen)
        if found and found[0].hidden:
            self.hidden.append(int(found[0].hidden))
        reached = []
        for row in (row for row in found if row.shown):
            seen.add(row.pk)
            if row.pk in self.nodes or len(self.nodes) < self.query.max_nodes:
                self.nodes.setdefault(row.pk, row)
                reached.append(row.pk)
        left_out = int(found[0].total) - len(reached) if found else 0
        self.truncated += left_out
        return [] if left_out else reached

    def _hop(self, frontier: Collection[int], direction: Direction, seen: Collection[int]) -> Sequence[Any]:
        """The neighbours not seen yet, up to ``max_nodes``, first those that the caller may see (``shown``).

        ``total`` is how many of those there are, ``hidden`` how many others.
        """
        far = (
            select(_FAR[direction].label("pk"))
            .distinct()
            .where(
                _NEAR[direction].in_(sorted(frontier)),
                _FAR[direction].not_in(sorted({0, *seen})),
                self._in_time(),
            )
        )
        near = far.subquery()
        # Counted and sorted are numbers alone; what nodes show is read of those that have room.
        shown = case((visible(asset.c.namespace, self.caller), 1), else_=0)
        total = func.sum(shown).over()
        first = (
            select(
                *(asset.c.pk, asset.c.id_sort, shown.label("shown"), total.label("total")),
                (func.count().over() - total).label("hidden"),
            )
            .join_from(near, asset, asset.c.pk == near.c.pk)
            .where(asset.c.tenant == self.caller.tenant, asset.c.deleted == false())
            .order_by(shown.desc(), asset.c.id_sort, asset.c.pk)
            .limit(self.query.max_nodes)
            .subquery()
        )
        of_hop = (first.c.shown, first.c.total, first.c.hidden)
        rows = select(*_NODE, *of_hop).join(first, first.c.pk == asset.c.pk)
        return self.conn.execute(rows.order_by(first.c.shown.desc(), first.c.id_sort, first.c.pk)).all()

    def _in_time(self) -> ColumnElement[bool]:
        there, at = edge.c.ended.is_(None), self.query.as_of
        return there if at is None else and_(edge.c.first_seen <= at, or_(there, edge.c.ended > at))

    def inner_edges(self) -> Sequence[Any]:
        """The edges between the assets found."""
        pks = sorted(self.nodes)
        between = select(edge).where(edge.c.source_pk.in_(pks), edge.c.target_pk.in_(pks), self._in_time())
        rows = self.conn.execute(between.limit(MAX_EDGES + 1)).all()
        if len(rows) > MAX_EDGES:
            raise InvalidQuery(
                f"More than {MAX_EDGES:,} edges are between the {len(pks):,} assets found.",
                hint="Ask for a smaller depth or max_nodes.",
                field="max_nodes",
                limit=MAX_EDGES,
            )
        return rows

    def outer_edges(self) -> tuple[Sequence[Any], int]:
        """What tasks do with the assets that the search went on from and nothing shown at the other end.

        Rows like those of ``edge`` with 0 for the other end, and the number of rows that were not read.
        """
        sides = [self._outer(direction) for direction, pks in self.left.items() if pks]
        found = union_all(*sides).subquery()
        total = func.count().over().label("total")
        rows = self.conn.execute(
            select(found, total).order_by(found.c.dag_id, found.c.task_id, found.c.near).limit(MAX_OUTER)
        ).all()
        return rows, (rows[0].total - len(rows) if rows else 0)

    def count_tasks(self) -> int:
        """The number of tasks that read or write the assets that the search went on from."""
        names = [edge.c.dag_id] if self.query.dags else [edge.c.dag_id, edge.c.task_id]
        sides = (
            select(*names).where(_NEAR[direction].in_(sorted(pks)), self._in_time())
            for direction, pks in self.left.items()
            if pks
        )
        return int(self.conn.execute(select(func.count()).select_from(union(*sides).subquery())).scalar_one())

    def _outer(self, direction: Direction) -> Select[Any]:
        near, far, zero = _NEAR[direction], _FAR[direction], literal(0)
        source, target = (zero, near) if direction is _UP else (near, zero)
        rows: Select[Any] = (
            select(
                near.label("near"),
                source.label("source_pk"),
                target.label("target_pk"),
                edge.c.dag_id,
                edge.c.task_id,
                edge.c.declared,
                func.min(edge.c.first_seen).label("first_seen"),
                func.max(edge.c.last_seen).label("last_seen"),
            )
            .where(near.in_(sorted(self.left[direction])), far.not_in(sorted(self.nodes)), self._in_time())
            .group_by(near, edge.c.dag_id, edge.c.task_id, edge.c.declared)
        )
        return rows

    def hidden_neighbours(self) -> int:
        """The number of assets that the search met and the caller may not see."""
        if len(self.hidden) < 2:
            return sum(self.hidden)
        # Several hops have met some, which may be the same.
        met = union(
            *(
                select(_FAR[direction].label("pk")).where(
                    _NEAR[direction].in_(sorted(pks)), _FAR[direction] > 0, self._in_time()
                )
                for direction, pks in self.left.items()
                if pks
            )
        ).subquery()
        hidden = (
            select(func.count())
            .select_from(met.join(asset, asset.c.pk == met.c.pk))
            .where(asset.c.tenant == self.caller.tenant, asset.c.deleted == false())
            .where(not_(visible(asset.c.namespace, self.caller)))
        )
        return int(self.conn.execute(hidden).scalar_one())

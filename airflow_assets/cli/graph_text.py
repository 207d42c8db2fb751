"""A dependency graph as text: a tree to read, a Mermaid flowchart to paste into documents."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from airflow_assets.schemas.expectations import FreshnessState
from airflow_assets.schemas.lineage import Direction, NodeKind, Relation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from airflow_assets.schemas.lineage import Edge, Graph, Node

_READS = frozenset({Relation.CONSUMED_BY, Relation.TRIGGERS})
_SHAPES = {NodeKind.ASSET: ("[", "]"), NodeKind.TASK: ("[[", "]]"), NodeKind.DAG: ("{{", "}}")}
_ENTITIES = {ord("#"): "#35;", ord('"'): "#quot;", ord("&"): "#amp;", ord("<"): "#lt;", ord(">"): "#gt;"}


def tree(graph: Graph, direction: Direction) -> Iterator[str]:
    """Yield the lines of a tree whose root is the first node; of both directions one after the other.

    What was shown before in the same tree is named and not followed again, so a cycle ends.
    """
    for way in (Direction.UPSTREAM, Direction.DOWNSTREAM):
        if direction in {way, Direction.BOTH}:
            if direction is Direction.BOTH:
                yield f"{way.value}:"
            yield from _Tree(graph, way).lines()
    yield from _left_out(graph)


def mermaid(graph: Graph) -> Iterator[str]:
    """Yield the lines of a flowchart; edges that are only declared are dotted."""
    names = {node.uid: f"n{at}" for at, node in enumerate(graph.nodes)}
    yield "flowchart LR"
    for node in graph.nodes:
        begin, end = _SHAPES[node.kind]
        yield f'  {names[node.uid]}{begin}"{node.id.translate(_ENTITIES)}"{end}'
    for edge in _drawn(graph):
        arrow = "-->" if edge.recorded else "-.->"
        yield f"  {names[edge.source]} {arrow} {names[edge.target]}"
    stale = [names[node.uid] for node in graph.nodes if _is_stale(node)]
    if stale:
        yield "  classDef stale stroke:#c53030,stroke-width:2px"
        yield f"  class {','.join(stale)} stale"
    yield from (f"  %% {line}" for line in _left_out(graph))


def _left_out(graph: Graph) -> Iterator[str]:
    if graph.hidden:
        yield f"{graph.hidden:,} more beside them: hidden from you."
    if graph.truncated:
        yield f"{graph.truncated:,} more beside them: left out; see --max_nodes."


def _drawn(graph: Graph) -> Iterator[Edge]:
    """The edges without those from asset to asset that lead through a task which is shown."""
    sources, targets = defaultdict(set), defaultdict(set)
    for edge in graph.edges:
        if edge.relation in _READS:
            sources[edge.target].add(edge.source)
        elif edge.relation is Relation.PRODUCES:
            targets[edge.source].add(edge.target)
    shown = {(source, target) for task in sources for source in sources[task] for target in targets[task]}
    for edge in graph.edges:
        if edge.relation is not Relation.UPSTREAM_OF or (edge.source, edge.target) not in shown:
            yield edge


def _is_stale(node: Node) -> bool:
    return node.freshness is not None and node.freshness.state is FreshnessState.STALE


class _Tree:
    """One direction of a graph, from its first node on."""

    def __init__(self, graph: Graph, way: Direction) -> None:
        self._nodes = {node.uid: node for node in graph.nodes}
        self._root = graph.nodes[0].uid
        self._children: dict[str, list[tuple[str, bool]]] = defaultdict(list)
        self._makers: dict[str, list[str]] = defaultdict(list)
        producers = {edge.source for edge in graph.edges if edge.relation is Relation.PRODUCES}
        for edge in graph.edges:
            if edge.relation is Relation.PRODUCES:
                self._makers[edge.target].append(self._nodes[edge.source].id)
            elif edge.relation is Relation.UPSTREAM_OF:
                near, far = edge.source, edge.target
                if way is Direction.UPSTREAM:
                    near, far = far, near
                self._children[near].append((far, edge.recorded))
            elif way is Direction.DOWNSTREAM and edge.target not in producers:
                # Who makes nothing of it has no asset to stand beside.
                self._children[edge.source].append((edge.target, edge.recorded))
        self._seen = {self._root}

    def lines(self) -> Iterator[str]:
        yield self._text(self._root)
        yield from self._below(self._root)

    def _below(self, uid: str) -> Iterator[str]:
        """The lines under a node; a stack, not recursion, since a graph may be as deep as it has nodes."""
        stack = [(self._next(uid), "")]
        while stack:
            children, indent = stack[-1]
            if not children:
                stack.pop()
                continue
            child, recorded = children.pop(0)
            again = child in self._seen
            self._seen.add(child)
            note = "" if recorded else "  [declared]"
            yield f"{indent}{'├' if children else '└'}── {self._text(child, again=again)}{note}"
            if not again:
                stack.append((self._next(child), indent + ("│   " if children else "    ")))

    def _next(self, uid: str) -> list[tuple[str, bool]]:
        return sorted(self._children[uid], key=lambda child: (self._nodes[child[0]].kind.value, child[0]))

    def _text(self, uid: str, *, again: bool = False) -> str:
        node = self._nodes[uid]
        if node.kind is not NodeKind.ASSET:
            return f"{node.kind.value.lower()} {node.id}"
        if again:
            return f"{node.id}  (see above)"
        said = [(node.type or "").rpartition(".")[2], *(["stale"] if _is_stale(node) else [])]
        made = f"  by {', '.join(sorted(self._makers[uid]))}" if self._makers[uid] else ""
        return f"{node.id}  ({', '.join(filter(None, said))}){made}"

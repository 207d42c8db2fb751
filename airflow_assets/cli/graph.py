"""Commands on the dependency graph: where an asset comes from, and what a change of it reaches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_assets.cli.graph_text import mermaid, tree
from airflow_assets.cli.log import list_lineage
from airflow_assets.cli.output import show_document
from airflow_assets.cli.run import client_of, command
from airflow_assets.exceptions import InvalidQuery
from airflow_assets.schemas.base import iso
from airflow_assets.schemas.lineage import Direction
from airflow_assets.schemas.queries import DependencyQuery

if TYPE_CHECKING:
    import argparse

    from airflow_assets.schemas.lineage import Graph

_DRAWN = frozenset({"tree", "mermaid"})
_LINEAGE_DEPTH = 3


@command
def dependencies_command(args: argparse.Namespace) -> None:
    """Show the neighbourhood of an asset."""
    _show(args, Direction(args.direction), args.depth, args.output)


@command
def lineage_command(args: argparse.Namespace) -> None:
    """List lineage events, or show where an asset comes from and what is made of it."""
    if not _asks_for_a_graph(args):
        args.output = args.output or "table"
        list_lineage(args)
        return
    if args.asset_id is None:
        raise InvalidQuery("Of which asset?", hint="Write: lineage ASSET_ID --upstream", field="asset_id")
    of_events = [name for name in ("dag_id", "run_id", "task_id", "limit") if getattr(args, name) is not None]
    if of_events:
        raise InvalidQuery(
            f"--{of_events[0]} lists what task runs recorded, and a graph is asked for.",
            hint="Leave one of them out.",
            field=of_events[0],
        )
    direction = Direction.BOTH
    if args.upstream != args.downstream:
        direction = Direction.UPSTREAM if args.upstream else Direction.DOWNSTREAM
    depth = _LINEAGE_DEPTH if args.depth is None else args.depth
    _show(args, direction, depth, args.output or "tree")


def _asks_for_a_graph(args: argparse.Namespace) -> bool:
    flags = (args.upstream, args.downstream, args.dags, args.no_tasks)
    values = (args.depth, args.as_of, args.max_nodes)
    return args.output in _DRAWN or any(flags) or any(value is not None for value in values)


def _show(args: argparse.Namespace, direction: Direction, depth: int, output: str) -> None:
    more = {} if args.max_nodes is None else {"max_nodes": args.max_nodes}
    query = DependencyQuery(
        asset_id=args.asset_id,
        direction=direction,
        depth=depth,
        tasks=not args.no_tasks,
        dags=args.dags,
        as_of=args.as_of,
        **more,
    )
    graph = client_of(args).dependencies(query)
    if output in _DRAWN:
        for line in tree(graph, direction) if output == "tree" else mermaid(graph):
            print(line)
        return
    show_document(graph.to_json(), _cells(graph), _HEAD, output)


_HEAD = [
    "source_kind",
    "source",
    "relation",
    "target_kind",
    "target",
    "last_seen",
    "known_by",
]


def _cells(graph: Graph) -> list[list[Any]]:
    nodes = {node.uid: node for node in graph.nodes}
    rows = []
    for edge in graph.edges:
        source, target = nodes[edge.source], nodes[edge.target]
        known = [name for name in ("recorded", "declared") if getattr(edge, name)]
        ends = (source.kind.value, source.id, edge.relation.value, target.kind.value, target.id)
        rows.append([*ends, iso(edge.last_seen), ",".join(known)])
    return rows

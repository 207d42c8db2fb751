"""What a resolved graph says of its nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_assets.authoring.storage.records import AssetDeclaration

if TYPE_CHECKING:
    from airflow_assets.authoring.graph.nodes import Node
    from airflow_assets.authoring.graph.resolve import Graph


def declarations_of(graph: Graph) -> list[AssetDeclaration]:
    """Return what to tell a storage of a graph: all nodes, those inside graph assets too.

    >>> storage.declare(declarations_of(resolve([orders, revenue], Registered())))
    """
    return [_declaration(graph, node) for node in graph.nodes.values()]


def _declaration(graph: Graph, node: Node) -> AssetDeclaration:
    inner = node.name not in graph.assets
    step = graph.steps.get(graph.step_of.get(node.name, ""))
    pools = tuple(step.pools) if step else ()
    if inner:
        return AssetDeclaration(node.name, upstreams=tuple(node.edges), pools=pools, inner=True)
    declared = node.declared
    return AssetDeclaration(
        name=node.name,
        tags=tuple(declared.tags or ()),
        kinds=tuple(declared.kinds),
        group=declared.group,
        code_version=declared.code_version,
        upstreams=tuple(node.edges),
        pools=pools,
        external=node.is_external,
    )

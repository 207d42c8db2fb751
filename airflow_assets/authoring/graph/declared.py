"""What a graph's code says of its nodes, for the storage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_assets.authoring.storage.records import AssetDeclaration

if TYPE_CHECKING:
    from airflow_assets.authoring.graph.graph import Graph


def declarations_of(graph: Graph) -> list[AssetDeclaration]:
    """Return the declaration of every node; the tasks inside graph assets are marked as such."""
    found = []
    for name, node in graph.nodes.items():
        inner = name not in graph.assets
        declared = node.declared
        found.append(
            AssetDeclaration(
                name,
                tuple(declared.tags or ()) if not inner else tuple(getattr(node.task, "tags", None) or ()),
                tuple(declared.kinds) if not inner else (),
                declared.group,
                declared.code_version,
                tuple(node.edges),
                tuple(declared.pool),
                inner,
                node.is_external,
            )
        )
    return found

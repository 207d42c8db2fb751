"""Assets without what changes all the time."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow_assets.schemas.assets import Asset
    from airflow_assets.schemas.lineage import Graph


def ageless(asset: Asset) -> Asset:
    """The asset without its freshness, which is another at each look and missing in the answers of writes."""
    return asset.model_copy(update={"freshness": None})


def ageless_graph(graph: Graph) -> Graph:
    """The graph without the freshness of its nodes."""
    nodes = [node.model_copy(update={"freshness": None}) for node in graph.nodes]
    return graph.model_copy(update={"nodes": nodes})

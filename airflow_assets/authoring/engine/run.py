"""What all steps of a run share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow_assets.authoring.errors import ConfigurationError
from airflow_assets.authoring.graph.resolve import Graph
from airflow_assets.authoring.handlers.interface import BaseIOHandler
from airflow_assets.authoring.partitions.definitions import DynamicKeys
from airflow_assets.authoring.partitions.keys import PartitionKey


@dataclass(frozen=True)
class Run:
    """One run of a graph.

    :param key: the partitions it is for.
    :param default_handler: for assets without one.
    :param version_of: the data version of an asset now; null for one that is missing.
    :param config: by asset: what its context's ``config`` is made of.
    :param metadata: by asset: what its static metadata is for this run, beside its own.
    """

    run_id: str
    graph: Graph
    default_handler: BaseIOHandler
    version_of: Callable[[str], str | None]
    key: PartitionKey | None = None
    resources: Mapping[str, Any] = field(default_factory=dict)
    dynamic: DynamicKeys | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    code_version_of: Mapping[str, str] = field(default_factory=dict)

    def handler(self, name: str) -> BaseIOHandler:
        """Return the handler of a node.

        Raises:
            ConfigurationError: what is registered under the key is no handler.
        """
        found = self.graph.nodes[name].io_handler or self.default_handler
        if not isinstance(found, BaseIOHandler):
            raise ConfigurationError(f"The io_handler of {name!r} is {found!r}, which is no BaseIOHandler")
        return found

    def metadata_of(self, name: str) -> dict[str, str]:
        """Return the static metadata of a node in this run."""
        return {**self.graph.nodes[name].metadata, **self.metadata.get(name, {})}

    def key_of(self, name: str) -> PartitionKey | None:
        """Return the run's key where the node has partitions."""
        return self.key if self.graph.nodes[name].partitions is not None else None

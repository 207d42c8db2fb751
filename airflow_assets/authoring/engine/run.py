"""What all steps of a run share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from airflow_assets.authoring.errors import ConfigurationError, NodeNotFoundError
from airflow_assets.authoring.graph.graph import Graph
from airflow_assets.authoring.handlers.interface import BaseIOHandler
from airflow_assets.authoring.partitions.definitions import DynamicKeys
from airflow_assets.authoring.partitions.keys import PartitionKey

if TYPE_CHECKING:
    from airflow_assets.authoring.graph.nodes import Node


class Last(NamedTuple):
    """What an asset's last materialization was made with."""

    code_version: str | None = None
    input_data_versions: Mapping[str, str] = {}


def _nothing(name: str) -> Last:  # noqa: ARG001 - nothing is known of any asset
    return Last()


def _no_keys(name: str) -> Sequence[str] | None:  # noqa: ARG001 - no task gave any
    return None


@dataclass(frozen=True)
class Run:
    """One run of a graph.

    :param key: the partitions it is for.
    :param default_handler: for assets without one.
    :param version_of: the data version of an asset now; null for one that is missing.
    :param config: by asset: what its context's ``config`` is made of.
    :param metadata: by asset: what its static metadata is for this run, beside its own.
    :param last_of: what is recorded of an asset's last materialization, for actions, which keep it.
    :param fan_keys: the keys of the elements that a task has given as ``DynamicOutput``; null for plain ones.
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
    last_of: Callable[[str], Last] = _nothing
    fan_keys: Callable[[str], Sequence[str] | None] = _no_keys

    def node(self, name: str) -> Node:
        """Return a node, also an instance of a fan-out.

        Raises:
            NodeNotFoundError: there is none of this name.
        """
        found = self.graph.find(name)
        if found is None:
            raise NodeNotFoundError(f"There is no node {name!r}")
        return found

    def handler(self, name: str) -> BaseIOHandler:
        """Return the handler of a node.

        Raises:
            ConfigurationError: what is registered under the key is no handler.
        """
        found = self.node(name).io_handler or self.default_handler
        if not isinstance(found, BaseIOHandler):
            raise ConfigurationError(f"The io_handler of {name!r} is {found!r}, which is no BaseIOHandler")
        return found

    def metadata_of(self, name: str) -> dict[str, str]:
        """Return the static metadata of a node in this run."""
        return {**self.node(name).metadata, **self.metadata.get(name, {})}

    def key_of(self, name: str) -> PartitionKey | None:
        """Return the run's key where the node has partitions."""
        return self.key if self.node(name).partitions is not None else None

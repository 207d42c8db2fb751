"""A resolved graph, and what its definitions may name instead of holding it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from airflow_assets.authoring.assets import Asset
from airflow_assets.authoring.errors import AssetDefinitionError, ConfigurationError
from airflow_assets.authoring.graph.nodes import Node, Step
from airflow_assets.authoring.partitions.definitions import PartitionsDefinition
from airflow_assets.authoring.retries import RetryPolicy


@dataclass(frozen=True)
class Registered:
    """What definitions may name instead of holding it."""

    resources: Mapping[str, Any] = field(default_factory=dict)
    partition_defs: Mapping[str, PartitionsDefinition] = field(default_factory=dict)
    retries: Mapping[str, RetryPolicy] = field(default_factory=dict)
    default_retry: RetryPolicy | None = None

    def partitions(self, value: PartitionsDefinition | str | None, owner: str) -> PartitionsDefinition | None:
        """Return a definition, looked up where it is a name."""
        what = f"partitions_def of {owner!r}"
        found: PartitionsDefinition | None = _looked_up(value, self.partition_defs, what, "partition_defs")
        return found

    def retry(self, value: RetryPolicy | str | None, owner: str) -> RetryPolicy | None:
        """Return a policy, looked up where it is a name; the repository's default without one."""
        return _looked_up(value, self.retries, f"retry of {owner!r}", "retries") or self.default_retry

    def handler(self, value: Any, owner: str) -> Any:
        """Return a handler, looked up among the resources where it is a key."""
        if not isinstance(value, str):
            return value
        if value not in self.resources:
            raise AssetDefinitionError(
                f"io_handler of {owner!r} is the resource {value!r}, and there are {sorted(self.resources)}"
            )
        return self.resources[value]


@dataclass
class Graph:
    """Resolved assets: nodes by name, the step that makes each, and the steps in an order that works."""

    assets: dict[str, Asset]
    nodes: dict[str, Node] = field(default_factory=dict)
    steps: dict[str, Step] = field(default_factory=dict)
    step_of: dict[str, str] = field(default_factory=dict)
    levels: list[list[str]] = field(default_factory=list)
    observers: dict[str, Step] = field(default_factory=dict)
    """The steps that observe external assets, by asset."""
    registered: Registered = field(default_factory=Registered)

    def find(self, name: str) -> Node | None:
        """Return a node by its name, also an instance of a fan-out (``graph/task__0``); null for no node."""
        found = self.nodes.get(name)
        place = name.find("__") if found is None else -1
        while place >= 0:
            step = self.steps.get(name[:place])
            if step is not None and step.call is not None and step.call.over is not None:
                return replace(step.nodes[0], name=name)
            place = name.find("__", place + 1)
        return found

    def upstreams(self, name: str) -> list[str]:
        """Return the nodes that a node waits for."""
        return list(self.nodes[name].edges)


def _looked_up(value: Any, known: Mapping[str, Any], what: str, where: str) -> Any:
    if not isinstance(value, str):
        return value
    if value not in known:
        raise ConfigurationError(f"{what} is {value!r}, and CodeRepository({where}=...) has {sorted(known)}")
    return known[value]

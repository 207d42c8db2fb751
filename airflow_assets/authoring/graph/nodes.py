"""The parts of a resolved graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from airflow_assets.authoring.assets import Asset
from airflow_assets.authoring.deps import AssetDef
from airflow_assets.authoring.errors import AssetDefinitionError
from airflow_assets.authoring.partitions.definitions import PartitionsDefinition
from airflow_assets.authoring.partitions.mappings import PartitionMapping
from airflow_assets.authoring.retries import RetryPolicy


class Gets(Enum):
    """What a parameter of a body gets."""

    CONTEXT = "context"
    SELF = "self"
    NODE = "node"
    RESOURCE = "resource"
    CONSTANT = "constant"


@dataclass(frozen=True)
class Parameter:
    """A parameter of a body.

    :param source: the node or resource it gets; empty for others.
    :param hint: its annotation, resolved; null without one.
    :param by_name: it is passed by its name: it takes nothing else, or one before it keeps its default.
    """

    name: str
    gets: Gets
    source: str = ""
    hint: Any = None
    by_name: bool = False
    value: Any = None
    """The constant."""


@dataclass(frozen=True)
class Edge:
    """What a node has to do with one upstream.

    :param loads: the data is loaded; else the edge only orders.
    :param io_handler: loads it instead of the upstream's.
    :param metadata: what the handler is told instead of the upstream's metadata.
    """

    upstream: str
    loads: bool
    mapping: PartitionMapping | None = None
    io_handler: Any = None
    metadata: dict[str, str] | None = None


@dataclass
class Node:
    """Something that has a value: an asset, an output of a multi-asset, or a task inside a graph asset."""

    name: str
    asset: Asset
    output: AssetDef | None = None
    task: Any = None
    edges: dict[str, Edge] = field(default_factory=dict)
    partitions: PartitionsDefinition | None = None
    io_handler: Any = None
    metadata: dict[str, str] = field(default_factory=dict)
    type_hint: Any = None

    @property
    def is_external(self) -> bool:
        """Whether something else writes it."""
        return self.asset.is_external

    @property
    def declared(self) -> Asset | AssetDef:
        """What its tags, kinds, group and code version are read from."""
        return self.output or self.asset


@dataclass
class Step:
    """One call of a body; what it makes are its nodes.

    :param order: steps that have to be done before, whether or not it loads anything of them.
    """

    name: str
    asset: Asset
    function: Callable[..., Any]
    parameters: list[Parameter]
    nodes: list[Node]
    retry: RetryPolicy | None = None
    pools: list[tuple[str, int]] = field(default_factory=list)
    order: set[str] = field(default_factory=set)
    call: Any = None
    """The call of a graph's body that it is."""

    @property
    def is_multi(self) -> bool:
        """Whether one call makes several outputs."""
        return self.asset.is_multi


def declared_retry(step: Step) -> RetryPolicy | str | None:
    """Return the retry policy that a task, an asset or its outputs declare for a step; null for none.

    Raises:
        AssetDefinitionError: outputs that one call makes declare different ones.
    """
    if step.call is not None:
        return step.call.task.retry if step.call.task else None
    declared = [node.output.retry for node in step.nodes if node.output and node.output.retry]
    if any(retry != declared[0] for retry in declared):
        raise AssetDefinitionError(
            f"The outputs of {step.name!r} have different retry policies, and are made by one call: set one"
        )
    return step.asset.retry or (declared[0] if declared else None)

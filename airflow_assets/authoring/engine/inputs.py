"""What the parameters of a body get."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_assets.authoring.contexts import InputContext, PartitionContext
from airflow_assets.authoring.deps import SelfDependency
from airflow_assets.authoring.errors import PartitionValidationError
from airflow_assets.authoring.graph.nodes import Edge, Gets, Node, Parameter, Step
from airflow_assets.authoring.partitions.edges import Ends
from airflow_assets.authoring.partitions.mappings import load_of_edge

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from airflow_assets.authoring.engine.run import Run

_NOT_THERE = (FileNotFoundError, KeyError)
"""What handlers raise for a value that has not been stored yet."""


def arguments(
    run: Run, step: Step, context: Any, given: Mapping[str, Any] | None = None
) -> tuple[list[Any], dict[str, Any]]:
    """Return the positional and the keyword arguments of a step's body.

    :param given: values by parameter that are at hand already: an element of a fan-out.

    Raises:
        Exception: whatever the handler of an input raises.
    """
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for parameter in step.parameters:
        if given and parameter.name in given:
            value = given[parameter.name]
        else:
            value = _value(run, step, parameter, context)
        if parameter.by_name:
            kwargs[parameter.name] = value
        else:
            args.append(value)
    return args, kwargs


def input_versions(run: Run, nodes: Sequence[Node]) -> dict[str, str]:
    """Return the version of every upstream at this moment, of those that only order too."""
    upstreams = dict.fromkeys(edge.upstream for node in nodes for edge in node.edges.values())
    found = ((name, run.version_of(name)) for name in upstreams)
    return {name: version for name, version in found if version is not None}


def loaded(run: Run, owner: str, edge: Edge, hint: Any) -> Any:
    """Return the data of one edge: what belongs to the run's key, or null where the mapping says nothing.

    Raises:
        PartitionValidationError: there is no upstream key for the run's.
    """
    node, upstream = run.node(owner), run.node(edge.upstream)
    ends = Ends(node.partitions, upstream.partitions, run.dynamic)
    try:
        load = load_of_edge(edge.mapping, run.key_of(owner), ends)
    except PartitionValidationError as error:
        raise PartitionValidationError(f"Asset {owner!r} reads {upstream.name!r}: {error}") from error
    if load.absent:
        return None
    context = InputContext(
        asset_name=upstream.name,
        downstream_asset=owner,
        asset_metadata=run.metadata_of(upstream.name) if edge.metadata is None else edge.metadata,
        partition=PartitionContext(load.key, upstream.partitions) if load.key else None,
        type_hint=hint,
    )
    handler = edge.io_handler or run.handler(upstream.name)
    if isinstance(handler, str):
        handler = run.resources[handler]
    return handler.load_input(context)


def _value(run: Run, step: Step, parameter: Parameter, context: Any) -> Any:
    if parameter.gets is Gets.CONTEXT:
        return context
    if parameter.gets is Gets.CONSTANT:
        return parameter.value
    if parameter.gets is Gets.RESOURCE:
        return run.resources[parameter.source]
    if parameter.gets is Gets.SELF:
        return SelfDependency(_own_last(run, step, parameter))
    node = next(node for node in step.nodes if parameter.source in node.edges)
    return loaded(run, node.name, node.edges[parameter.source], parameter.hint)


def _own_last(run: Run, step: Step, parameter: Parameter) -> Any:
    """The asset's own last output; null only where there is none yet."""
    name = step.nodes[0].name
    key = run.key_of(name)
    partition = PartitionContext(key, step.nodes[0].partitions) if key else None
    try:
        return run.handler(name).load_input(
            InputContext(name, name, run.metadata_of(name), partition, parameter.hint)
        )
    except _NOT_THERE:
        return None

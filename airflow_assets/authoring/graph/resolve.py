"""Resolving: who provides each parameter, who waits for whom, and whether all of it fits."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from airflow_assets.authoring.assets import Asset, GraphAsset, MultiAsset
from airflow_assets.authoring.class_form import desugar
from airflow_assets.authoring.errors import (
    AssetDefinitionError,
    GraphValidationError,
    PartitionValidationError,
)
from airflow_assets.authoring.graph.graph import Graph, Registered
from airflow_assets.authoring.graph.nodes import Edge, Gets, Node, Parameter, Step, declared_retry
from airflow_assets.authoring.graph.order import levels
from airflow_assets.authoring.graph.parameters import classified, type_hints
from airflow_assets.authoring.graph.verbs import observer
from airflow_assets.authoring.partitions.definitions import TimeWindow
from airflow_assets.authoring.partitions.edges import Ends
from airflow_assets.authoring.partitions.mappings import PartitionMapping, check_edge
from airflow_assets.authoring.tasks import stand_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from airflow_assets.authoring.automation import AutomationCondition
    from airflow_assets.authoring.deps import DepDef

__all__ = ["Graph", "Registered", "resolve"]


def resolve(assets: Iterable[Asset | type], registered: Registered) -> Graph:
    """Return the graph of the assets.

    Raises:
        AssetDefinitionError: something that is no asset, two definitions under one name, an unknown resource.
        GraphValidationError: a parameter or dependency that nothing provides, or a cycle.
        ConfigurationError: an unknown name of partitions or of a retry policy.
        PartitionValidationError: an edge whose partitions do not fit.
    """
    graph = Graph(_by_name(assets), registered=registered)
    for name, asset in graph.assets.items():
        _add_nodes(graph, name, asset, registered)
    _warn_of_shadowed(graph, registered)
    for asset, names in _names_of(graph).items():
        _add_steps(graph, asset, names, registered)
    for name, node in graph.nodes.items():
        if node.is_external and node.asset.observe_fn is not None:
            graph.observers[name] = observer(node, registered)
    for step in graph.steps.values():
        found = {graph.step_of[name] for node in step.nodes for name in node.edges if name in graph.step_of}
        if isinstance(step.asset, GraphAsset) and step.call is None:
            found |= {f"{step.name}/{call}" for call in step.asset.trace.calls}
        step.order = found - {step.name}
    for node in graph.nodes.values():
        _check_partitions(graph, node)
        _check_condition(node)
    graph.levels = levels({name: step.order for name, step in graph.steps.items()})
    return graph


def _names_of(graph: Graph) -> dict[Asset, list[str]]:
    found: dict[Asset, list[str]] = {}
    for name, asset in graph.assets.items():
        found.setdefault(asset, []).append(name)
    return found


def _by_name(assets: Iterable[Asset | type]) -> dict[str, Asset]:
    """Assets by the names of what they make; one that is listed twice counts once."""
    found: dict[str, Asset] = {}
    seen: set[Any] = set()
    for listed in assets:
        if listed in seen:
            continue
        seen.add(listed)
        asset = desugar(listed) if isinstance(listed, type) else listed
        if not isinstance(asset, Asset):
            raise AssetDefinitionError(f"assets takes assets and class-form assets, not {listed!r}")
        if asset.function is None and not asset.is_external:
            raise AssetDefinitionError(f"{asset!r} is a decorator without a function; apply it to one")
        names = (
            [str(output.name) for output in asset.output_defs]
            if isinstance(asset, MultiAsset)
            else [asset.name]
        )
        for name in names:
            if name in found:
                raise AssetDefinitionError(f"Two assets are called {name!r}; give one of them another name")
            found[name] = asset
    return found


def _add_nodes(graph: Graph, name: str, asset: Asset, registered: Registered) -> None:
    output = None
    if isinstance(asset, MultiAsset):
        output = next(one for one in asset.output_defs if one.name == name)
    declared = output or asset
    hint = output.type_hint if output else _return_hint(asset)
    graph.nodes[name] = Node(
        name,
        asset,
        output,
        partitions=registered.partitions(declared.partitions_def, name),
        io_handler=registered.handler(declared.io_handler, name),
        metadata=dict(declared.metadata or {}),
        type_hint=hint,
    )
    if isinstance(asset, GraphAsset):
        for call in asset.trace.calls.values():
            inner = f"{name}/{call.name}"
            handler = asset.node_io_handler or getattr(call.task, "io_handler", None) or asset.io_handler
            graph.nodes[inner] = Node(
                inner,
                asset,
                task=call.task,
                partitions=graph.nodes[name].partitions,
                io_handler=registered.handler(handler, inner),
                type_hint=_return_type(call.task.function) if call.task else None,
            )


def _return_hint(asset: Asset) -> Any:
    if asset.function is None or asset.is_external:
        return None
    return _return_type(asset.function)


def _return_type(function: Any) -> Any:
    found = type_hints(function).get("return")
    return None if isinstance(found, str) else found


def _warn_of_shadowed(graph: Graph, registered: Registered) -> None:
    for name in sorted({*graph.nodes} & {*registered.resources}):
        warnings.warn(
            f"{name!r} is an asset and a resource; parameters get the asset", UserWarning, stacklevel=4
        )


def _add_steps(graph: Graph, asset: Asset, names: list[str], registered: Registered) -> None:
    if isinstance(asset, GraphAsset):
        _add_graph_steps(graph, asset, registered)
    elif asset.function is not None and not asset.is_external:
        made = [graph.nodes[name] for name in names]
        parameters = classified(asset.name, asset.function, graph.nodes, registered.resources)
        for node in made:
            node.edges = _edges(graph, node, parameters)
        _add_step(graph, Step(asset.name, asset, asset.function, parameters, made), registered)


def _add_step(graph: Graph, step: Step, registered: Registered) -> None:
    step.retry = registered.retry(declared_retry(step), step.name)
    step.pools = _pools(step)
    key = step.name if step.name not in graph.steps else f"{step.name}@{step.nodes[0].name}"
    step.name = key
    graph.steps[key] = step
    for node in step.nodes:
        graph.step_of[node.name] = key


def _pools(step: Step) -> list[tuple[str, int]]:
    found: dict[str, int] = dict(step.asset.pool)
    for node in step.nodes:
        for name, slots in node.output.pool if node.output else ():
            found[name] = max(slots, found.get(name, 0))
    return list(found.items())


def _edges(graph: Graph, node: Node, parameters: list[Parameter]) -> dict[str, Edge]:
    asset, output = node.asset, node.output
    deps = [*asset.inputs, *asset.deps, *(output.deps if output else ())]
    own = dict(output.partition_mapping or {}) if output else {}
    told: dict[str, DepDef] = {}
    for dep in deps:
        _check_known(graph, node.name, dep.name)
        told[dep.name] = _agreed(node.name, told.get(dep.name), dep)
    edges = {}
    for parameter in parameters:
        if parameter.gets is Gets.NODE:
            edges[parameter.source] = _edge(
                node.name, parameter.source, told.pop(parameter.source, None), own, loads=True
            )
    for name, dep in told.items():
        edges[name] = _edge(node.name, name, dep, own, loads=False)
    for name in own:
        if name not in edges:
            raise GraphValidationError(
                f"Output {node.name!r} maps partitions of {name!r}, which it does not depend on"
            )
    return edges


def _edge(
    owner: str, upstream: str, dep: DepDef | None, own: Mapping[str, PartitionMapping], *, loads: bool
) -> Edge:
    mapping = dep.partition_mapping if dep else None
    if upstream in own:
        if mapping is not None and mapping != own[upstream]:
            raise AssetDefinitionError(
                f"Output {owner!r}: the mapping of {upstream!r} in partition_mapping and deps conflicts"
            )
        mapping = own[upstream]
    return Edge(upstream, loads, mapping, dep.io_handler if dep else None, dep.metadata if dep else None)


def _agreed(owner: str, known: DepDef | None, dep: DepDef) -> DepDef:
    if known is None or known == dep:
        return dep
    if known.partition_mapping != dep.partition_mapping or known.metadata != dep.metadata:
        raise AssetDefinitionError(f"{owner!r} depends on {dep.name!r} twice, and what is said conflicts")
    return known if known.is_input else dep


def _check_known(graph: Graph, owner: str, name: str) -> None:
    if name == owner:
        raise GraphValidationError(
            f"Asset {owner!r} depends on itself; its parameter 'self: SelfDependency[T]' gets its last output"
        )
    if name not in graph.nodes:
        raise GraphValidationError(f"Asset {owner!r} depends on {name!r}, and there is no asset of this name")


def _add_graph_steps(graph: Graph, asset: GraphAsset, registered: Registered) -> None:
    overrides = {dep.name: dep for dep in (*asset.inputs, *asset.deps)}
    for name in overrides:
        _check_known(graph, asset.name, name)
    inner = {call: f"{asset.name}/{call}" for call in asset.trace.calls}
    for call in asset.trace.calls.values():
        node = graph.nodes[inner[call.name]]
        parameters = _inner_parameters(graph, asset, call, inner, registered)
        sources = [parameter.source for parameter in parameters if parameter.gets is Gets.NODE]
        sources += [inner[call.collects]] if call.collects else []
        sources += [_source(call.over, inner)] if call.over is not None else []
        node.edges = {
            name: _edge(node.name, name, overrides.get(name), {}, loads=True)
            for name in dict.fromkeys(sources)
        }
        function = call.task.run if call.task else list
        _add_step(graph, Step(node.name, asset, function, parameters, [node], call=call), registered)
    final = _final(graph, asset, inner)
    own = graph.nodes[asset.name]
    own.edges = {final: Edge(final, loads=True)}
    for name, dep in overrides.items():
        if not dep.is_input:
            own.edges[name] = _edge(asset.name, name, dep, {}, loads=False)
    value = Parameter("value", Gets.NODE, final)
    _add_step(graph, Step(asset.name, asset, _passed_on, [value], [own]), registered)


def _inner_parameters(
    graph: Graph, asset: GraphAsset, call: Any, inner: Mapping[str, str], registered: Registered
) -> list[Parameter]:
    if call.task is None:
        return []
    hints = type_hints(call.task.function)
    wired = {
        name: Parameter(name, Gets.NODE, _source(value, inner), hints.get(name))
        if stand_in(value)
        else Parameter(name, Gets.CONSTANT, value=value)
        for name, value in call.wired.items()
    }
    if call.over is not None:
        element = next(
            (name for name in call.task.parameters if name != "context" and name not in wired), None
        )
        if element is None:
            raise GraphValidationError(
                f"Task {call.name!r} of {asset.name!r} has no parameter for an element"
            )
        wired[element] = Parameter(element, Gets.CONSTANT, hint=hints.get(element))
    return classified(
        f"{asset.name}/{call.name}", call.task.function, graph.nodes, registered.resources, wired
    )


def _source(output: Any, inner: Mapping[str, str]) -> str:
    return inner[output.node_name] if output.node_name in inner else str(output.node_name)


def _passed_on(value: Any) -> Any:
    """The step of a graph asset itself: what its last task gave is its own output."""
    return value


def _final(graph: Graph, asset: GraphAsset, inner: Mapping[str, str]) -> str:
    if not stand_in(asset.result):
        raise GraphValidationError(
            f"The body of graph asset {asset.name!r} returns {asset.result!r}, not the output of a task"
        )
    name = _source(asset.result, inner)
    if name not in graph.nodes:
        raise GraphValidationError(f"Asset {asset.name!r}: nothing provides {name!r}, which its body returns")
    return name


def _check_partitions(graph: Graph, node: Node) -> None:
    for edge in node.edges.values():
        upstream = graph.nodes[edge.upstream]
        try:
            check_edge(edge.mapping, Ends(node.partitions, upstream.partitions, dynamic=_anything))
        except PartitionValidationError as error:
            raise PartitionValidationError(
                f"Asset {node.name!r} depends on {upstream.name!r}: {error}"
            ) from None


def _anything(name: str) -> list[str]:  # noqa: ARG001 - keys of a dynamic definition come later
    return []


def _check_condition(node: Node) -> None:
    condition: AutomationCondition | None = node.asset.automation_condition
    if condition is None:
        return
    if node.is_external and node.asset.observe_fn is None:
        raise AssetDefinitionError(
            f"External asset {node.name!r} has an automation condition, and no observe function to run"
        )
    if condition.kind == "in_latest_time_window" and not isinstance(node.partitions, TimeWindow):
        raise AssetDefinitionError(f"Asset {node.name!r} has no time windows for in_latest_time_window")

"""The verbs of a graph's assets: who defines one, its body, and the order among the targets of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_assets.authoring.actions import ActionOrdering
from airflow_assets.authoring.graph.nodes import Step
from airflow_assets.authoring.graph.order import levels
from airflow_assets.authoring.graph.parameters import body_parameters

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from airflow_assets.authoring.actions import AssetAction
    from airflow_assets.authoring.graph.graph import Graph, Registered
    from airflow_assets.authoring.graph.nodes import Node


def action_of(graph: Graph, name: str, verb: str) -> AssetAction | None:
    """Return the action that an asset defines under a verb; null when it defines none."""
    if name not in graph.assets:
        return None  # a task of a graph asset has no verbs of its own
    found = graph.nodes[name].declared.actions or ()
    return next((action for action in found if action.name == verb), None)


def defining(graph: Graph, verb: str) -> list[str]:
    """Return the assets that define a verb; of ``observe`` the external ones that can be observed."""
    if verb == "observe":
        return list(graph.observers)
    return [name for name in graph.assets if action_of(graph, name, verb) is not None]


def verbs_of(graph: Graph) -> dict[str, list[str]]:
    """Return every verb of the graph with the assets that define it; the built-in ones are left out."""
    found: dict[str, list[str]] = {}
    for name in graph.assets:
        for action in graph.nodes[name].declared.actions or ():
            found.setdefault(action.name, []).append(name)
    return found


def observer(node: Node, registered: Registered) -> Step:
    """Return the step that observes an external asset.

    Raises:
        GraphValidationError: the function takes more than the context and resources.
    """
    function: Any = node.asset.observe_fn
    parameters = body_parameters(f"observe function of {node.name!r}", function, registered.resources)
    return Step(node.name, node.asset, function, parameters, [node])


def action_steps(
    graph: Graph, verb: str, targets: Sequence[str]
) -> Iterator[tuple[AssetAction, Step, tuple[str, ...]]]:
    """Yield each target's action, its step and the targets it waits for, those that others wait for first.

    Raises:
        GraphValidationError: the orders of the targets' actions are a cycle, or a body takes what nothing
            provides.
    """
    actions = {name: action for name in targets if (action := action_of(graph, name, verb)) is not None}
    waits = _waits(graph, actions)
    for level in levels(waits):
        for name in level:
            yield actions[name], _step(graph, graph.nodes[name], actions[name]), tuple(waits[name])


def _step(graph: Graph, node: Node, action: AssetAction) -> Step:
    body: Any = action.body
    owner = f"action {action.name!r} of {node.name!r}"
    parameters = body_parameters(owner, body, graph.registered.resources, always_context=True)
    # Never the asset's or the repository's policy: a verb may not be safe to repeat.
    retry = graph.registered.retry(action.retry, owner) if action.retry is not None else None
    pools = (node.output.pool if node.output else node.asset.pool) if action.exclusive else []
    return Step(node.name, node.asset, body, parameters, [node], retry=retry, pools=list(pools))


def _waits(graph: Graph, actions: dict[str, AssetAction]) -> dict[str, list[str]]:
    """For each target the targets it waits for: the nearest related ones, through whatever is between."""
    downstreams: dict[str, list[str]] = {}
    for name, node in graph.nodes.items():
        for upstream in node.edges:
            downstreams.setdefault(upstream, []).append(name)
    found: dict[str, list[str]] = {}
    for name, action in actions.items():
        if action.ordering is ActionOrdering.Unordered:
            found[name] = []
            continue
        upwards = action.ordering is ActionOrdering.UpstreamFirst
        found[name] = _nearest(graph, name, actions, None if upwards else downstreams)
    return found


def _nearest(
    graph: Graph, start: str, actions: dict[str, AssetAction], downstreams: dict[str, list[str]] | None
) -> list[str]:
    found: dict[str, None] = {}
    seen = {start}
    pending = [start]
    while pending:
        name = pending.pop()
        for other in graph.nodes[name].edges if downstreams is None else downstreams.get(name, ()):
            if other in seen:
                continue
            seen.add(other)
            target = actions.get(other)
            if target is not None:
                found[other] = None
            # What a target of the same order waits for, it waits for on behalf of this one too.
            if target is None or target.ordering is not actions[start].ordering:
                pending.append(other)
    return list(found)

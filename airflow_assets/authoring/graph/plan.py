"""From a graph and a selection to the steps of one run, in an order that works; nothing here runs."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from airflow_assets.authoring.actions import AssetAction
from airflow_assets.authoring.assets import GraphAsset
from airflow_assets.authoring.errors import AssetNotFoundError, ExecutionError, GraphValidationError
from airflow_assets.authoring.graph.nodes import Step, declared_retry
from airflow_assets.authoring.graph.order import closure
from airflow_assets.authoring.graph.verbs import action_of, action_steps, defining

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from airflow_assets.authoring.graph.graph import Graph
    from airflow_assets.authoring.graph.nodes import Node
    from airflow_assets.authoring.retries import RetryPolicy

MATERIALIZE, OBSERVE = "materialize", "observe"


@dataclass(frozen=True)
class Claim:
    """A place that a step takes in the lock of an asset with an exclusive action.

    :param exclusive: nobody else may be there for the same partitions; else only no exclusive one.
    """

    asset: str
    exclusive: bool


@dataclass(frozen=True)
class PlannedStep:
    """A step of a run.

    :param nodes: what it is run for: of a multi-asset the selected outputs only.
    :param needs: the nodes of the same plan that have to be done well before it begins.
    :param waits: the steps that make these, by name.
    :param verb: ``materialize``, ``observe``, or the action's.
    :param action: null for the first two.
    """

    step: Step
    nodes: tuple[str, ...]
    needs: tuple[str, ...] = ()
    waits: tuple[str, ...] = ()
    verb: str = MATERIALIZE
    action: AssetAction | None = None

    @property
    def name(self) -> str:
        """The step's name."""
        return self.step.name

    def pools(self) -> list[tuple[str, int]]:
        """Return the slots it takes: of a multi-asset those of the selected outputs."""
        if not self.step.is_multi or self.action is not None:
            return self.step.pools
        found: dict[str, int] = {}
        for node in self.step.nodes:
            for name, slots in node.declared.pool if node.name in self.nodes else ():
                found[name] = max(slots, found.get(name, 0))
        return list(found.items())

    def claims(self) -> list[Claim]:
        """Return the locks it takes: a materialize shares those of its assets, an action takes its own."""
        if self.action is not None:
            return [Claim(self.step.nodes[0].name, exclusive=True)] if self.action.exclusive else []
        locked = (node for node in self.step.nodes if node.name in self.nodes and _is_locked(node))
        return [Claim(name, exclusive=False) for name in dict.fromkeys(map(_lock_name, locked))]


@dataclass(frozen=True)
class Plan:
    """The steps of a run; each comes after those it waits for."""

    verb: str
    steps: tuple[PlannedStep, ...] = ()

    def listed(self) -> list[str]:
        """Return what the run is for as results list it: after what it needs, and else by name."""
        made = {name: planned for planned in self.steps for name in planned.nodes}
        needs = {name: {need for need in planned.needs if need in made} for name, planned in made.items()}
        readers: dict[str, list[str]] = {}
        for name, upstreams in needs.items():
            for upstream in upstreams:
                readers.setdefault(upstream, []).append(name)
        ready = sorted(name for name, upstreams in needs.items() if not upstreams)
        found = []
        while ready:
            found.append(heapq.heappop(ready))
            for reader in readers.get(found[-1], ()):
                needs[reader].discard(found[-1])
                if not needs[reader]:
                    heapq.heappush(ready, reader)
        return found

    @property
    def nodes(self) -> list[str]:
        """What the run is for, in the order of its steps."""
        return [name for planned in self.steps for name in planned.nodes]


def materialize_plan(
    graph: Graph, selection: Sequence[str] | None = None, *, include_upstream: bool = False
) -> Plan:
    """Return the steps that make the selected assets; null: all, and what can be observed is observed first.

    The name of a graph asset means all its steps. Upstreams that are not selected are loaded.

    Raises:
        AssetNotFoundError: a name that no asset has.
        ExecutionError: a selected external asset that nothing observes.
        GraphValidationError: an upstream outside of the selection has no handler that could load it.
    """
    chosen = list(graph.assets) if selection is None else _known(graph, selection)
    for name in chosen if selection is not None else ():
        if graph.nodes[name].is_external and name not in graph.observers:
            raise ExecutionError(
                f"{name!r} is external and has no observe function, so it cannot be materialized"
            )
    if include_upstream:
        upstreams = {name: node.edges.keys() for name, node in graph.nodes.items()}
        chosen = [*chosen, *sorted(closure(chosen, upstreams) - {*chosen})]
    wanted = {inner for name in chosen for inner in _with_inner(graph, name)}
    observed = [
        _observing(graph.observers[name]) for name in dict.fromkeys(chosen) if name in graph.observers
    ]
    made = [_made(graph, name, wanted) for level in graph.levels for name in level]
    steps = [planned for planned in made if planned is not None]
    _check_loads(graph, steps, wanted)
    return Plan(MATERIALIZE, (*observed, *steps))


def with_default_retry(plan: Plan, policy: RetryPolicy) -> Plan:
    """Return a plan whose steps take this policy where the asset or task declares none of its own."""
    return replace(
        plan,
        steps=tuple(
            planned
            if planned.action is not None or planned.verb == OBSERVE or declared_retry(planned.step)
            else replace(planned, step=replace(planned.step, retry=policy))
            for planned in plan.steps
        ),
    )


def observe_plan(graph: Graph, names: Iterable[str] | None = None) -> Plan:
    """Return the steps that observe external assets: all that can be, or those among the names.

    A name that is no such asset is left out.
    """
    chosen = graph.observers if names is None else dict.fromkeys(names)
    return Plan(
        OBSERVE, tuple(_observing(graph.observers[name]) for name in chosen if name in graph.observers)
    )


def action_plan(graph: Graph, verb: str, selection: Sequence[str] | None = None) -> Plan:
    """Return a step for each target of a verb: the selected assets, or all that define it.

    Raises:
        AssetNotFoundError: there is no target, or a name that no asset has.
        GraphValidationError: a selected asset does not define the verb; or the verb's orders are a cycle.
    """
    targets = defining(graph, verb) if selection is None else _known(graph, selection)
    observing = verb == OBSERVE
    for name in targets:
        if not (name in graph.observers if observing else action_of(graph, name, verb)):
            raise GraphValidationError(f"Asset {name!r} does not define the action {verb!r}")
    if not targets:
        raise AssetNotFoundError(f"No asset defines the action {verb!r}" if selection is None else _EMPTY)
    if observing:
        return observe_plan(graph, targets)
    found = action_steps(graph, verb, targets)
    return Plan(
        verb,
        tuple(PlannedStep(step, (step.name,), waits, waits, verb, action) for action, step, waits in found),
    )


_EMPTY = "The selection is empty: name the assets, or leave it out for all that define the action"


def _known(graph: Graph, selection: Sequence[str]) -> list[str]:
    for name in selection:
        if name not in graph.nodes:
            raise AssetNotFoundError(f"The selection has {name!r}, and there is no asset of this name")
    return list(dict.fromkeys(selection))


def _with_inner(graph: Graph, name: str) -> list[str]:
    asset = graph.assets.get(name)
    if not isinstance(asset, GraphAsset):
        return [name]
    return [name, *(f"{name}/{call}" for call in asset.trace.calls)]


def _observing(step: Step) -> PlannedStep:
    return PlannedStep(step, (step.nodes[0].name,), verb=OBSERVE)


def _made(graph: Graph, name: str, wanted: Collection[str]) -> PlannedStep | None:
    step = graph.steps[name]
    nodes = tuple(node.name for node in step.nodes if node.name in wanted)
    if not nodes:
        return None
    needs = dict.fromkeys(
        up for node in step.nodes if node.name in nodes for up in node.edges if up in wanted
    )
    if isinstance(step.asset, GraphAsset) and step.call is None:
        needs |= dict.fromkeys(
            inner for inner in _with_inner(graph, name) if inner != name and inner in wanted
        )
    makers = (graph.step_of.get(up, up if up in graph.observers else "") for up in needs)
    waits = tuple(maker for maker in dict.fromkeys(makers) if maker and maker != name)
    return PlannedStep(step, nodes, tuple(up for up in needs if up not in nodes), waits)


def _check_loads(graph: Graph, steps: Iterable[PlannedStep], wanted: Collection[str]) -> None:
    for planned in steps:
        for node in planned.step.nodes:
            for edge in node.edges.values() if node.name in planned.nodes else ():
                handler = edge.io_handler or graph.nodes[edge.upstream].io_handler
                if edge.loads and edge.upstream not in wanted and handler is None:
                    raise GraphValidationError(
                        f"Asset {node.name!r} reads {edge.upstream!r}, which is not in the selection and has "
                        "no io_handler to load it with: select it too (include_upstream=True), or give it one"
                    )


def _is_locked(node: Node) -> bool:
    return any(action.exclusive for action in node.declared.actions or ())


def _lock_name(node: Node) -> str:
    return node.asset.name if isinstance(node.asset, GraphAsset) else node.name

"""Which steps share a Dag: those of a group, or of a connected component, that have the same partitions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from airflow_assets.authoring.partitions.definitions import PartitionsDefinition

if TYPE_CHECKING:
    from collections.abc import Iterator

    from airflow_assets.authoring.graph.graph import Graph
    from airflow_assets.authoring.graph.nodes import Step


@dataclass(frozen=True)
class Unit:
    """The steps of one Dag.

    :param name: what the Dag's id begins with: the group, or the first asset of the component; the first
        asset with these partitions is added where the group has others too.
    :param steps: names of steps, each after those it waits for.
    """

    name: str
    steps: tuple[str, ...]
    group: str | None
    partitions: PartitionsDefinition | None

    @cached_property
    def own(self) -> frozenset[str]:
        """The steps, for look-ups."""
        return frozenset(self.steps)

    def inside(self, graph: Graph, step: str) -> list[str]:
        """Return the steps of this Dag that a step waits for."""
        return sorted(graph.steps[step].order & self.own)

    def read_elsewhere(self, graph: Graph, step: str) -> list[str]:
        """Return the nodes a step depends on that no step of this Dag makes, externals too."""
        upstreams = (edge.upstream for node in graph.steps[step].nodes for edge in node.edges.values())
        return [name for name in dict.fromkeys(upstreams) if graph.step_of.get(name) not in self.own]


def units(graph: Graph) -> list[Unit]:
    """Return the Dags of a graph; every step is in one."""
    order = [name for level in graph.levels for name in level]
    bases = _bases(graph)
    found: dict[str, list[tuple[PartitionsDefinition | None, list[str]]]] = {}
    for name in order:
        parts = found.setdefault(bases[name], [])
        partitions = graph.steps[name].nodes[0].partitions
        steps = next((steps for known, steps in parts if known == partitions), None)
        if steps is None:
            parts.append((partitions, steps := []))
        steps.append(name)
    return list(_named(graph, found))


def _named(
    graph: Graph, found: dict[str, list[tuple[PartitionsDefinition | None, list[str]]]]
) -> Iterator[Unit]:
    for base, parts in found.items():
        for number, (partitions, steps) in enumerate(parts):
            group = group_of(graph.steps[steps[0]])
            name = base if number == 0 else f"{base}.{_called(graph.steps[steps[0]])}"
            yield Unit(name, tuple(steps), group, partitions)


def group_of(step: Step) -> str | None:
    """Return the group of a step: that of its first output."""
    return step.nodes[0].declared.group


def _called(step: Step) -> str:
    """The asset that a Dag is called after: never a task inside a graph asset."""
    return step.nodes[0].name if step.call is None else step.asset.name


def _bases(graph: Graph) -> dict[str, str]:
    """The group of each step; of one without, the first step of its component."""
    alone = {name for name, step in graph.steps.items() if group_of(step) is None}
    neighbours: dict[str, set[str]] = {name: set() for name in alone}
    for name in alone:
        for other in graph.steps[name].order & alone:
            neighbours[name].add(other)
            neighbours[other].add(name)
    bases = {name: str(group_of(step)) for name, step in graph.steps.items() if name not in alone}
    groups = set(bases.values())
    for name in graph.steps:
        if name not in bases:
            first = _called(graph.steps[name])
            _spread(name, f"{first}.alone" if first in groups else first, neighbours, bases)
    return bases


def _spread(first: str, base: str, neighbours: dict[str, set[str]], bases: dict[str, str]) -> None:
    pending = [first]
    while pending:
        name = pending.pop()
        if name not in bases:
            bases[name] = base
            pending.extend(neighbours[name])

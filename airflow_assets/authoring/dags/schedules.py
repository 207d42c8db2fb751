"""What starts a Dag: the conditions of its assets where Airflow or the catalogue can say them exactly.

An asset without a condition is made again when something it reads from another Dag changes, and follows what
it reads in its own. ``any_deps_updated()`` says the same. A tick of a cron is Airflow's own schedule. All
other conditions are :attr:`Schedule.not_built`: they start nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from airflow_assets.authoring.automation import AutomationCondition
from airflow_assets.authoring.errors import ConfigurationError
from airflow_assets.authoring.partitions.definitions import TimeWindow

if TYPE_CHECKING:
    from airflow_assets.authoring.dags.units import Unit
    from airflow_assets.authoring.graph.graph import Graph

_FOLLOWS = AutomationCondition.any_deps_updated()
_LATEST = AutomationCondition.in_latest_time_window()


@dataclass(frozen=True)
class Cron:
    """Ticks that start a Dag."""

    cron: str
    timezone: str


@dataclass(frozen=True)
class Schedule:
    """What starts a Dag, and which of its steps.

    :param ticking: steps that a tick of ``cron`` is for, and their followers.
    :param read: by a node of another Dag, or an external one: the steps that its change is for.
    :param still: steps that nothing but a hand starts: their conditions are not built.
    :param not_built: why, by the name of the asset.
    """

    cron: Cron | None = None
    ticking: frozenset[str] = frozenset()
    read: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    still: frozenset[str] = frozenset()
    not_built: Mapping[str, str] = field(default_factory=dict)


def schedule_of(graph: Graph, unit: Unit) -> Schedule:
    """Return what starts the Dag of some steps.

    Raises:
        ConfigurationError: its assets have conditions on different crons.
    """
    ticks: dict[str, Cron] = {}
    not_built: dict[str, str] = {}
    still: set[str] = set()
    read: dict[str, list[str]] = {}
    for name in unit.steps:
        condition = graph.steps[name].asset.automation_condition
        if condition is None or condition == _FOLLOWS:
            for upstream in _starting(graph, unit, name):
                read.setdefault(upstream, []).append(name)
            continue
        tick = _tick(graph, unit, name, condition, ticks)
        if tick is not None:
            ticks[name] = tick
        else:
            still.add(name)
            not_built[graph.steps[name].asset.name] = condition.label or condition.description
    return Schedule(
        _only(unit, ticks),
        frozenset(ticks),
        {node: tuple(steps) for node, steps in read.items()},
        frozenset(still),
        not_built,
    )


def _starting(graph: Graph, unit: Unit, step: str) -> list[str]:
    """The nodes elsewhere whose change says which partitions a step is to be run for."""
    found = unit.read_elsewhere(graph, step)
    if unit.partitions is None:
        return found
    return [name for name in found if graph.nodes[name].partitions is not None]


def selected_by(graph: Graph, unit: Unit, schedule: Schedule, roots: Iterable[str]) -> set[str]:
    """Return the steps that a cause is for: its roots, and what follows them by itself."""
    found = {name for name in roots if name in unit.steps}
    for name in unit.steps:
        follows = name not in schedule.still and name not in schedule.ticking
        if follows and found.intersection(graph.steps[name].order):
            found.add(name)
    return found


def _tick(
    graph: Graph, unit: Unit, name: str, condition: AutomationCondition, ticks: Mapping[str, Cron]
) -> Cron | None:
    """The ticks that a condition means exactly; null for others."""
    if unit.partitions is not None:
        # Without "in the latest window" a tick is for every window there ever was.
        if not isinstance(unit.partitions, TimeWindow) or not _is_for_latest(condition):
            return None
        condition = condition.without(_LATEST)
    cron, zone = _cron_of(condition)
    if cron is None:
        return None
    found = Cron(cron, zone or "UTC")
    if condition.kind == "cron_tick_passed":
        return found
    # on_cron also waits for every dependency to be updated since the tick: the run's own order says so for
    # those that the same tick is for, and nothing does for others.
    inside = all(ticks.get(other) == found for other in unit.inside(graph, name))
    return found if inside and not unit.read_elsewhere(graph, name) else None


def _is_for_latest(condition: AutomationCondition) -> bool:
    return condition.kind == "and" and _LATEST in condition.children


def _cron_of(condition: AutomationCondition) -> tuple[str | None, str | None]:
    if condition.kind == "cron_tick_passed":
        said = dict(condition.settings)
        return said["cron"], said["tz"]
    for part in condition.children:
        if part.kind == "all_deps_updated_since_cron":
            said = dict(part.settings)
            if condition == AutomationCondition.on_cron(said["cron"], said["tz"]):
                return said["cron"], said["tz"]
    return None, None


def _only(unit: Unit, ticks: Mapping[str, Cron]) -> Cron | None:
    found = sorted(set(ticks.values()), key=lambda one: (one.cron, one.timezone))
    if len(found) > 1:
        shown = ", ".join(repr(one.cron) for one in found)
        raise ConfigurationError(
            f"The assets of the Dag {unit.name!r} have conditions on several crons: {shown}. A Dag has one; "
            "give the assets of each cron a group of their own"
        )
    return found[0] if found else None

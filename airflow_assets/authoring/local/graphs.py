"""What a run does for graph assets besides their steps: starts, failure hooks, fan-outs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from airflow_assets.authoring.engine.events import EventType, StepEvent
from airflow_assets.authoring.engine.fanout import elements, say_mapped
from airflow_assets.authoring.engine.step import call_hooks
from airflow_assets.authoring.hooks import Failure
from airflow_assets.authoring.local.schedule import Mapped

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airflow_assets.authoring.engine.run import Run
    from airflow_assets.authoring.graph.nodes import Step
    from airflow_assets.authoring.graph.plan import Plan, PlannedStep
    from airflow_assets.authoring.local.journal import Journal
    from airflow_assets.authoring.local.schedule import Unit


class Graphs:
    """The graph assets of one run."""

    def __init__(self, run: Run, plan: Plan, journal: Journal) -> None:
        self._run, self._journal = run, journal
        self._graphs = {
            planned.name
            for planned in plan.steps
            if planned.step.asset.is_graph and planned.step.call is None
        }
        self._started: set[str] = set()
        self._mapped: dict[str, Mapped] = {}
        self._suffixes: dict[str, tuple[str, ...]] = {}

    def has_started(self, name: str) -> bool:
        """Tell whether the start of a graph asset was told."""
        return name in self._started

    def tell_start(self, planned: PlannedStep) -> None:
        """Tell that a graph asset starts, when the first of its tasks does."""
        name = planned.step.asset.name
        if planned.step.call is None or name in self._started or name not in self._graphs:
            return
        self._started.add(name)
        self._journal.emit_of(name)(StepEvent(EventType.StepStart, name))

    def call_failure_hooks(self, planned: PlannedStep, errors: Mapping[str, BaseException]) -> None:
        """Let the hooks of a graph asset hear why it is skipped, when one of its own tasks failed."""
        step = planned.step
        if planned.action is not None or step.name not in self._graphs or not step.asset.hooks:
            return
        error = next((error for name, error in errors.items() if name.startswith(f"{step.name}/")), None)
        if error is not None:
            call_hooks(self._run, step.asset.hooks, Failure, step.nodes[0], error=error)

    def expand(self, unit: Unit) -> Mapped:
        """Return the instances of a mapped step.

        Raises:
            Exception: its elements cannot be loaded, or are none.
        """
        planned = unit.planned
        emit = self._journal.emit_of(planned.name)
        emit(StepEvent(EventType.StepStart, planned.name))
        found = self._elements(planned.step)
        self._suffixes[planned.name] = tuple(found)
        mapped = self._mapped[planned.name] = Mapped(unit, found, planned.step.call.max_concurrency)
        return mapped

    def mapped_of(self, unit: Unit) -> Mapped | None:
        """Return the fan-out that a unit is an instance of; null for none."""
        return self._mapped.get(unit.planned.name) if unit.suffix is not None else None

    def tell_end(self, mapped: Mapped) -> None:
        """Tell how a fan-out ended."""
        step = mapped.planned.step
        versions = self._journal.versions_of(step.nodes[0].edges)
        run = replace(self._run, version_of=versions.get)
        say_mapped(run, step, mapped.failed, self._journal.emit_of(step.name))

    def collected(self, planned: PlannedStep) -> tuple[str, ...]:
        """Return the instances whose results a step collects, also those that an earlier launch has done."""
        step = planned.step
        if step.call is None or not step.call.collects:
            return ()
        mapped = next(iter(step.nodes[0].edges))
        if mapped not in self._suffixes:
            self._suffixes[mapped] = tuple(self._elements(self._run.graph.steps[mapped]))
        return self._suffixes[mapped]

    def _elements(self, step: Step) -> dict[str, Any]:
        known = self._journal.fan_keys
        run = replace(self._run, fan_keys=lambda name: known.get(name) or self._run.fan_keys(name))
        return elements(run, step)


def is_mapped(planned: PlannedStep) -> bool:
    """Tell whether a step runs once for each element of a list."""
    return planned.step.call is not None and planned.step.call.over is not None

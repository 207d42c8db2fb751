"""Which steps of a plan can begin."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any

from airflow_assets.authoring.local.work import Work

if TYPE_CHECKING:
    from airflow_assets.authoring.graph.plan import Plan, PlannedStep


class Unit:
    """A step that can begin, or an instance of a mapped one."""

    def __init__(
        self, planned: PlannedStep, place: int, suffix: str | None = None, element: Any = None
    ) -> None:
        self.planned, self.place, self.suffix, self.element = planned, place, suffix, element
        self.deaths = 0
        self.turn: int | None = None
        """Its place among those of the same place in the plan, from when it could begin first."""

    @property
    def name(self) -> str:
        """The step's name, or the instance's."""
        return self.planned.name if self.suffix is None else f"{self.planned.name}__{self.suffix}"

    @property
    def nodes(self) -> tuple[str, ...]:
        """What it makes."""
        return self.planned.nodes if self.suffix is None else (self.name,)

    def work(self, **more: Any) -> Work:
        """Return it as a piece of work."""
        return Work(self.planned.name, self.nodes, suffix=self.suffix, element=self.element, **more)


class Mapped:
    """A mapped step whose instances are run, as many at a time as it allows."""

    def __init__(self, unit: Unit, elements: dict[str, Any], at_a_time: int | None) -> None:
        self.planned, self.failed = unit.planned, False
        units = [Unit(unit.planned, unit.place, suffix, element) for suffix, element in elements.items()]
        self.left = len(units)
        first = len(units) if at_a_time is None else at_a_time
        self.first, self._later = units[:first], units[first:][::-1]

    def ended(self, *, failed: bool) -> Unit | None:
        """Count an instance that has ended, and return the one that may begin in its place."""
        self.left -= 1
        self.failed = self.failed or failed
        return self._later.pop() if self._later else None


class Schedule:
    """The steps that wait for no other, the first of the plan first."""

    def __init__(self, plan: Plan) -> None:
        self._open = {planned.name: len(planned.waits) for planned in plan.steps}
        self._readers: dict[str, list[Unit]] = {}
        self._ready: list[tuple[int, int, Unit]] = []
        self._count = 0
        for place, planned in enumerate(plan.steps):
            unit = Unit(planned, place)
            for name in planned.waits:
                self._readers.setdefault(name, []).append(unit)
            if not planned.waits:
                self.push(unit)

    def __bool__(self) -> bool:
        return bool(self._ready)

    def pop(self) -> Unit:
        """Return the next that can begin."""
        return heapq.heappop(self._ready)[2]

    def push(self, *units: Unit) -> None:
        """Let these begin when there is room."""
        for unit in units:
            if unit.turn is None:
                self._count += 1
                unit.turn = self._count
            heapq.heappush(self._ready, (unit.place, unit.turn, unit))

    def done(self, name: str) -> None:
        """Let those begin that have waited for this step alone."""
        for unit in self._readers.pop(name, ()):
            reader = unit.planned.name
            self._open[reader] -= 1
            if not self._open[reader]:
                self.push(unit)

    def clear(self) -> None:
        """Let nothing begin any more."""
        self._ready.clear()
        self._readers.clear()

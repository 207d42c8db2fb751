"""The places where the steps of one run are run: this process, and others where the executor has some."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from airflow_assets.authoring.errors import ConfigurationError, ExecutionError
from airflow_assets.authoring.handlers.memory import InMemoryIOHandler
from airflow_assets.authoring.local.executors import METADATA, NAMES, NODE_METADATA, Executor, Parallel
from airflow_assets.authoring.local.work import perform

if TYPE_CHECKING:
    from collections.abc import Callable

    from airflow_assets.authoring.engine.events import Emit, StepEvent
    from airflow_assets.authoring.engine.failures import Failures
    from airflow_assets.authoring.engine.run import Run
    from airflow_assets.authoring.graph.plan import Plan, PlannedStep
    from airflow_assets.authoring.local.work import Work
    from airflow_assets.authoring.local.workers import Workers


class Lanes:
    """Begins work and tells how it ended.

    Raises:
        ConfigurationError: a step's metadata names an unknown executor.
    """

    def __init__(self, run: Run, plan: Plan, executor: Executor) -> None:
        self._run, self._planned = run, {planned.name: planned for planned in plan.steps}
        self._elsewhere = {planned.name for planned in plan.steps if _is_elsewhere(run, planned, executor)}
        self._workers = self._made(executor) if self._elsewhere else None
        self._emits: dict[str, Emit] = {}
        self._ended: list[tuple[Work, Failures]] = []

    @property
    def busy(self) -> bool:
        """Whether something is at work, or has ended and was not heard of."""
        return bool(self._ended or (self._workers and self._workers.busy))

    def room(self, step: str) -> bool:
        """Whether a step can begin now."""
        return self._workers.room if self._workers and step in self._elsewhere else not self._ended

    def start(self, work: Work, emit: Emit, wait: Callable[[float], None]) -> None:
        """Begin a piece of work; in this process it is over when this returns."""
        if self._workers is None or work.step not in self._elsewhere:
            self._ended.append((work, perform(self._run, self._planned[work.step], work, emit, wait)))
            return
        try:
            self._workers.start(work)
            self._emits[work.name] = emit
        except ExecutionError as error:
            self._ended.append((work, dict.fromkeys(work.nodes, error)))

    def ended(self, timeout: float) -> list[tuple[Work, Failures]]:
        """Return what has ended; waits for so many seconds at most where something is at work."""
        if self._workers and self._workers.busy:
            for work, said in self._workers.heard(0 if self._ended else timeout):
                if isinstance(said, dict):
                    self._ended.append((work, said))
                    del self._emits[work.name]
                else:
                    self._emits[work.name](said)
        ended, self._ended = self._ended, []
        return ended

    def close(self) -> None:
        """End the processes."""
        if self._workers:
            self._workers.close()

    def _made(self, executor: Executor) -> Workers:
        from airflow_assets.authoring.local.workers import Workers

        count = executor.max_workers if isinstance(executor, Parallel) else None
        return Workers(self._in_worker, count or os.cpu_count() or 1)

    def _in_worker(self, work: Work, emit: Callable[[StepEvent], None]) -> Failures:
        return perform(self._run, self._planned[work.step], work, emit)


def _is_elsewhere(run: Run, planned: PlannedStep, executor: Executor) -> bool:
    """Whether a step runs in another process: actions never do, nor what is stored or loaded in memory."""
    name = _chosen(run, planned) or executor.name
    if name not in NAMES:
        raise ConfigurationError(
            f"The metadata {METADATA!r} of {planned.nodes[0]!r} is {name!r}; it takes {' or '.join(NAMES)}"
        )
    return name == "parallel" and planned.action is None and not _in_memory(run, planned)


def _chosen(run: Run, planned: PlannedStep) -> str | None:
    if planned.step.call is None:
        return run.metadata_of(planned.nodes[0]).get(METADATA)
    of_graph = run.metadata_of(planned.step.asset.name)
    return of_graph.get(NODE_METADATA) or of_graph.get(METADATA)


def _in_memory(run: Run, planned: PlannedStep) -> bool:
    for node in planned.step.nodes:
        loads = (edge for edge in node.edges.values() if edge.loads)
        handlers = [
            run.handler(node.name),
            *(edge.io_handler or run.handler(edge.upstream) for edge in loads),
        ]
        if any(isinstance(handler, InMemoryIOHandler) for handler in handlers):
            return True
    return False

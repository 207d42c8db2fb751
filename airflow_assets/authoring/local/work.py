"""One piece of work of a run: a step, or an instance of a fan-out. It travels to other processes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from airflow_assets.authoring.engine.actions import run_action
from airflow_assets.authoring.engine.fanout import collecting, instance
from airflow_assets.authoring.engine.step import run_step
from airflow_assets.authoring.errors import ExecutionError
from airflow_assets.authoring.partitions.keys import PartitionKey
from airflow_assets.authoring.retries import FailureReason

if TYPE_CHECKING:
    from airflow_assets.authoring.engine.events import Emit
    from airflow_assets.authoring.engine.failures import Failures
    from airflow_assets.authoring.engine.run import Run
    from airflow_assets.authoring.graph.plan import PlannedStep


class WorkerDied(ExecutionError):
    """The process of a step ended before the step did."""

    failure_reason = FailureReason.INFRASTRUCTURE


@dataclass(frozen=True)
class Work:
    """What is to be done, and all that changes from one piece to the next.

    :param step: the planned step's name; with ``suffix`` and ``element``, one instance of it.
    :param nodes: what is made.
    :param key: the run's key, less the partitions that are withheld from an action.
    :param versions: the data versions of what is read, now.
    :param collected: the suffixes of the instances whose results a collecting step loads.
    :param started: the start has been told.
    :param tries: how many tries of an action were cut off before.
    """

    step: str
    nodes: tuple[str, ...]
    key: PartitionKey | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    suffix: str | None = None
    element: Any = None
    collected: tuple[str, ...] = ()
    started: bool = False
    tries: int = 0

    @property
    def name(self) -> str:
        """The step's name, or the instance's."""
        return self.step if self.suffix is None else f"{self.step}__{self.suffix}"


def perform(
    run: Run, planned: PlannedStep, work: Work, emit: Emit, wait: Callable[[float], None] = time.sleep
) -> Failures:
    """Do a piece of work to its end, and return why nodes failed."""
    run = replace(run, key=work.key, version_of=work.versions.get)
    step = planned.step
    if work.suffix is not None:
        step = instance(step, work.suffix, work.element)
    elif step.call is not None and step.call.collects:
        step = collecting(run, step, work.collected)
    if planned.action is None:
        selected = work.nodes if step.is_multi else None
        return run_step(run, step, emit, selected=selected, started=work.started, wait=wait)
    if work.tries and step.retry is not None:
        left = replace_tries(step.retry, work.tries)
        step = replace(step, retry=left)
    return run_action(run, step, planned.action, emit, wait=wait)


def replace_tries(policy: Any, spent: int) -> Any:
    """Return a retry policy with some of its tries spent."""
    from copy import copy

    left = copy(policy)
    left.max_retries = max(0, policy.max_retries - spent)
    return left

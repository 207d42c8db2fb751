"""From an order to a run: checked, recorded, run, and told how it ended."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from airflow_assets.authoring.engine.failures import shown
from airflow_assets.authoring.engine.run import Last, Run
from airflow_assets.authoring.graph.plan import MATERIALIZE, Plan
from airflow_assets.authoring.local.journal import Journal
from airflow_assets.authoring.local.keys import check_key
from airflow_assets.authoring.local.launch import Launch, read_launch, rebuilt
from airflow_assets.authoring.local.results import RunResult
from airflow_assets.authoring.local.resume import Before, before, stored_keys
from airflow_assets.authoring.local.runner import LocalRun
from airflow_assets.authoring.partitions.keys import PartitionKey
from airflow_assets.authoring.storage.records import LaunchedBy, NewRun, RunStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow_assets.authoring.graph.graph import Graph
    from airflow_assets.authoring.handlers.interface import BaseIOHandler
    from airflow_assets.authoring.local.executors import Executor
    from airflow_assets.authoring.storage.interface import Storage

PRIORITY = "rivers/priority"
"""The tag that sets a run's priority, a whole number."""


@dataclass(frozen=True)
class Order:
    """A run to be made.

    :param run_id: a run of this id that is there is launched again; empty: a new one.
    :param resume: leave out what succeeded in it.
    """

    plan: Plan
    key: PartitionKey | None = None
    tags: tuple[tuple[str, str], ...] = ()
    config: Mapping[str, Any] | None = None
    run_id: str = ""
    resume: bool = False
    launched_by: LaunchedBy = field(default_factory=LaunchedBy.manual)


class Launcher:
    """Runs orders on one graph and one storage.

    ``live``: the journals of runs that are going on.
    """

    def __init__(
        self, graph: Graph, storage: Storage, default_handler: BaseIOHandler, executor: Executor
    ) -> None:
        self.graph, self.storage = graph, storage
        self.live: set[Journal] = set()
        self.default_handler, self.executor = default_handler, executor

    def check(self, order: Order) -> Launch:
        """Look whether an order can be run.

        Raises:
            ExecutionError: about the key.
            PartitionValidationError: about the key.
            ConfigurationError: about the launch document.
        """
        check_key(order.plan, order.key, self.dynamic)
        return read_launch(order.config, order.plan, self.graph.registered.resources)

    def run(self, order: Order, *, raise_on_error: bool = True) -> RunResult:
        """Run an order to its end.

        Raises:
            Exception: with ``raise_on_error``, that of the first step that failed.
        """
        launch = self.check(order)
        given = bool(order.run_id)
        if not given:
            order = replace(order, run_id=str(uuid.uuid4()))
        resources = rebuilt(self.graph.registered.resources, launch)
        earlier = self.storage.get_events_for_run(order.run_id) if given else []
        done = before(earlier, order.plan) if order.resume else Before()
        run = self._run(order, launch, resources)
        journal = Journal(
            self.storage, _new_run(order), attempt=1 + len(earlier), durable=order.plan.verb != MATERIALIZE
        )
        journal.fan_keys.update(done.fan_keys)
        self.live.add(journal)
        try:
            ended = LocalRun(run, order.plan, journal, launch.executor or self.executor, done).run()
        finally:
            self.live.discard(journal)
            for key in launch.resources:
                if hasattr(resources[key], "teardown"):
                    resources[key].teardown()
        if raise_on_error and ended.errors:
            raise next(iter(ended.errors.values()))
        failed = [(name, shown(error)) for name, error in ended.errors.items()]
        return RunResult(ended.status is RunStatus.Success, order.run_id, order.plan.listed(), failed)

    def catch_up(self) -> None:
        """Write what runs that are going on have said so far, for somebody who asks the storage."""
        for journal in list(self.live):
            journal.was_read = True
            journal.flush()

    def dynamic(self, name: str) -> Sequence[str]:
        """Return the keys that are registered under the name of a dynamic definition."""
        return self.storage.get_dynamic_partitions(name)

    def _run(self, order: Order, launch: Launch, resources: Mapping[str, Any]) -> Run:
        return Run(
            order.run_id,
            self.graph,
            self.default_handler,
            _unknown,
            order.key,
            resources,
            self.dynamic,
            launch.config,
            launch.metadata,
            self._last_of,
            self._fan_keys,
        )

    def _last_of(self, name: str) -> Last:
        record = self.storage.get_asset_record(name)
        if record is None:
            return Last()
        return Last(record.last_materialization_code_version, dict(record.last_input_data_versions))

    def _fan_keys(self, name: str) -> list[str] | None:
        event = self.storage.get_latest_materialization(name)
        return None if event is None else stored_keys(event)


def _unknown(name: str) -> None:  # noqa: ARG001 - each piece of work is told the versions it needs
    return None


def _new_run(order: Order) -> NewRun:
    priority = next((int(value) for key, value in order.tags if key == PRIORITY), 0)
    return NewRun(
        order.run_id,
        tuple(order.plan.nodes),
        action=None if order.plan.verb == MATERIALIZE else order.plan.verb,
        partition_key=order.key,
        tags=order.tags,
        priority=priority,
        launched_by=order.launched_by,
        config=order.config,
    )

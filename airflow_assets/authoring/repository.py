"""A set of assets, and what can be done with it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, cast

from airflow_assets.authoring.checks import list_of, of_type, optional
from airflow_assets.authoring.contexts import InputContext, PartitionContext
from airflow_assets.authoring.errors import NodeNotFoundError
from airflow_assets.authoring.graph.declared import declarations_of
from airflow_assets.authoring.graph.plan import (
    action_plan,
    materialize_plan,
    observe_plan,
    with_default_retry,
)
from airflow_assets.authoring.graph.resolve import resolve
from airflow_assets.authoring.handlers.memory import InMemoryIOHandler
from airflow_assets.authoring.local.executors import Executor
from airflow_assets.authoring.local.launching import Launcher, Order
from airflow_assets.authoring.local.results import BackfillResult, BackfillStatus, RunResult
from airflow_assets.authoring.registration import (
    Tags,
    check_pools,
    pairs,
    refused,
    registered,
    set_up,
    tear_down,
)
from airflow_assets.authoring.tasks import Task

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from airflow.sdk import DAG
    from typing_extensions import Self

    from airflow_assets.authoring.assets import Asset
    from airflow_assets.authoring.graph.graph import Graph
    from airflow_assets.authoring.handlers.interface import BaseIOHandler
    from airflow_assets.authoring.local.backfill import Backfills
    from airflow_assets.authoring.partitions.definitions import PartitionsDefinition
    from airflow_assets.authoring.partitions.keys import PartitionKey, PartitionKeyRange
    from airflow_assets.authoring.partitions.strategy import BackfillStrategy
    from airflow_assets.authoring.retries import RetryPolicy
    from airflow_assets.authoring.storage.interface import Storage


class CodeRepository:
    """Assets, and what they may name: resources, partitions, retry policies.

    :param assets: assets and class-form assets; each counts once.
    :param tasks: accepted for their own sake: those that a graph asset uses are found without.
    :param default_executor: where the steps of local runs run; default this process.
    :param resources: by the name of the parameter that gets one, or the key of ``io_handler="key"``; an
        instance, or a class that is made without arguments.
    :param default_retry_policy: a policy, or the name of one in ``retries``, for what declares none.
    :param pool_limits: slots by pool; a pool without a limit is never full.

    ``jobs``, ``schedules``, ``sensors``, ``run_queue`` and ``run_backend`` are what Airflow is: they are
    refused, and the error says what takes their place.

    Raises:
        ConfigurationError: an argument of another kind, or one that belongs to Airflow.

    >>> @Asset
    ... def orders(): return [1, 2]
    >>> repo = CodeRepository(assets=[orders])
    >>> repo.materialize().success, repo.load_node("orders")
    (True, [1, 2])
    """

    def __init__(  # noqa: PLR0913, PLR0917 - the contract's
        self,
        assets: Sequence[Asset | type],
        tasks: Sequence[Task] | None = None,
        jobs: Sequence[Any] | None = None,
        schedules: Sequence[Any] | None = None,
        sensors: Sequence[Any] | None = None,
        default_executor: Executor | None = None,
        resources: Mapping[str, Any] | None = None,
        partition_defs: Mapping[str, PartitionsDefinition] | None = None,
        retries: Mapping[str, RetryPolicy] | None = None,
        default_retry_policy: RetryPolicy | str | None = None,
        run_queue: Any = None,
        run_backend: Any = None,
        pool_limits: Mapping[str, int] | None = None,
    ) -> None:
        refused(jobs=jobs, schedules=schedules, sensors=sensors, run_queue=run_queue, run_backend=run_backend)
        self._assets = list(assets)
        list_of(list(tasks or ()), Task, "tasks")
        self._executor = optional(default_executor, Executor, "default_executor") or Executor.in_process()
        self._pool_limits = dict(pool_limits or {})
        self._registered = registered(resources, partition_defs, retries, default_retry_policy)
        self._default_handler = InMemoryIOHandler()
        self._graph: Graph | None = None
        self._storage: Storage | None = None
        self._last_storage: Storage | None = None
        self._resolving = threading.RLock()
        self._launching: Launcher | None = None

    # What it is made of

    @property
    def graph(self) -> Graph:
        """The resolved graph; asking for it sets nothing up."""
        if self._graph is None:
            found = resolve(self._assets, self._registered)
            check_pools(found, self._pool_limits)
            self._graph = found
        return self._graph

    @property
    def assets(self) -> dict[str, Asset]:
        """The assets by the names of what they make: a multi-asset under each of its outputs."""
        return dict(self.graph.assets)

    @property
    def storage(self) -> Storage:
        """Where runs are recorded, with the questions that can be asked; default memory."""
        storage = self._resolved()[1]
        self._launcher().catch_up()
        return storage

    def validate(self) -> None:
        """Check everything that :meth:`resolve` does, and change nothing.

        Raises:
            AssetDefinitionError: something that is no asset, two definitions under one name, an unknown key.
            GraphValidationError: an input nobody provides, or a cycle.
            ConfigurationError: an unknown name of partitions or of a retry policy; too many slots.
            PartitionValidationError: an edge whose partitions do not fit.
        """
        _ = self.graph

    def resolve(self, storage: Storage | None = None) -> None:
        """Resolve the graph, set the resources up, and declare assets and pools in the storage.

        It is done once, and by itself where something is run before; another storage is declared to again.

        :param storage: default one in memory.
        """
        with self._resolving:
            if self._storage is not None and (storage is None or storage is self._storage):
                return
            graph = self.graph
            if self._storage is None:
                set_up(self._registered.resources)
            if storage is None:
                from airflow_assets.authoring.storage.direct import memory_storage

                storage = self._last_storage or memory_storage()
            storage.declare(declarations_of(graph))
            for pool, limit in self._pool_limits.items():
                storage.set_pool_limit(pool, limit)
            self._storage = storage

    def shutdown(self) -> None:
        """Tear the resources down; what is run later sets them up again."""
        with self._resolving:
            if self._storage is not None:
                self._last_storage, self._storage = self._storage, None
                tear_down(self._registered.resources)

    def __enter__(self) -> Self:
        self.resolve()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()

    # Runs

    def materialize(  # noqa: PLR0917 - the contract's
        self,
        selection: Sequence[str] | None = None,
        partition_key: PartitionKey | None = None,
        tags: Tags | None = None,
        raise_on_error: bool = True,
        config: Mapping[str, Any] | None = None,
        run_id_override: str | None = None,
        include_upstream: bool = False,
        resume: bool = False,
        retry: RetryPolicy | str | None = None,
    ) -> RunResult:
        """Make assets, here and now, in the order of their dependencies.

        :param selection: names; default all. What is not selected is loaded through its handler.
        :param tags: pairs of key and value that are recorded with the run.
        :param raise_on_error: raise the exception of the first step that failed; else the result tells.
        :param config: the launch document: ``assets``, ``resources``, ``execution``.
        :param run_id_override: the run's id; a run of it that is there is launched again.
        :param resume: of a run that is there, leave out the steps that succeeded.
        :param retry: a policy, or the name of one in ``retries``, for what declares none.

        Raises:
            AssetNotFoundError: a selected name that no asset has.
            GraphValidationError: an upstream outside of the selection that nothing could load.
            ExecutionError: a key is missing, or is none of the asset's.
            PartitionValidationError: a key, and an asset without partitions.
            ConfigurationError: the launch document, or an executor, is wrong.
            Exception: with ``raise_on_error``, whatever the step raised.

        >>> repo.materialize(["daily_revenue"], partition_key=PartitionKey.single("2026-01-31"))
        """
        graph, _ = self._resolved()
        names = None if selection is None else list_of(selection, str, "selection")
        plan = materialize_plan(graph, names, include_upstream=include_upstream)
        policy = self._registered.retry(retry, "materialize(retry=...)") if retry is not None else None
        plan = with_default_retry(plan, policy) if policy is not None else plan
        order = Order(plan, partition_key, pairs(tags), config, run_id_override or "", resume=resume)
        return self._launcher().run(order, raise_on_error=raise_on_error)

    def run_action(  # noqa: PLR0917 - the contract's
        self,
        action: str,
        selection: Sequence[str] | None = None,
        partition_key: PartitionKey | None = None,
        tags: Tags | None = None,
        raise_on_error: bool = True,
        config: Mapping[str, Any] | None = None,
        run_id_override: str | None = None,
        resume: bool = False,
    ) -> RunResult:
        """Run a verb on assets: one step for each, in the order that the verb declares.

        :param action: the verb; ``observe`` is that of external assets.
        :param selection: names; default all that define the verb.
        :param resume: of a run that is there, leave out what succeeded; what failed is not run again.

        Raises:
            AssetNotFoundError: nothing defines the verb, nothing is selected, or a name that no asset has.
            GraphValidationError: a selected asset does not define the verb.
            ExecutionError: a key that the verb needs, does not take, or the asset has not.
            PartitionValidationError: a key, and an asset without partitions.
            Exception: with ``raise_on_error``, whatever the body raised.

        >>> repo.run_action("vacuum", ["orders"])
        """
        graph, _ = self._resolved()
        names = None if selection is None else list_of(selection, str, "selection")
        plan = action_plan(graph, of_type(action, str, "action"), names)
        order = Order(plan, partition_key, pairs(tags), config, run_id_override or "", resume=resume)
        return self._launcher().run(order, raise_on_error=raise_on_error)

    def observe(self, asset_names: Sequence[str] | None = None) -> RunResult:
        """Observe external assets: all that have an observe function, or those among the names.

        :return: of a run, or, where there is nothing to observe, a success without a run id.

        Raises:
            Exception: whatever the first function that failed raised.
        """
        graph, _ = self._resolved()
        names = None if asset_names is None else list_of(asset_names, str, "asset_names")
        plan = observe_plan(graph, names)
        if not plan.steps:
            return RunResult(success=True, run_id="")
        return self._launcher().run(Order(plan))

    # Backfills

    def backfill(  # noqa: PLR0917 - the contract's
        self,
        selection: Sequence[str] | None = None,
        partition_keys: Sequence[PartitionKey] | None = None,
        partition_range: PartitionKeyRange | None = None,
        strategy: BackfillStrategy | None = None,
        failure_policy: str = "continue",
        max_concurrency: int = 4,
        tags: Tags | None = None,
        config: Mapping[str, Any] | None = None,
        block: bool = True,
        dry_run: bool = False,
        action: str | None = None,
    ) -> BackfillResult:
        """Materialize many partitions, or run a verb on them, in as many runs as the strategy says.

        :param selection: names; default all assets, or all that define the verb.
        :param strategy: default that of the first selected asset that has one, else a run for each.
        :param failure_policy: ``continue``, or ``stop_on_failure``: begin no other run after one that failed.
        :param max_concurrency: runs at a time.
        :param block: wait for the end; else it goes on in a thread, and :meth:`get_backfill` tells how far.
        :param dry_run: only tell what would be run.

        Raises:
            ExecutionError: neither or both of keys and range, a wrong key, or no partitions.
            ConfigurationError: another failure policy.
        """
        return self._backfills().start(
            None if selection is None else list_of(selection, str, "selection"),
            partition_keys,
            partition_range,
            strategy,
            failure_policy=failure_policy,
            max_concurrency=max_concurrency,
            tags=pairs(tags),
            config=config,
            block=block,
            dry_run=dry_run,
            action=action,
        )

    def get_backfill(self, backfill_id: str) -> BackfillStatus | None:
        """Return how far a backfill has come; null where there is none."""
        return self._backfills().status(backfill_id)

    def cancel_backfill(self, backfill_id: str) -> bool:
        """Let a backfill begin no other run; false where it is over already.

        Raises:
            ExecutionError: there is none.
        """
        return self._backfills().cancel(backfill_id)

    def rerun_backfill(self, backfill_id: str, block: bool = True, dry_run: bool = False) -> BackfillResult:
        """Run a backfill again: all its partitions, with the same verb.

        Raises:
            ExecutionError: there is none.
        """
        return self._backfills().rerun(backfill_id, block=block, dry_run=dry_run)

    # Airflow

    def to_dags(self, **options: Any) -> dict[str, DAG]:
        """Return the Airflow Dags of these assets by id, for ``globals().update(repo.to_dags())``.

        :param options: see :func:`airflow_assets.authoring.dags.compile.to_dags`; among them every argument
            of ``DAG`` that the assets do not say themselves.

        Raises:
            ConfigurationError: an option, a handler or a condition that no Dag can be made of.
        """
        from airflow_assets.authoring.dags.compile import to_dags

        return to_dags(self.graph, pool_limits=self._pool_limits, **options)

    # Values

    def load_node(self, name: str, partition_key: PartitionKey | None = None, type_hint: Any = None) -> Any:
        """Return the stored value of an asset, or of a task of a graph asset (``graph/task``).

        :param type_hint: what the handler is told that the reader wants.

        Raises:
            NodeNotFoundError: there is none of this name.
            Exception: whatever the handler raises where there is no value.
        """
        graph, _ = self._resolved()
        node = graph.find(name)
        if node is None:
            raise NodeNotFoundError(f"The repository has no node {name!r}")
        partition = PartitionContext(partition_key, node.partitions) if partition_key is not None else None
        context = InputContext(name, "__load_node__", node.metadata, partition, type_hint)
        return self.io_handler_for_output(name).load_input(context)

    def io_handler_for_output(self, name: str) -> BaseIOHandler:
        """Return the handler that stores a node.

        Raises:
            NodeNotFoundError: there is none of this name.
        """
        node = self.graph.find(name)
        if node is None:
            raise NodeNotFoundError(f"The repository has no node {name!r}")
        found: BaseIOHandler = node.io_handler or self._default_handler
        return found

    def _resolved(self) -> tuple[Graph, Storage]:
        if self._storage is None:
            self.resolve()
        return self.graph, cast("Storage", self._storage)

    def _launcher(self) -> Launcher:
        graph, storage = self._resolved()
        if self._launching is None or self._launching.storage is not storage:
            self._launching = Launcher(graph, storage, self._default_handler, self._executor)
        return self._launching

    def _backfills(self) -> Backfills:
        from airflow_assets.authoring.local.backfill import Backfills

        return Backfills(self._launcher())

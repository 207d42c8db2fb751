"""How each name compares, and why: the one table that is written by hand.

A name or parameter (``Asset.from_multi(pool)``) without a line of its own has that of what it belongs to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scripts.parity.facts import Row


@dataclass(frozen=True)
class Status:
    """``same``, ``better``, ``not on Airflow`` or ``not yet``; all but the first say why."""

    name: str
    why: str = ""
    refused: bool = False
    """The parameter is there, and whoever gives it is told what is instead."""


SAME = Status("same")


def _better(why: str) -> Status:
    return Status("better", why)


def _no(why: str) -> Status:
    return Status("not on Airflow", why)


def _refused(what: str) -> Status:
    return Status("not on Airflow", f"refused with the way out: {what}", refused=True)


_PER_OUTPUT = _no("rivers refuses it too, whatever the page says: an `AssetDef` takes it, per output")
_OF_TASKS = _no("rivers refuses it too, whatever the page says: the tasks of a graph are the steps")
_VARIANT = _no("a variant is made by its static method, which checks; the class is for `isinstance`")
_OPTIONAL = _better("may be left out")
_ERRORS = _better(
    "also a `ValueError`, `LookupError`, `TypeError` or `RuntimeError`, whichever one would catch"
)
_EMPTY = _better("an empty dict where rivers has `None`")
_COERCED = _better("the values are `MetadataValue`s, made and checked with the result")
_SCHEDULE = _no("the schedule of a Dag: cron, assets, the catalogue's triggers")
_SENSOR = _no("Airflow's sensors and event triggers; `aa.sensors` wait for assets")
_DAGS = _no("a Dag: `to_dags()` makes one of a group, a selection runs a part of it")
_QUEUE = _no("Airflow's scheduler queues: `max_active_runs`, `max_active_tasks`, pools, priorities")

LIMITS = {
    "AutomationCondition": (
        "`to_dags()` starts Dags on `on_cron`, `cron_tick_passed` and `any_deps_updated`. It warns of every "
        "other condition, which can be written down, combined and shown, and starts nothing. Local runs "
        "start nothing by themselves."
    ),
    "BackfillStrategy": (
        "It shares out the `backfill` of a repository; one that Airflow starts has a run for each partition."
    ),
    "Compute": "The pod of a step in Dags, where the KubernetesExecutor runs it; local runs ignore it.",
    "ComputeEscalation": "Its reasons are tried again, with the same pod: nothing grows.",
    "Executor": "`max_async_concurrent` is accepted and changes nothing: an asynchronous body runs alone.",
    "InvokedNodeOutput": "`.map(task).collect_stream()` waits for all results, as `.collect()` does.",
    "exceptions": (
        "`ResultDefinitionError`, `ScheduleDefinitionError` and `SensorDefinitionError` are never raised."
    ),
}
"""What is there by its name, and does not do all that the reference does."""

STATUSES: dict[str, Status] = {
    **dict.fromkeys(
        (
            "action", "ActionConcurrency", "ActionContext", "ActionOrdering", "ActionPartitioning",
            "ActionResult", "Asset", "AssetAction", "AssetDef", "AssetExecutionContext", "AssetRecord",
            "AutomationCondition", "BackfillResult", "BackfillStatus", "BackfillStrategy", "Backoff",
            "BaseIOHandler", "BashTask", "CodeRepository", "Compute", "ComputeEscalation", "DepDef",
            "DynamicOutput", "Executor", "ExternalAsset", "FailureReason", "GraphAsset", "Hook",
            "HookContext", "InMemoryIOHandler", "InputContext", "InvokedNodeOutput", "LaunchedBy",
            "Materialization", "MetadataValue", "MultiAsset", "Observation", "Outcome", "Output",
            "OutputContext", "PartitionContext", "PartitionKey", "PartitionKeyRange", "PartitionMapping",
            "PartitionsDefinition", "PickleIOHandler", "Resource", "RetryOn", "RetryPolicy", "RunRecord",
            "RunResult", "RunStatus", "SelfDependency", "SingleAsset", "StaleCause", "Storage",
            "StoredEvent", "Task", "TaskExecutionContext", "testing",
        ),
        SAME,
    ),
    "ActionContext.asset_metadata": _EMPTY,
    "Asset.from_graph(backfill_strategy)": _OF_TASKS,
    "Asset.from_graph(compute)": _OF_TASKS,
    "Asset.from_graph(pool)": _OF_TASKS,
    "Asset.from_graph(pool_slots)": _OF_TASKS,
    "Asset.from_multi(backfill_strategy)": _no("rivers refuses it too: the argument of `backfill` decides"),
    "Asset.from_multi(metadata)": _PER_OUTPUT,
    "Asset.from_multi(pool)": _PER_OUTPUT,
    "Asset.from_multi(pool_slots)": _PER_OUTPUT,
    "AssetDef(retry)": _better("as the page says; rivers 0.6.2 refuses it"),
    "AssetExecutionContext.asset_metadata": _EMPTY,
    "AssetExecutionContext.output_metadata": _EMPTY,
    "AutomationCondition.children": _better("of what was combined; a leaf such as `in_flight` has none"),
    "BackfillRequest": _SCHEDULE,
    "CodeRepository(default_executor)": _better("without one steps run in this process, not in others"),
    "CodeRepository(jobs)": _refused("the Dags of `to_dags()`"),
    "CodeRepository(run_backend)": _refused("the executor of the Airflow"),
    "CodeRepository(run_queue)": _refused("`max_active_runs`, pools"),
    "CodeRepository(schedules)": _refused("conditions, and the schedules of Dags"),
    "CodeRepository(sensors)": _refused("Airflow's sensors and event triggers"),
    "CodeRepository.evaluate_schedule": _SCHEDULE,
    "CodeRepository.evaluate_sensor": _SENSOR,
    "CodeRepository.execute_backfill": _no("a part of its daemon; `backfill` runs one"),
    "CodeRepository.execute_backfill_queued": _no("a part of its daemon; `backfill` runs one"),
    "CodeRepository.get_job": _DAGS,
    "CodeRepository.get_schedule": _SCHEDULE,
    "CodeRepository.get_sensor": _SENSOR,
    "CodeRepository.schedules": _SCHEDULE,
    "CodeRepository.sensors": _SENSOR,
    "EvalMode": _no("the Dag processor and the triggerer evaluate schedules and sensors"),
    "Executor.Kubernetes": _no("Airflow's KubernetesExecutor runs the Dags; `compute` says what a pod gets"),
    "Executor.Parallel(max_async_concurrent)": _OPTIONAL,
    "Executor.Parallel(max_workers)": _OPTIONAL,
    "Executor.kubernetes": _no("Airflow's KubernetesExecutor runs the Dags; `compute` says what a pod gets"),
    "InputContext(asset_metadata)": _better("without metadata an empty dict, not `None`"),
    "InputContext.asset_metadata": _EMPTY,
    "InputContext.from_kwargs": _no("contexts do not travel as dicts: each process makes its own"),
    "Job": _DAGS,
    "Materialization.metadata": _COERCED,
    "MetadataValue.CodeBlock(language)": _OPTIONAL,
    "MetadataValue.Schema(ipc_bytes)": _no("a schema is kept as readable columns: `columns`"),
    "MetadataValue.Schema.ipc_bytes": _no("a schema is kept as readable columns: `columns`"),
    "MetadataValue.Sql(dialect)": _OPTIONAL,
    "MetadataValue.schema": _better("takes a dict of names to types too, without Arrow"),
    "Observation.metadata": _COERCED,
    "Output.metadata": _COERCED,
    "OutputContext.asset_metadata": _EMPTY,
    "OutputContext.from_kwargs": _no("contexts do not travel as dicts: each process makes its own"),
    "PartitionContext(definition)": _OPTIONAL,
    "PartitionContext(keys)": _better("a text or a list of texts will do as well"),
    "PartitionKey.Multi": _no("one class for all; `is_multi` tells"),
    "PartitionKey.Set": _no("one class for all; `combinations` has the keys of a set"),
    "PartitionKey.Single": _no("one class for all; `is_multi` tells"),
    "PartitionMapping.time_window(offset)": _better("0 when it is left out"),
    "PartitionsDefinition.Static.keys": _better("a tuple"),
    "PartitionsDefinition.TimeWindow(cron_schedule)": _VARIANT,
    "PartitionsDefinition.TimeWindow(end)": _VARIANT,
    "PartitionsDefinition.TimeWindow(fmt)": _VARIANT,
    "PartitionsDefinition.TimeWindow(interval_seconds)": _VARIANT,
    "PartitionsDefinition.TimeWindow(start)": _VARIANT,
    "PickleIOHandler(prefix)": _no("part of the path"),
    "PickleIOHandler(store)": _no("`path` is any folder or URI that fsspec knows, `conn_id` a connection"),
    "RunBackendConfig": _no("the executor of the Airflow"),
    "RunHandle": _no("a run in the background is a Dag run"),
    "RunQueueConfig": _QUEUE,
    "RunRequest": _SCHEDULE,
    "RunStatusSensorContext": _no("callbacks of a Dag, and hooks of an asset"),
    "Schedule": _SCHEDULE,
    "ScheduleEvaluationContext": _SCHEDULE,
    "ScheduleStatus": _no("a Dag is paused or not"),
    "ScheduleTickResult": _SCHEDULE,
    "Schema": _no("`MetadataValue.schema` takes what has columns as it is"),
    "Sensor": _SENSOR,
    "SensorEvaluationContext": _SENSOR,
    "SensorResult": _SENSOR,
    "SensorStatus": _no("a Dag is paused or not"),
    "SensorTickResult": _SENSOR,
    "SkipReason": _no("`AirflowSkipException`"),
    "StepFailure": _no("callbacks of a Dag, and hooks of an asset"),
    "Storage.async_get_ticks": _no("the Dag runs of a schedule"),
    "Storage.async_kv_get": _no("Airflow's variables, and its state of assets"),
    "Storage.async_kv_set": _no("Airflow's variables, and its state of assets"),
    "Storage.cancel_queued_run": _QUEUE,
    "Storage.connect": _no("any database that SQLAlchemy has, by its URL"),
    "Storage.embedded": _no("`testing.embedded_storage(path)`"),
    "Storage.get_queued_runs": _QUEUE,
    "Storage.get_ticks": _no("the Dag runs of a schedule"),
    "Storage.kv_get": _no("Airflow's variables, and its state of assets"),
    "Storage.kv_set": _no("Airflow's variables, and its state of assets"),
    "Storage.memory": _no("`testing.memory_storage()`, the default"),
    "Storage.migrate_embedded": _no("`airflow db migrate`; a file is made with its tables"),
    "Storage.migrate_remote": _no("`airflow db migrate`"),
    "Storage.set_run_outcome": _no("`finish_run`"),
    "Storage.type": _no("any database that SQLAlchemy has, by its URL"),
    "StorageType": _no("any database that SQLAlchemy has, by its URL"),
    "StoredTick": _no("the Dag runs of a schedule"),
    "TagConcurrencyLimit": _QUEUE,
    "exceptions": _ERRORS,
    "exceptions.SchemaMigrationNeededError": _better("`airflow db migrate` is the way out"),
    "integrations": _no("Airflow's providers: each has the hook or operator for its system"),
    "io_handlers": _no("one way to import them: `from airflow_assets import PickleIOHandler`"),
    "io_handlers.delta": _no("`ParquetIOHandler`; a handler of your own for table formats"),
    "io_handlers.iceberg": _no("`ParquetIOHandler`; a handler of your own for table formats"),
}  # fmt: skip


def status_of(row: Row) -> Status | None:
    """Return the status of a row: its own, or that of what it belongs to; null: nobody has said."""
    path = row.path
    while path:
        if path in STATUSES:
            return STATUSES[path]
        path = path.partition("(")[0] if path.endswith(")") else path.rpartition(".")[0]
    return None

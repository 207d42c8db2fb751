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


SAME = Status("same")


def _better(why: str) -> Status:
    return Status("better", why)


def _no(why: str) -> Status:
    return Status("not on Airflow", why)


def _not_yet(why: str) -> Status:
    return Status("not yet", why)


_PER_OUTPUT = _no("rivers refuses it too, whatever the page says: an `AssetDef` takes it, per output")
_OF_TASKS = _no("rivers refuses it too, whatever the page says: the tasks of a graph are the steps")
_VARIANT = _no("a variant is made by its static method, which checks; the class is for `isinstance`")
_OPTIONAL = _better("may be left out")
_ERRORS = _better(
    "also a `ValueError`, `LookupError`, `TypeError` or `RuntimeError`, whichever one would catch"
)
_SCHEDULE = _no("the schedule of a Dag: cron, assets, the catalogue's triggers")
_SENSOR = _no("Airflow's sensors and event triggers; `aa.sensors` wait for assets")
_QUEUE = _no("Airflow's scheduler queues: `max_active_runs`, `max_active_tasks`, pools, priorities")
_REPOSITORY = _not_yet("being built: the repository and the local runner")
_STORAGE = _not_yet("being built: the storage of a repository")

STATUSES: dict[str, Status] = {
    **dict.fromkeys(
        (
            "ActionConcurrency", "ActionContext", "ActionOrdering", "ActionPartitioning", "ActionResult",
            "Asset", "AssetAction", "AssetDef", "AssetExecutionContext", "AutomationCondition",
            "BackfillStrategy", "Backoff", "BaseIOHandler", "BashTask", "Compute", "ComputeEscalation",
            "DepDef", "DynamicOutput", "ExternalAsset", "FailureReason", "GraphAsset", "Hook",
            "HookContext", "InMemoryIOHandler", "InputContext", "InvokedNodeOutput", "Materialization",
            "MetadataValue", "MultiAsset", "Observation", "Outcome", "Output", "OutputContext",
            "PartitionContext", "PartitionKey", "PartitionKeyRange", "PartitionMapping",
            "PartitionsDefinition", "PickleIOHandler", "RetryOn", "RetryPolicy", "SelfDependency",
            "SingleAsset", "Task", "TaskExecutionContext", "action",
        ),
        SAME,
    ),
    "Asset.from_graph(backfill_strategy)": _OF_TASKS,
    "Asset.from_graph(compute)": _OF_TASKS,
    "Asset.from_graph(pool)": _OF_TASKS,
    "Asset.from_graph(pool_slots)": _OF_TASKS,
    "Asset.from_multi(backfill_strategy)": _no("rivers refuses it too: the argument of `backfill` decides"),
    "Asset.from_multi(metadata)": _PER_OUTPUT,
    "Asset.from_multi(pool)": _PER_OUTPUT,
    "Asset.from_multi(pool_slots)": _PER_OUTPUT,
    "AssetDef(retry)": _better("as the page says; rivers 0.6.2 refuses it"),
    "InputContext(asset_metadata)": _better("without metadata an empty dict, not `None`"),
    "InputContext.from_kwargs": _no("contexts do not travel as dicts: each process makes its own"),
    "MetadataValue.CodeBlock(language)": _OPTIONAL,
    "MetadataValue.Schema(ipc_bytes)": _no("a schema is kept as readable columns: `columns`"),
    "MetadataValue.Schema.ipc_bytes": _no("a schema is kept as readable columns: `columns`"),
    "MetadataValue.Sql(dialect)": _OPTIONAL,
    "MetadataValue.schema": _better("takes a dict of names to types too, without Arrow"),
    "OutputContext.from_kwargs": _no("contexts do not travel as dicts: each process makes its own"),
    "PartitionContext(definition)": _OPTIONAL,
    "PartitionContext(keys)": _better("a text or a list of texts will do as well"),
    "PartitionKey.Multi": _no("one class for all; `is_multi` tells"),
    "PartitionKey.Set": _no("one class for all; `combinations` has the keys of a set"),
    "PartitionKey.Single": _no("one class for all; `is_multi` tells"),
    "PartitionMapping.time_window(offset)": _better("0 when it is left out"),
    "PartitionsDefinition.TimeWindow(cron_schedule)": _VARIANT,
    "PartitionsDefinition.TimeWindow(end)": _VARIANT,
    "PartitionsDefinition.TimeWindow(fmt)": _VARIANT,
    "PartitionsDefinition.TimeWindow(interval_seconds)": _VARIANT,
    "PartitionsDefinition.TimeWindow(start)": _VARIANT,
    "PickleIOHandler(prefix)": _no("part of the path"),
    "PickleIOHandler(store)": _no("`path` is any folder or URI that fsspec knows, `conn_id` a connection"),
    "exceptions": _ERRORS,
    "exceptions.SchemaMigrationNeededError": _better("`airflow db migrate` is the way out"),
    "io_handlers": _no("one way to import them: `from airflow_assets import PickleIOHandler`"),
    "integrations": _no("Airflow's providers: each has the hook or operator for its system"),
    "Resource": _REPOSITORY,
    "BackfillRequest": _SCHEDULE,
    "BackfillResult": _REPOSITORY,
    "BackfillStatus": _REPOSITORY,
    "CodeRepository": _REPOSITORY,
    "Executor": _REPOSITORY,
    "Executor.Kubernetes": _no("Airflow's KubernetesExecutor runs the Dags; `compute` says what a pod gets"),
    "Executor.kubernetes": _no("Airflow's KubernetesExecutor runs the Dags; `compute` says what a pod gets"),
    "Job": _no("a Dag: `to_dags()` makes one of a group, a selection runs a part of it"),
    "LaunchedBy": _STORAGE,
    "AssetRecord": _STORAGE,
    "EvalMode": _no("the Dag processor and the triggerer evaluate schedules and sensors"),
    "RunBackendConfig": _no("the executor of the Airflow"),
    "RunHandle": _no("a run in the background is a Dag run"),
    "RunQueueConfig": _QUEUE,
    "RunRecord": _STORAGE,
    "RunRequest": _SCHEDULE,
    "RunResult": _REPOSITORY,
    "RunStatus": _STORAGE,
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
    "StaleCause": _STORAGE,
    "StepFailure": _no("callbacks of a Dag, and hooks of an asset"),
    "Storage": _STORAGE,
    "StorageType": _STORAGE,
    "StoredEvent": _STORAGE,
    "StoredTick": _no("the Dag runs of a schedule"),
    "TagConcurrencyLimit": _QUEUE,
    "testing": _STORAGE,
}  # fmt: skip


def status_of(row: Row) -> Status | None:
    """Return the status of a row: its own, or that of what it belongs to; null: nobody has said."""
    path = row.path
    while path:
        if path in STATUSES:
            return STATUSES[path]
        path = path.partition("(")[0] if path.endswith(")") else path.rpartition(".")[0]
    return None

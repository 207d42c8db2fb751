"""Assets of Apache Airflow with metadata, an event log, lineage and Dag runs that start from asset events.

Assets written in Python are here too: ``import airflow_assets as aa``, then ``@aa.Asset``. Names are looked
up when they are used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from airflow_assets.lazy import exports

if TYPE_CHECKING:
    from airflow_assets.authoring.actions import (
        ActionConcurrency,
        ActionOrdering,
        ActionPartitioning,
        ActionResult,
        AssetAction,
        Outcome,
        action,
    )
    from airflow_assets.authoring.assets import Asset, ExternalAsset, GraphAsset, MultiAsset, SingleAsset
    from airflow_assets.authoring.automation import AutomationCondition
    from airflow_assets.authoring.contexts import (
        ActionContext,
        AssetExecutionContext,
        HookContext,
        InputContext,
        OutputContext,
        PartitionContext,
        TaskExecutionContext,
    )
    from airflow_assets.authoring.deps import AssetDef, DepDef, SelfDependency
    from airflow_assets.authoring.handlers.files import (
        FileIOHandler,
        JsonIOHandler,
        ParquetIOHandler,
        PickleIOHandler,
    )
    from airflow_assets.authoring.handlers.interface import BaseIOHandler
    from airflow_assets.authoring.handlers.memory import InMemoryIOHandler
    from airflow_assets.authoring.hooks import Hook
    from airflow_assets.authoring.local.executors import Executor
    from airflow_assets.authoring.local.results import BackfillResult, BackfillStatus, RunResult
    from airflow_assets.authoring.metadata_values import MetadataValue
    from airflow_assets.authoring.partitions.definitions import PartitionsDefinition
    from airflow_assets.authoring.partitions.keys import PartitionKey, PartitionKeyRange
    from airflow_assets.authoring.partitions.mappings import PartitionMapping
    from airflow_assets.authoring.partitions.strategy import BackfillStrategy
    from airflow_assets.authoring.repository import CodeRepository
    from airflow_assets.authoring.resources import Resource
    from airflow_assets.authoring.results import DynamicOutput, Materialization, Observation, Output
    from airflow_assets.authoring.retries import (
        Backoff,
        Compute,
        ComputeEscalation,
        FailureReason,
        RetryOn,
        RetryPolicy,
    )
    from airflow_assets.authoring.storage.interface import Storage
    from airflow_assets.authoring.storage.records import (
        AssetRecord,
        LaunchedBy,
        RunRecord,
        RunStatus,
        StaleCause,
        StoredEvent,
    )
    from airflow_assets.authoring.tasks import BashTask, Task
    from airflow_assets.authoring.tracing import InvokedNodeOutput, MappedOutput
    from airflow_assets.macros import assets, trigger, trigger_asset, trigger_assets
    from airflow_assets.recording import configure, emit

__version__ = "0.1.0"
__all__ = [
    "ActionConcurrency", "ActionContext", "ActionOrdering", "ActionPartitioning", "ActionResult", "Asset",
    "AssetAction", "AssetDef", "AssetExecutionContext", "AssetRecord", "AutomationCondition",
    "BackfillResult", "BackfillStatus", "BackfillStrategy", "Backoff", "BaseIOHandler", "BashTask",
    "CodeRepository", "Compute", "ComputeEscalation", "DepDef", "DynamicOutput", "Executor",
    "ExternalAsset", "FailureReason", "FileIOHandler", "GraphAsset", "Hook", "HookContext",
    "InMemoryIOHandler", "InputContext", "InvokedNodeOutput", "JsonIOHandler", "LaunchedBy", "MappedOutput",
    "Materialization", "MetadataValue", "MultiAsset", "Observation", "Outcome", "Output", "OutputContext",
    "ParquetIOHandler", "PartitionContext", "PartitionKey", "PartitionKeyRange", "PartitionMapping",
    "PartitionsDefinition", "PickleIOHandler", "Resource", "RetryOn", "RetryPolicy", "RunRecord",
    "RunResult", "RunStatus", "SelfDependency", "SingleAsset", "StaleCause", "Storage", "StoredEvent",
    "Task", "TaskExecutionContext", "action", "assets", "configure", "emit", "trigger", "trigger_asset",
    "trigger_assets",
]  # fmt: skip

_HOMES = {
    "airflow_assets.authoring.actions": (
        "ActionConcurrency", "ActionOrdering", "ActionPartitioning", "ActionResult", "AssetAction",
        "Outcome", "action",
    ),
    "airflow_assets.authoring.assets": ("Asset", "ExternalAsset", "GraphAsset", "MultiAsset", "SingleAsset"),
    "airflow_assets.authoring.automation": ("AutomationCondition",),
    "airflow_assets.authoring.contexts": (
        "ActionContext", "AssetExecutionContext", "HookContext", "InputContext", "OutputContext",
        "PartitionContext", "TaskExecutionContext",
    ),
    "airflow_assets.authoring.deps": ("AssetDef", "DepDef", "SelfDependency"),
    "airflow_assets.authoring.handlers.files": (
        "FileIOHandler", "JsonIOHandler", "ParquetIOHandler", "PickleIOHandler",
    ),
    "airflow_assets.authoring.handlers.interface": ("BaseIOHandler",),
    "airflow_assets.authoring.handlers.memory": ("InMemoryIOHandler",),
    "airflow_assets.authoring.hooks": ("Hook",),
    "airflow_assets.authoring.local.executors": ("Executor",),
    "airflow_assets.authoring.local.results": ("BackfillResult", "BackfillStatus", "RunResult"),
    "airflow_assets.authoring.metadata_values": ("MetadataValue",),
    "airflow_assets.authoring.partitions.definitions": ("PartitionsDefinition",),
    "airflow_assets.authoring.partitions.keys": ("PartitionKey", "PartitionKeyRange"),
    "airflow_assets.authoring.partitions.mappings": ("PartitionMapping",),
    "airflow_assets.authoring.partitions.strategy": ("BackfillStrategy",),
    "airflow_assets.authoring.repository": ("CodeRepository",),
    "airflow_assets.authoring.resources": ("Resource",),
    "airflow_assets.authoring.results": ("DynamicOutput", "Materialization", "Observation", "Output"),
    "airflow_assets.authoring.retries": (
        "Backoff", "Compute", "ComputeEscalation", "FailureReason", "RetryOn", "RetryPolicy",
    ),
    "airflow_assets.authoring.storage.interface": ("Storage",),
    "airflow_assets.authoring.storage.records": (
        "AssetRecord", "LaunchedBy", "RunRecord", "RunStatus", "StaleCause", "StoredEvent",
    ),
    "airflow_assets.authoring.tasks": ("BashTask", "Task"),
    "airflow_assets.authoring.tracing": ("InvokedNodeOutput", "MappedOutput"),
    "airflow_assets.macros": ("assets", "trigger", "trigger_asset", "trigger_assets"),
    "airflow_assets.recording": ("configure", "emit"),
}  # fmt: skip

if not TYPE_CHECKING:
    _look_up, __dir__ = exports(__name__, _HOMES)

    def __getattr__(name: str) -> Any:
        found = _look_up(name)
        if name.startswith("trigger"):
            # Imported inside a task: what the run has, or None; elsewhere the object that finds out later.
            return import_module("airflow_assets.event_context").in_task_or(found, name)
        return found

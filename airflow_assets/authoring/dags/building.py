"""The Dags that make assets, as Airflow objects."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import DAG, Asset, Param, TaskGroup, XComArg
from airflow.sdk.definitions.param import ParamsDict

from airflow_assets.authoring.assets import GraphAsset
from airflow_assets.authoring.dags.compute import executor_config
from airflow_assets.authoring.dags.launches import trigger_id
from airflow_assets.authoring.dags.names import digest, safe
from airflow_assets.authoring.dags.operator import AssetStepOperator, ElementsOperator
from airflow_assets.authoring.graph.nodes import Gets
from airflow_assets.places import defined_at
from airflow_assets.schemas.declared import authored_extra, native_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airflow_assets.authoring.dags.compiled import Compiled
    from airflow_assets.authoring.dags.schedules import Schedule
    from airflow_assets.authoring.dags.units import Unit
    from airflow_assets.authoring.graph.graph import Graph
    from airflow_assets.authoring.graph.nodes import Node, Step
    from airflow_assets.authoring.retries import RetryPolicy

_MATERIALIZED = (
    "{{ asset.metadata.materialization and (event == 'CREATED' or 'metadata.materialization' in changed) }}"
)
"""Of the events of an asset that a step makes those of its materializations, not of what is said of it."""


def materialize_dag(compiled: Compiled, dag_id: str, options: Mapping[str, Any]) -> DAG:
    """Return the Dag that makes the assets of a unit."""
    unit, schedule = compiled.unit, compiled.schedule
    given = {
        "dag_display_name": unit.name,
        "doc_md": _doc(unit, schedule),
        "catchup": False,
        **_limits(compiled.graph, unit),
        **options,
    }
    dag = DAG(dag_id, schedule=_airflow_schedule(compiled.graph, unit, schedule), **given)
    dag.fileloc = defined_at()[0]
    compiled.hang_on(dag)
    _add_tasks(dag, compiled.graph, unit)
    # After the tasks: each would get a deep copy, which for many costs more than all else.
    dag.params = ParamsDict(launch_params(keyed=unit.partitions is not None))
    return dag


def _add_tasks(dag: DAG, graph: Graph, unit: Unit) -> None:
    tasks: dict[str, Any] = {}
    groups: dict[str, TaskGroup] = {}
    for name in unit.steps:
        step = graph.steps[name]
        group = _group(dag, step, groups)
        place = {"dag": dag, "task_group": group}
        task_id = _task_id(step, group, dag)
        arguments = {**place, **step_arguments(step, _shown(step), task_id)}
        upstreams = [tasks[other] for other in sorted(step.order) if other in tasks]
        if any(graph.steps[other].is_multi for other in step.order & tasks.keys()):
            # One output may be there though its task failed for another: the task looks for itself.
            arguments["trigger_rule"] = "all_done"
        if step.call is not None and step.call.over is not None:
            tasks[name] = _fan_out(step, task_id, place, arguments, upstreams)
            continue
        tasks[name] = AssetStepOperator(task_id=task_id, step=name, **arguments)
        if upstreams:
            tasks[name].set_upstream(upstreams)


def _fan_out(
    step: Step, task_id: str, place: dict[str, Any], arguments: dict[str, Any], upstreams: list[Any]
) -> Any:
    """A mapped task, and the one before it that says which instances there are."""
    rule = arguments["trigger_rule"]
    elements = ElementsOperator(task_id=f"{task_id}__elements", step=step.name, trigger_rule=rule, **place)
    arguments["trigger_rule"] = "none_failed"
    if upstreams:
        elements.set_upstream(upstreams)
    if step.call.max_concurrency is not None:
        arguments["max_active_tis_per_dagrun"] = step.call.max_concurrency
    mapped = AssetStepOperator.partial(
        task_id=task_id, step=step.name, map_index_template="{{ task.element }}", **arguments
    )
    return mapped.expand(element=XComArg(elements))


def _task_id(step: Step, group: TaskGroup | None, dag: DAG) -> str:
    """The step's name where Airflow takes it and no other task has it."""
    name = _shown(step)
    found = safe(name)
    if (f"{group.group_id}.{found}" if group else found) in dag.task_dict:
        found = f"{found}-{digest(step.name)}"
    return found


def _shown(step: Step) -> str:
    if not isinstance(step.asset, GraphAsset):
        return step.name
    return step.call.name if step.call else "publish"


def _group(dag: DAG, step: Step, groups: dict[str, TaskGroup]) -> TaskGroup | None:
    """The task group of a graph asset; null, which means the Dag's own, for others."""
    if not isinstance(step.asset, GraphAsset):
        return None
    name = step.asset.name
    if name not in groups:
        groups[name] = TaskGroup(safe(name, dots=False), group_display_name=name, dag=dag)
    return groups[name]


def step_arguments(step: Step, shown: str, task_id: str) -> dict[str, Any]:
    """Return what the operator of a step is made with besides its place."""
    found: dict[str, Any] = {"trigger_rule": "none_failed", "retries": 0}
    if shown != task_id:
        found["task_display_name"] = shown
    if step.retry is not None:
        found |= {"retries": step.retry.max_retries, **_retries(step.retry)}
    config = executor_config(step.asset.compute) if step.asset.compute is not None else None
    if config:
        found["executor_config"] = config
    outlets = [outlet(node) for node in step.nodes if node.task is None and step.call is None]
    if outlets:
        found["outlets"] = outlets
    return found


def _retries(policy: RetryPolicy) -> dict[str, Any]:
    """The policy itself where Airflow asks one (3.3); else the wait after the first failure, for all."""
    try:
        from airflow_assets.authoring.dags.retrying import StepRetries
    except ImportError:
        wait = replace(policy.backoff, jitter=0.0).delay(1) if policy.backoff else 0.0
        return {"retry_delay": timedelta(seconds=wait)}
    return {"retry_policy": StepRetries(policy)}


def outlet(node: Node) -> Asset:
    """Return the native asset of a node. It carries the mark that its step records it."""
    return Asset(
        native_name(node.name), group=node.declared.group or "asset", extra=authored_extra(node.name)
    )


def _limits(graph: Graph, unit: Unit) -> dict[str, Any]:
    """One run at a time where two could write the same value at once."""
    steps = [graph.steps[name] for name in unit.steps]
    of_itself = any(one.gets is Gets.SELF for step in steps for one in step.parameters)
    return {"max_active_runs": 1} if unit.partitions is None or of_itself else {}


def launch_params(*, keyed: bool) -> dict[str, Any]:
    """Return the params of a run; those of every Dag, and the partition key."""
    found: dict[str, Any] = {
        "selection": Param(
            None, type=["null", "array"], title="Assets", description="Names of what to make; default all."
        ),
        "config": Param(
            {},
            type="object",
            title="Launch document",
            description='{"assets": {name: {"config": {...}, "metadata": {...}}}}',
        ),
    }
    if keyed:
        found["partition_key"] = Param(
            None,
            type=["null", "string"],
            title="Partition key",
            description="One ('a'), several ('a,b'), or of several dimensions ('day=2026-01-01|region=eu').",
        )
    return found


def _airflow_schedule(graph: Graph, unit: Unit, schedule: Schedule) -> Any:
    """What Airflow is told: the catalogue's triggers, a cron, both, or nothing."""
    cron = schedule.cron
    if schedule.read:
        from airflow_assets.triggers.combine import any_of
        from airflow_assets.triggers.event import EventTrigger

        triggers = [
            EventTrigger(
                asset_id=node,
                events=("CREATED", "UPDATED"),
                when=_MATERIALIZED if node in graph.step_of else None,
                only_changes=True,
                id=trigger_id(node),
            )
            for node in schedule.read
        ]
        return any_of(*triggers, cron=cron.cron if cron else None, timezone=cron.timezone if cron else "UTC")
    if cron is not None:
        return _timetable(unit, cron)
    return _by_hand() if unit.partitions is not None else None


def _timetable(unit: Unit, cron: Any) -> Any:
    from airflow.sdk import CronPartitionTimetable, CronTriggerTimetable

    from airflow_assets.authoring.partitions.definitions import TimeWindow

    windows = unit.partitions
    if isinstance(windows, TimeWindow) and windows.cron_schedule == cron.cron and cron.timezone == "UTC":
        return CronPartitionTimetable(cron.cron, timezone="UTC", key_format=windows.fmt)
    return CronTriggerTimetable(cron.cron, timezone=cron.timezone)


def _by_hand() -> Any:
    """Runs take a partition key where Airflow knows that (3.3); else there is the param."""
    try:
        from airflow.sdk import PartitionedAtRuntime
    except ImportError:
        return None
    return PartitionedAtRuntime()


def _doc(unit: Unit, schedule: Schedule) -> str:
    lines = [f"Materializes the assets of `{unit.name}`.", ""]
    for asset, condition in schedule.not_built.items():
        lines.append(f"* `{asset}` is started by hand only: its condition `{condition}` is not evaluated.")
    return "\n".join(lines)

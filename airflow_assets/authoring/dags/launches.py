"""What a Dag run is for: which steps, which partitions, what started it; the same in each of its tasks."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timezone
from typing import TYPE_CHECKING, Any

from airflow_assets.authoring.assets import GraphAsset
from airflow_assets.authoring.dags.names import safe
from airflow_assets.authoring.dags.schedules import selected_by
from airflow_assets.authoring.errors import ConfigurationError
from airflow_assets.authoring.graph.plan import (
    MATERIALIZE,
    Plan,
    PlannedStep,
    action_plan,
    materialize_plan,
)
from airflow_assets.authoring.local.keys import check_key
from airflow_assets.authoring.local.launch import Launch, read_launch
from airflow_assets.authoring.partitions.definitions import TimeWindow
from airflow_assets.authoring.partitions.keys import PartitionKey
from airflow_assets.authoring.storage.records import LaunchedBy

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from airflow_assets.authoring.dags.compiled import Compiled
    from airflow_assets.authoring.graph.nodes import Step
    from airflow_assets.authoring.partitions.definitions import DynamicKeys

MAX_RUN_ID = 250


@dataclass(frozen=True)
class DagLaunch:
    """What a Dag run is for.

    :param plan: its steps; a task whose step is not among them is skipped.
    :param document: the launch document, as given.
    """

    run_id: str
    plan: Plan
    key: PartitionKey | None
    launched_by: LaunchedBy
    given: Launch
    document: Mapping[str, Any] = field(default_factory=dict)

    def find(self, step: str) -> PlannedStep | None:
        """Return what is to be run of a step; null where the run is not for it."""
        return next((one for one in self.plan.steps if one.name == step), None)


def launch_of(context: Mapping[str, Any], compiled: Compiled, dynamic: DynamicKeys) -> DagLaunch:
    """Return what a Dag run is for.

    Raises:
        AssetNotFoundError: the param ``selection`` names what is no asset.
        ConfigurationError: it names an asset of another Dag; or the launch document breaks a rule.
        ExecutionError: the assets have partitions, and the run has no key, or one they do not have.
        PartitionValidationError: the run has a key, and they have no partitions.
    """
    event = _event(context)
    plan = _plan(context, compiled, event)
    key = _key(context, compiled, event, dynamic)
    if event is not None and key is None and compiled.unit.partitions is not None:
        plan = Plan(plan.verb)  # no partition reads what has changed
    if plan.steps:
        check_key(plan, key, dynamic)
        _check_whole(context, compiled, plan, key)
    document = context["params"].get("config") or {}
    given = read_launch(document, plan, compiled.resources) if plan.steps else Launch()
    return DagLaunch(run_id_of(context), plan, key, _cause(context, event), given, document)


def run_id_of(context: Mapping[str, Any]) -> str:
    """Return the id of the run in the storage: Dag and run, shortened where both are long."""
    dag_run = context["dag_run"]
    found = f"{dag_run.dag_id}/{dag_run.run_id}"
    if len(found) <= MAX_RUN_ID:
        return found
    digest = hashlib.sha256(found.encode()).hexdigest()[:16]
    return f"{found[: MAX_RUN_ID - 17]}#{digest}"


def trigger_id(node: str) -> str:
    """Return the id of the trigger on the events of a node: how a run knows what started it."""
    return safe(node)


def _event(context: Mapping[str, Any]) -> Any | None:
    """The asset whose event started the run."""
    from airflow_assets.event_context import current

    return current("trigger_asset") if str(context["run_id"]).startswith("asset_event__") else None


def _plan(context: Mapping[str, Any], compiled: Compiled, event: Any | None) -> Plan:
    asked = context["params"].get("selection")
    if compiled.verb != MATERIALIZE:
        return action_plan(compiled.graph, compiled.verb, asked)
    graph, unit, schedule = compiled.graph, compiled.unit, compiled.schedule
    if asked is not None:
        return _inside(context, compiled, materialize_plan(graph, asked))
    chosen: Iterable[str] = unit.steps
    if event is not None:
        read = (step for node in _started(event, compiled) for step in schedule.read[node])
        chosen = selected_by(graph, unit, schedule, read)
    elif _run_type(context) == "scheduled":
        chosen = selected_by(graph, unit, schedule, schedule.ticking)
    picked = set(chosen)
    steps = [graph.steps[name] for name in unit.steps if name in picked]
    wanted = {node.name for step in steps for node in step.nodes}
    return Plan(MATERIALIZE, tuple(_whole(step, wanted) for step in steps))


def _inside(context: Mapping[str, Any], compiled: Compiled, plan: Plan) -> Plan:
    elsewhere = [one.name for one in plan.steps if one.name not in compiled.unit.own]
    if elsewhere:
        raise ConfigurationError(
            f"The Dag {context['dag_run'].dag_id!r} does not make {elsewhere[0]!r}, which the param "
            f"'selection' names; it makes {', '.join(compiled.unit.steps)}"
        )
    return plan


def _whole(step: Step, wanted: set[str]) -> PlannedStep:
    """A step for all that it makes; it needs the nodes of the run that it reads or comes after."""
    made = tuple(node.name for node in step.nodes)
    needs = dict.fromkeys(name for node in step.nodes for name in node.edges if name in wanted)
    if isinstance(step.asset, GraphAsset) and step.call is None:
        needs |= dict.fromkeys(f"{step.name}/{call}" for call in step.asset.trace.calls)
    return PlannedStep(step, made, tuple(name for name in needs if name not in made))


def _started(event: Any, compiled: Compiled) -> list[str]:
    """The upstreams whose event it is: by the triggers that matched, since an asset may have been renamed."""
    ids = set(event.get("triggerIds") or [event.get("triggerId")])
    return [node for node in compiled.schedule.read if trigger_id(node) in ids]


def _key(
    context: Mapping[str, Any], compiled: Compiled, event: Any | None, dynamic: DynamicKeys
) -> PartitionKey | None:
    given = getattr(context["dag_run"], "partition_key", None) or context["params"].get("partition_key")
    if given:
        return PartitionKey.parse(given)
    unit = compiled.unit
    if unit.partitions is None or compiled.verb != MATERIALIZE:
        return None
    if event is not None:
        from airflow_assets.authoring.dags.event_keys import key_of_event

        return key_of_event(event, compiled, _started(event, compiled), dynamic)
    ticked = context.get("logical_date")
    if _run_type(context) == "scheduled" and ticked is not None and isinstance(unit.partitions, TimeWindow):
        return _latest(unit.partitions, ticked.astimezone(timezone.utc).replace(tzinfo=None))
    return None


def _latest(windows: TimeWindow, moment: datetime) -> PartitionKey | None:
    """The last window that has begun at a moment, naive UTC."""
    begun = [start for start in windows.grid.starts(moment) if start <= moment]
    return PartitionKey.single(windows.grid.key(begun[-1])) if begun else None


def _check_whole(
    context: Mapping[str, Any], compiled: Compiled, plan: Plan, key: PartitionKey | None
) -> None:
    """An action that may take a key and gets none is for all partitions: that has to be said."""
    if key is not None or compiled.verb == MATERIALIZE or context["params"].get("whole_asset"):
        return
    for planned in plan.steps:
        optional = planned.action is not None and planned.action.partitioning.value == "optional"
        if optional and planned.step.nodes[0].partitions is not None:
            raise ConfigurationError(
                f"The action {compiled.verb!r} of {planned.name!r} would be for all of its partitions: give "
                "the param 'partition_key', or set 'whole_asset'"
            )


def _run_type(context: Mapping[str, Any]) -> str:
    kind = context["dag_run"].run_type
    return str(getattr(kind, "value", kind))


def _cause(context: Mapping[str, Any], event: Any | None) -> LaunchedBy:
    kind = _run_type(context)
    if event is not None:
        return LaunchedBy.sensor(str(event.get("id")))
    if kind == "scheduled":
        return LaunchedBy.schedule(context["dag_run"].dag_id)
    if kind.startswith("backfill"):
        return LaunchedBy.backfill(context["dag_run"].run_id)
    return LaunchedBy.manual(getattr(context["dag_run"], "triggering_user_name", None))

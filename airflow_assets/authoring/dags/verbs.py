"""The Dags of actions and of ``observe``: one for each verb, with a task for each asset that defines it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import DAG, Param
from airflow.sdk.definitions.param import ParamsDict

from airflow_assets.authoring.actions import Outcome
from airflow_assets.authoring.dags.building import launch_params, step_arguments
from airflow_assets.authoring.dags.compiled import Compiled
from airflow_assets.authoring.dags.names import safe
from airflow_assets.authoring.dags.operator import AssetStepOperator
from airflow_assets.authoring.dags.units import Unit
from airflow_assets.authoring.graph.plan import OBSERVE, action_plan
from airflow_assets.authoring.graph.verbs import verbs_of
from airflow_assets.places import defined_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from airflow_assets.authoring.graph.graph import Graph
    from airflow_assets.authoring.graph.plan import Plan
    from airflow_assets.authoring.handlers.interface import BaseIOHandler

CONFIRM = "confirm"


def verb_dags(
    graph: Graph,
    default_handler: BaseIOHandler,
    name: str,
    limits: Mapping[str, int],
    options: Mapping[str, Any],
) -> Iterator[DAG]:
    """Yield the Dag of each verb; they are started by hand, or by whoever calls Airflow's API."""
    verbs = [*verbs_of(graph), *([OBSERVE] if graph.observers else [])]
    for verb in verbs:
        plan = action_plan(graph, verb)
        unit = Unit(name, tuple(one.name for one in plan.steps), None, None)
        yield _verb_dag(
            Compiled(graph, default_handler, verb, unit, pool_limits=limits),
            plan,
            f"{safe(name)}.{safe(verb)}",
            options,
        )


def _verb_dag(compiled: Compiled, plan: Plan, dag_id: str, options: Mapping[str, Any]) -> DAG:
    verb = compiled.verb
    keyed = any(node.partitions is not None for one in plan.steps for node in one.step.nodes)
    dag = DAG(
        dag_id, schedule=None, dag_display_name=f"{compiled.unit.name}: {verb}", catchup=False, **options
    )
    dag.fileloc = defined_at()[0]
    compiled.hang_on(dag)
    tasks: dict[str, AssetStepOperator] = {}
    for planned in plan.steps:
        shown = planned.name
        task_id = safe(shown) if safe(shown) != CONFIRM else f"{CONFIRM}-asset"
        arguments = step_arguments(planned.step, shown, task_id)
        tasks[planned.name] = AssetStepOperator(task_id=task_id, step=planned.name, dag=dag, **arguments)
        for other in planned.waits:
            tasks[planned.name].set_upstream(tasks[other])
    if any(one.action is not None and one.action.outcome is Outcome.Unmaterialize for one in plan.steps):
        confirm = _confirm(dag, verb)
        confirm.set_downstream([task for task in tasks.values() if not task.upstream_task_ids])
    params = launch_params(keyed=keyed)
    if keyed:
        params["whole_asset"] = Param(
            False, type="boolean", title="All partitions", description="Without a key: mean the whole asset."
        )
    dag.params = ParamsDict(params)
    return dag


def _confirm(dag: DAG, verb: str) -> Any:
    """A person says yes before anything is unmaterialized; after a no everything is skipped."""
    from airflow.providers.standard.operators.hitl import ApprovalOperator

    return ApprovalOperator(
        task_id=CONFIRM,
        subject=f"Run {verb} on {{{{ params.selection or 'all assets that define it' }}}}?",
        body="It clears what is recorded as materialized, and may delete the data itself.",
        ignore_downstream_trigger_rules=True,
        dag=dag,
    )

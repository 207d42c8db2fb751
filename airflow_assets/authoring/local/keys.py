"""Whether a run's partition key fits what it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_assets.authoring.actions import ActionPartitioning
from airflow_assets.authoring.errors import ExecutionError, PartitionValidationError
from airflow_assets.authoring.graph.plan import OBSERVE
from airflow_assets.authoring.partitions.definitions import Dynamic, Multi

if TYPE_CHECKING:
    from airflow_assets.authoring.graph.nodes import Node
    from airflow_assets.authoring.graph.plan import Plan, PlannedStep
    from airflow_assets.authoring.partitions.definitions import DynamicKeys, PartitionsDefinition
    from airflow_assets.authoring.partitions.keys import PartitionKey


def check_key(plan: Plan, key: PartitionKey | None, dynamic: DynamicKeys) -> None:
    """Look whether every step of a plan can be run for a key, or without one.

    Raises:
        ExecutionError: a partitioned asset and no key, a key that it has not, or one for a keyless action.
        PartitionValidationError: a key, and an asset without partitions.
    """
    if key is None:
        _check_none_needed(plan)
        return
    for planned in plan.steps:
        for node in planned.step.nodes:
            if node.name in planned.nodes and not (planned.verb == OBSERVE and node.partitions is None):
                _check_one(planned, node, key, dynamic)


def _check_none_needed(plan: Plan) -> None:
    open_ends = [name for planned in plan.steps for name in planned.nodes if _needs_key(planned, name)]
    if open_ends:
        raise ExecutionError(
            f"Cannot run {plan.verb!r} without partition_key: {_shown(open_ends)} have partitions; give "
            "partition_key, or leave them out of the selection"
        )


def _needs_key(planned: PlannedStep, name: str) -> bool:
    node = next(node for node in planned.step.nodes if node.name == name)
    if node.partitions is None or planned.verb == OBSERVE or "/" in name:
        return False
    return planned.action is None or planned.action.partitioning is ActionPartitioning.Required


def _check_one(planned: PlannedStep, node: Node, key: PartitionKey, dynamic: DynamicKeys) -> None:
    if node.partitions is None:
        raise PartitionValidationError(
            f"Asset {node.name!r} has no partitions, and the run has the partition_key {str(key)!r}"
        )
    if planned.action is not None and planned.action.partitioning is ActionPartitioning.Keyless:
        raise ExecutionError(
            f"Action {planned.verb!r} of {node.name!r} is for the whole asset: run it without a partition_key"
        )
    check_member(node.name, node.partitions, key, dynamic)


def check_member(
    name: str, definition: PartitionsDefinition, key: PartitionKey, dynamic: DynamicKeys
) -> None:
    """Look whether an asset has the partitions of a key.

    Raises:
        ExecutionError: it has not; of a dynamic definition the error says how to register one.
    """
    if definition.validate_partition_key(key, dynamic):
        return
    names = _dynamic_names(definition)
    way_out = "".join(
        f"; register it with repo.storage.add_dynamic_partitions({one!r}, [...])" for one in names
    )
    raise ExecutionError(
        f"Invalid partition_key {str(key)!r} for asset {name!r}: not a member of its partition definition"
        f"{way_out}"
    )


def _dynamic_names(definition: PartitionsDefinition) -> list[str]:
    if isinstance(definition, Dynamic):
        return [definition.name]
    if isinstance(definition, Multi):
        return [name for _, one in definition.dimensions for name in _dynamic_names(one)]
    return []


def _shown(names: list[str]) -> str:
    return ", ".join(map(repr, names[:5])) + (f" and {len(names) - 5} more" if len(names) > 5 else "")

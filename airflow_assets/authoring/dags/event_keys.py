"""From the partition that an event of another Dag is about to the partitions that read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow_assets.authoring.errors import PartitionValidationError
from airflow_assets.authoring.partitions.edges import Ends
from airflow_assets.authoring.partitions.keys import PartitionKey
from airflow_assets.authoring.partitions.mappings import load_of_edge

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from airflow_assets.authoring.dags.compiled import Compiled
    from airflow_assets.authoring.graph.nodes import Edge
    from airflow_assets.authoring.partitions.definitions import DynamicKeys


def key_of_event(
    event: Any, compiled: Compiled, upstreams: Sequence[str], dynamic: DynamicKeys
) -> PartitionKey | None:
    """Return the partitions that read what an event is about; null where none does.

    :param upstreams: the nodes whose event it is.
    """
    changed = changed_by(event)
    partitions = compiled.unit.partitions
    if changed is None or partitions is None:
        return None
    found: list[PartitionKey] = []
    for node in upstreams:
        for edge in _edges_to(compiled, node):
            found += readers(edge, changed, Ends(partitions, compiled.graph.nodes[node].partitions, dynamic))
    return PartitionKey.set_of(found) if found else None


def _edges_to(compiled: Compiled, upstream: str) -> Iterator[Edge]:
    for step in compiled.schedule.read[upstream]:
        for node in compiled.graph.steps[step].nodes:
            if upstream in node.edges:
                yield node.edges[upstream]


def readers(edge: Edge, changed: PartitionKey, ends: Ends) -> list[PartitionKey]:
    """Return the partitions downstream that load one of the changed partitions.

    A mapping says what a partition loads, so it is asked for each.
    """
    if ends.downstream is None:
        return []
    if edge.mapping is None:
        return [one for one in changed if ends.downstream.validate_partition_key(one, ends.dynamic)]
    wanted = {str(one) for one in changed}
    return [
        key for key in ends.downstream.get_partition_keys(ends.dynamic) if _loads(edge, key, ends, wanted)
    ]


def _loads(edge: Edge, key: PartitionKey, ends: Ends, wanted: set[str]) -> bool:
    try:
        load = load_of_edge(edge.mapping, key, ends)
    except PartitionValidationError:
        return False  # it would load what does not exist, so nothing that has changed
    return not load.absent and (load.key is None or bool(wanted & {str(one) for one in load.key}))


def changed_by(event: Any) -> PartitionKey | None:
    """Return the partition that an event's materialization was for; null for the whole asset."""
    state = (event.get("metadata") or {}).get("materialization")
    document = state.get("partition_key") if isinstance(state, Mapping) else None
    return PartitionKey.from_json(document) if document else None

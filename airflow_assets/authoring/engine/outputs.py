"""Checking, storing and recording what a body gave for one node."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any

from airflow_assets.authoring.contexts import AssetExecutionContext, OutputContext, PartitionContext
from airflow_assets.authoring.engine.events import Emit, EventType, StepEvent
from airflow_assets.authoring.engine.fanout import KEYS, unwrapped
from airflow_assets.authoring.engine.inputs import input_versions
from airflow_assets.authoring.engine.types import check_type
from airflow_assets.authoring.metadata_values import DataVersion, MetadataValue
from airflow_assets.authoring.results import Materialization, Observation, Output, Result

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airflow_assets.authoring.engine.run import Run
    from airflow_assets.authoring.graph.nodes import Node
    from airflow_assets.authoring.partitions.keys import PartitionKey


class Said:
    """What is recorded about one output, from all who had a say; the later one counts.

    Metadata and data version: first the body's context, then the result it returned, last the handler.
    """

    def __init__(self, context: AssetExecutionContext[Any], result: Any) -> None:
        self.metadata: dict[str, MetadataValue] = dict(context.output_metadata)
        self.data_version = context.drain_data_version()
        self.tags: tuple[str, ...] = ()
        if isinstance(result, Result):
            self.add(result.metadata or {}, result.data_version)
            self.tags = tuple(getattr(result, "tags", None) or ())

    def add(self, metadata: Mapping[str, MetadataValue], data_version: str | None) -> None:
        """Take over what the next one says; a data version among the metadata is one."""
        for name, value in metadata.items():
            if isinstance(value, DataVersion):
                data_version = data_version or value.value
            else:
                self.metadata[name] = value
        self.data_version = data_version or self.data_version


def finish(run: Run, node: Node, context: AssetExecutionContext[Any], result: Any, emit: Emit) -> None:
    """Store a result and say so: a materialization or observation for each partition that did not fail.

    Raises:
        AssetOutputValidationError: the value is not of the declared type; nothing has been stored.
        Exception: whatever the handler raises.
    """
    if node.is_external and not isinstance(result, Observation):
        result = Observation()  # what an observe function has to say beside it, it says to its context
    said = Said(context, result)
    if isinstance(result, Observation):
        _emit_each(run, node, context, said, EventType.Observation, emit)
        return
    if not isinstance(result, Materialization):
        value = result.value if isinstance(result, Output) else result
        check_type(node.name, value, node.type_hint)
        if node.task is not None:
            value, keys = unwrapped(node.name, value)
            if keys is not None:
                said.metadata[KEYS] = MetadataValue.json(json.dumps(keys))
        store(run, node, value, said)
    said.data_version = said.data_version or str(uuid.uuid4())
    _emit_each(run, node, context, said, EventType.Materialization, emit)


def store(run: Run, node: Node, value: Any, said: Said) -> None:
    """Give a value to the node's handler, and take over what that says about it."""
    key = run.key_of(node.name)
    told = OutputContext(
        node.name,
        run.metadata_of(node.name),
        PartitionContext(key, node.partitions) if key else None,
        node.type_hint,
        recorded=said.metadata,
    )
    run.handler(node.name).handle_output(told, value)
    said.add(told.output_metadata, told.drain_data_version())


def _emit_each(  # noqa: PLR0917
    run: Run, node: Node, context: AssetExecutionContext[Any], said: Said, kind: EventType, emit: Emit
) -> None:
    keys: list[PartitionKey | None] = list(run.key_of(node.name) or [None])
    for key in keys:
        failed = context.failed_partitions.get(str(key)) if key else None
        if failed is not None:
            error = {"error": MetadataValue.text(failed)}
            emit(StepEvent(EventType.StepFailure, node.name, key, error))
            continue
        emit(
            StepEvent(
                kind,
                node.name,
                key,
                dict(said.metadata),
                said.data_version,
                node.declared.code_version,
                input_versions(run, [node]) if kind is EventType.Materialization else {},
                said.tags,
            )
        )

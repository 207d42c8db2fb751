"""A task that runs once for each element of a list, and the step that collects the results."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow_assets.authoring.engine.events import Emit, EventType, StepEvent
from airflow_assets.authoring.engine.inputs import input_versions, loaded
from airflow_assets.authoring.errors import ExecutionError
from airflow_assets.authoring.graph.nodes import Edge, Gets, Step
from airflow_assets.authoring.metadata_values import MetadataValue
from airflow_assets.authoring.results import DynamicOutput

if TYPE_CHECKING:
    from airflow_assets.authoring.engine.run import Run

KEYS = "airflow_assets/fan_out_keys"
"""The metadata of a materialization whose value is a list of ``DynamicOutput``: the keys, as a JSON list."""
_COLLECT = "collect"


def unwrapped(owner: str, value: Any) -> tuple[Any, list[str] | None]:
    """Return the bare values of a list of ``DynamicOutput`` and their keys; another value and null.

    Raises:
        TypeError: plain elements and such with keys are mixed.
        ExecutionError: a key comes twice, or is that of the collecting step.
    """
    if not isinstance(value, (list, tuple)) or not any(isinstance(item, DynamicOutput) for item in value):
        return value, None
    plain = next((item for item in value if not isinstance(item, DynamicOutput)), None)
    if plain is not None:
        raise TypeError(f"{owner!r} gave DynamicOutput and plain elements, such as {plain!r}; give all a key")
    keys = [item.key for item in value]
    twice = next((key for key, times in Counter(keys).items() if times > 1), None)
    if twice is not None or _COLLECT in keys:
        why = "twice" if twice is not None else "and that is the collecting step's name"
        raise ExecutionError(f"{owner!r} gave DynamicOutput({twice or _COLLECT!r}, ...) {why}")
    return [item.value for item in value], keys


def keys_of(metadata: Mapping[str, MetadataValue]) -> list[str] | None:
    """Return the keys that a materialization tells; null where its elements are plain."""
    found = metadata.get(KEYS)
    return None if found is None else list(json.loads(found.raw_value()))


def elements(run: Run, step: Step) -> dict[str, Any]:
    """Return what a mapped step runs over, by the suffix of each instance: a number, or its key.

    Raises:
        ExecutionError: the value has no elements.
    """
    node = step.nodes[0]
    (edge,) = (edge for edge in node.edges.values() if edge.upstream == _source(step))
    value = loaded(run, node.name, edge, None)
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise ExecutionError(
            f"{node.name!r} runs once for each element of {edge.upstream!r}, which is no list but "
            f"{type(value).__name__}: {str(value)[:100]}"
        )
    items = list(value)
    keys = run.fan_keys(edge.upstream)
    names: Sequence[str] = (
        keys if keys is not None and len(keys) == len(items) else list(map(str, range(len(items))))
    )
    return dict(zip(names, items, strict=True))


def instance(step: Step, suffix: str, element: Any) -> Step:
    """Return the step of one element of a mapped one."""
    name = f"{step.name}__{suffix}"
    place = next(
        number for number, parameter in enumerate(step.parameters)
        if parameter.gets is Gets.CONSTANT and parameter.name not in step.call.wired
    )  # fmt: skip
    parameters = [*step.parameters]
    parameters[place] = replace(parameters[place], value=element)
    return replace(step, name=name, parameters=parameters, nodes=[replace(step.nodes[0], name=name)])


def collecting(run: Run, step: Step, suffixes: Iterable[str]) -> Step:
    """Return the step that loads the results of these instances and gives them as a list, in this order."""
    mapped = next(iter(step.nodes[0].edges))
    return replace(
        step, function=partial(_collected, run, mapped, [f"{mapped}__{suffix}" for suffix in suffixes])
    )


def _collected(run: Run, mapped: str, names: Sequence[str]) -> list[Any]:
    return [loaded(run, mapped, Edge(name, loads=True), None) for name in names]


def say_mapped(run: Run, step: Step, failed: bool, emit: Emit) -> None:
    """Say how a mapped step ended, after its last instance: its results are stored by the instances."""
    node = step.nodes[0]
    if failed:
        error = {"error": MetadataValue.text("One or more of its instances failed")}
        emit(StepEvent(EventType.StepFailure, node.name, None, error))
        return
    versions = input_versions(run, [node])
    for key in list(run.key_of(node.name) or [None]):
        emit(
            StepEvent(
                EventType.Materialization, node.name, key, {}, str(uuid.uuid4()), input_data_versions=versions
            )
        )
    emit(StepEvent(EventType.StepSuccess, node.name))


def _source(step: Step) -> str:
    """The node whose value a mapped step runs over: the one upstream that no parameter loads."""
    taken = {parameter.source for parameter in step.parameters if parameter.gets is Gets.NODE}
    over = step.call.over.node_name
    return next(name for name in step.nodes[0].edges if name not in taken or name.rpartition("/")[2] == over)

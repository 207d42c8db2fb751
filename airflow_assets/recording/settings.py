"""How a task records: :func:`configure` and the ``[airflow_assets]`` defaults behind it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

ATTRIBUTE = "_airflow_assets_settings"
"""Set on Dags, groups and operators. Airflow serializes no attribute it does not know, and every task
re-parses its Dag file, so the settings reach the task and leave the serialized Dag as it is."""

T = TypeVar("T")


class FailureBehavior(str, Enum):
    """What a problem with an asset does to a task that has ended well."""

    FAIL = "FAIL"
    """The task fails (and is retried if it has retries left)."""
    WARN = "WARN"
    """The task stays successful; log, lineage event, note and metric say what is missing."""
    IGNORE = "IGNORE"
    """The task stays successful; its log says so."""


@dataclass(frozen=True)
class Settings:
    """What one level says; None leaves it to the level around it."""

    enable_auto: bool | str | None = None
    asset_failure_behavior: FailureBehavior | str | None = None
    inputs: Any = None
    outputs: Any = None

    def over(self, outer: Settings) -> Settings:
        """Return these settings, with what they leave open taken from ``outer``."""
        merged = {}
        for field in fields(self):
            own = getattr(self, field.name)
            merged[field.name] = getattr(outer, field.name) if own is None else own
        return Settings(**merged)


def configure(
    x: T,
    *,
    enable_auto: bool | str | None = None,
    asset_failure_behavior: FailureBehavior | str | None = None,
    inputs: Any = None,
    outputs: Any = None,
) -> T:
    """Say how the tasks of ``x`` record, and return ``x``.

    A task's own setting wins over its groups' (inner over outer), over its Dag's, over the
    ``[airflow_assets]`` options of the same names. Nothing of it enters the serialized Dag.

    :param x: an operator, a TaskFlow result, a mapped task, a TaskGroup or a Dag.
    :param enable_auto: read ``::{"assets": ...}::`` lines of scripts. Default: the option, false.
    :param asset_failure_behavior: FAIL, WARN or IGNORE. Default: the option, WARN.
    :param inputs: further inputs, recorded in one bundle with inlets and outlets: a list of our types, native
        assets, ids or JSON objects, or one template that renders to such a list.
    :param outputs: further outputs, likewise.
    :raises TypeError: ``x`` is none of these.
    :raises ValueError: there is no such behaviour.

    >>> configure(load(), asset_failure_behavior="FAIL", outputs="{{ result.tables }}")
    """
    if isinstance(asset_failure_behavior, str) and "{" not in asset_failure_behavior:
        asset_failure_behavior = behavior(asset_failure_behavior)
    given = Settings(enable_auto, asset_failure_behavior, inputs, outputs)
    node = _node(x)
    object.__setattr__(node, ATTRIBUTE, given.over(getattr(node, ATTRIBUTE, None) or Settings()))
    return x


def behavior(value: str) -> FailureBehavior:
    """Return the behaviour of this name.

    :raises ValueError: it names none; says which there are.
    """
    try:
        return FailureBehavior(value.strip().upper())
    except ValueError:
        names = ", ".join(each.value for each in FailureBehavior)
        raise ValueError(f"asset_failure_behavior is {value!r}; it can be {names}.") from None


def settings_of(task: Any) -> Settings:
    """Return what :func:`configure` said about a running task, inner levels over outer ones."""
    found = Settings()
    for level in _levels(task):
        own = getattr(level, ATTRIBUTE, None)
        if own is not None:
            found = found.over(own)
    return found


def _levels(task: Any) -> Iterator[Any]:
    """The task, its groups from the inside out, its Dag; from the Dag's own object, which is not unmapped."""
    dag = getattr(task, "dag", None)
    original = dag.task_dict.get(task.task_id, task) if dag is not None else task
    yield original
    group = getattr(original, "task_group", None)
    while group is not None:
        yield group
        group = group.parent_group
    yield dag


def _node(x: Any) -> Any:
    from airflow.sdk import DAG, TaskGroup, XComArg
    from airflow.sdk.bases.operator import BaseOperator
    from airflow.sdk.definitions.mappedoperator import MappedOperator

    if isinstance(x, XComArg):
        return next(iter(x.iter_references()))[0]
    if isinstance(x, (BaseOperator, MappedOperator, TaskGroup, DAG)):
        return x
    hint = " Call the decorated function first: configure(f(), ...)." if callable(x) else ""
    raise TypeError(
        f"configure() takes an operator, TaskFlow result, mapped task, TaskGroup or Dag, not {x!r}.{hint}"
    )

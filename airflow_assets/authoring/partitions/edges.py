"""The two ends of an edge, what is loaded over it, and the checks that mappings share."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from airflow_assets.authoring.errors import PartitionValidationError
from airflow_assets.authoring.partitions.definitions import (
    Dynamic,
    DynamicKeys,
    Multi,
    PartitionsDefinition,
    TimeWindow,
)

if TYPE_CHECKING:
    from airflow_assets.authoring.partitions.keys import PartitionKey


class Ends(NamedTuple):
    """Both ends of an edge: how the reading asset and its upstream are partitioned, if they are."""

    downstream: PartitionsDefinition | None
    upstream: PartitionsDefinition | None
    dynamic: DynamicKeys | None = None


class Load(NamedTuple):
    """What to load of an upstream: a key, or the whole value; ``absent``: nothing, the parameter is null."""

    key: PartitionKey | None = None
    absent: bool = False


WHOLE, ABSENT = Load(), Load(absent=True)


def partitioned(definition: PartitionsDefinition | None, mapping: str, side: str) -> PartitionsDefinition:
    """Return the definition of a side that must have one."""
    if definition is None:
        raise PartitionValidationError(f"{mapping} needs partitions on the {side} side, which has none")
    return definition


def both_partitioned(ends: Ends, mapping: str) -> tuple[PartitionsDefinition, PartitionsDefinition]:
    """Return both definitions, which must be there."""
    return (
        partitioned(ends.downstream, mapping, "downstream"),
        partitioned(ends.upstream, mapping, "upstream"),
    )


def same_kind(down: PartitionsDefinition, up: PartitionsDefinition) -> None:
    """Look whether a key of one side can be one of the other."""
    if type(down) is not type(up):
        raise PartitionValidationError(
            f"The partitions are of two kinds, {type(down).__name__} and {type(up).__name__}: name a mapping"
        )
    if isinstance(down, TimeWindow) and isinstance(up, TimeWindow):
        if down.fmt != up.fmt:
            raise PartitionValidationError(f"The keys are written differently: {down.fmt!r} and {up.fmt!r}")
        if (down.cron_schedule, down.interval_seconds) != (up.cron_schedule, up.interval_seconds):
            raise PartitionValidationError("The windows begin at different times: name a mapping")
    if isinstance(down, Dynamic) and isinstance(up, Dynamic) and down.name != up.name:
        raise PartitionValidationError(
            f"The keys are registered under two names: {down.name!r} and {up.name!r}"
        )


def one_dimension(definition: PartitionsDefinition, mapping: str) -> None:
    """Look whether the definition has one dimension."""
    if isinstance(definition, Multi):
        raise PartitionValidationError(
            f"{mapping} is for one dimension; inside multi() it maps one of several"
        )


def needed(key: PartitionKey | None, mapping: str) -> PartitionKey:
    """Return the run's key, which must be there."""
    if key is None:
        raise PartitionValidationError(f"{mapping} needs the run's partition key, and the run has none")
    return key


def dimension(definition: PartitionsDefinition | None, name: str) -> PartitionsDefinition:
    """Return the definition of a dimension; :meth:`Multi.dimension` tells when there is none."""
    return several(definition).dimension(name)


def several(definition: PartitionsDefinition | None) -> Multi:
    """Return a definition that ``check`` has found to have several dimensions."""
    if isinstance(definition, Multi):
        return definition
    raise PartitionValidationError(f"A definition with several dimensions is needed, not {definition!r}")


def windows(definition: PartitionsDefinition | None) -> TimeWindow:
    """Return a definition that ``check`` has found to be of time windows."""
    if isinstance(definition, TimeWindow):
        return definition
    raise PartitionValidationError(f"A definition of time windows is needed, not {definition!r}")


def of_dimensions(ends: Ends, downstream: str, upstream: str) -> Ends:
    """Return the ends of one dimension each."""
    return Ends(dimension(ends.downstream, downstream), dimension(ends.upstream, upstream), ends.dynamic)

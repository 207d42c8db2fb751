"""What the constructors of assets accept, checked and in one form."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from airflow_assets.authoring.actions import AssetAction, bound_actions, checked_retry
from airflow_assets.authoring.automation import AutomationCondition
from airflow_assets.authoring.checks import list_of, optional, texts
from airflow_assets.authoring.deps import AssetDef, DepDef, asset_name, dependencies, kinds_list, pool_pairs
from airflow_assets.authoring.errors import AssetDefinitionError
from airflow_assets.authoring.handlers.base import checked_handler
from airflow_assets.authoring.hooks import Hook
from airflow_assets.authoring.partitions.definitions import PartitionsDefinition
from airflow_assets.authoring.partitions.strategy import BackfillStrategy
from airflow_assets.authoring.retries import Compute, RetryPolicy

if TYPE_CHECKING:
    from collections.abc import Sequence

_PUSHED = ("tags", "group", "code_version", "io_handler")
"""What a multi-asset gives to the outputs that have none of their own; kinds too."""
_OWN = ("name", "deps", "hooks", "automation_condition", "retry", "compute")
"""What a multi-asset keeps."""


@dataclass(frozen=True)
class Settings:
    """All that any asset can be told; what a kind does not take stays empty."""

    name: str | None = None
    tags: list[str] | None = None
    kinds: list[str] = field(default_factory=list)
    group: str | None = None
    code_version: str | None = None
    io_handler: Any = None
    node_io_handler: Any = None
    metadata: dict[str, str] | None = None
    partitions_def: PartitionsDefinition | str | None = None
    deps: list[DepDef] = field(default_factory=list)
    hooks: list[Hook] | None = None
    automation_condition: AutomationCondition | None = None
    backfill_strategy: BackfillStrategy | None = None
    pool: list[tuple[str, int]] = field(default_factory=list)
    retry: RetryPolicy | str | None = None
    compute: Compute | None = None
    actions: list[AssetAction] = field(default_factory=list)
    output_defs: list[AssetDef] = field(default_factory=list)


def settings(  # noqa: PLR0913
    *,
    name: Any = None,
    tags: Any = None,
    kinds: Any = None,
    group: Any = None,
    code_version: Any = None,
    io_handler: Any = None,
    node_io_handler: Any = None,
    metadata: Any = None,
    partitions_def: Any = None,
    deps: Any = None,
    hooks: Any = None,
    automation_condition: Any = None,
    backfill_strategy: Any = None,
    pool: Any = None,
    pool_slots: Any = None,
    retry: Any = None,
    compute: Any = None,
    actions: Any = None,
) -> Settings:
    """Return the settings of a single or graph asset.

    Raises:
        AssetDefinitionError, TypeError: as :class:`~airflow_assets.authoring.assets.Asset` says.
    """
    owner = f"asset {name!r}" if name else "the asset"
    return Settings(
        name=None if name is None else asset_name(name),
        tags=None if tags is None else list_of(tags, str, "tags"),
        kinds=kinds_list(kinds),
        group=optional(group, str, "group"),
        code_version=optional(code_version, str, "code_version"),
        io_handler=checked_handler(io_handler, owner),
        node_io_handler=checked_handler(node_io_handler, owner),
        metadata=None if metadata is None else texts(metadata, "metadata"),
        partitions_def=optional(partitions_def, (PartitionsDefinition, str), "partitions_def"),
        deps=dependencies(deps),
        hooks=None if hooks is None else list_of(hooks, Hook, "hooks"),
        automation_condition=optional(automation_condition, AutomationCondition, "automation_condition"),
        backfill_strategy=optional(backfill_strategy, BackfillStrategy, "backfill_strategy"),
        pool=pool_pairs(pool, pool_slots, owner),
        retry=checked_retry(retry, owner),
        compute=optional(compute, Compute, "compute"),
        actions=bound_actions(actions, owner),
    )


def multi_settings(*, output_defs: Sequence[AssetDef], **shared: Any) -> Settings:
    """Return the settings of a multi-asset: what is for its outputs is theirs, and no longer its own."""
    common = settings(**shared)
    given = list_of(output_defs, AssetDef, "output_defs")
    for output in given:
        if output.name is None:
            raise AssetDefinitionError("Each output of a multi-asset needs a name: AssetDef('orders')")
    outputs = [_with_shared(output, common) for output in given]
    if common.partitions_def is None:
        _check_partitions(outputs)
    own = {name: getattr(common, name) for name in _OWN}
    return Settings(**own, output_defs=outputs)


def external_settings(*, io_handler: Any, **others: Any) -> Settings:
    """Return the settings of an external asset."""
    if io_handler is None:
        raise AssetDefinitionError(
            f"External asset {others.get('name')!r} needs an io_handler: its readers load it by that"
        )
    return settings(io_handler=io_handler, **others)


def _with_shared(output: AssetDef, common: Settings) -> AssetDef:
    made = copy(output)
    for name in _PUSHED:
        if getattr(made, name) is None:
            setattr(made, name, getattr(common, name))
    made.kinds = made.kinds or list(common.kinds)
    made.partitions_def = common.partitions_def or made.partitions_def
    own = {action.name for action in made.actions}
    made.actions = [*made.actions, *(action for action in common.actions if action.name not in own)]
    return made


def _check_partitions(outputs: list[AssetDef]) -> None:
    """Outputs that one call makes have partitions of one kind, and at least one of them in common."""
    defined = [output for output in outputs if output.partitions_def is not None]
    if defined and len(defined) < len(outputs):
        without = next(output for output in outputs if output.partitions_def is None)
        raise AssetDefinitionError(
            f"Output {without.name!r} has no partitions and {defined[0].name!r} has: give them to all outputs"
        )
    for place, one in enumerate(defined):
        for other in defined[:place]:
            _check_pair(one, other)


def _check_pair(one: AssetDef, other: AssetDef) -> None:
    first, second = one.partitions_def, other.partitions_def
    if not isinstance(first, PartitionsDefinition) or not isinstance(second, PartitionsDefinition):
        return  # names are looked up, and compared, when the repository resolves
    if first == second:
        return
    if type(first) is not type(second):
        raise AssetDefinitionError(
            f"Outputs {other.name!r} and {one.name!r} have partitions of different kinds, "
            f"{type(second).__name__} and {type(first).__name__}"
        )
    try:
        common = {*first.get_partition_keys()} & {*second.get_partition_keys()}
    except NotImplementedError:
        return
    if not common:
        raise AssetDefinitionError(f"Outputs {other.name!r} and {one.name!r} have no partition in common")

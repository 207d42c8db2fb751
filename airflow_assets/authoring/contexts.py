"""What bodies, handlers and hooks are told about the run they are part of."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from airflow_assets.authoring.checks import of_type
from airflow_assets.authoring.errors import PartitionValidationError
from airflow_assets.authoring.metadata import coerced
from airflow_assets.authoring.metadata_values import MetadataValue
from airflow_assets.authoring.partitions.definitions import PartitionsDefinition, TimeWindow
from airflow_assets.authoring.partitions.keys import PartitionKey
from airflow_assets.authoring.partitions.strategy import together

if TYPE_CHECKING:
    from airflow_assets.authoring.partitions.windows import Window

Cfg = TypeVar("Cfg")


class PartitionContext:
    """The partitions that a step is for.

    :param keys: one or several partitions; a text is the key of one.

    >>> str(PartitionContext(["a"], PartitionsDefinition.static_(["a", "b"])).key)
    'a'
    """

    def __init__(
        self,
        keys: PartitionKey | str | Sequence[PartitionKey | str],
        definition: PartitionsDefinition | None = None,
    ) -> None:
        self.partition = keys if isinstance(keys, PartitionKey) else _as_one(keys)
        self.definition = definition

    @property
    def keys(self) -> list[PartitionKey]:
        """Each partition; ``str(key)`` is its canonical text."""
        return list(self.partition)

    @property
    def key(self) -> PartitionKey:
        """The first partition."""
        return self.keys[0]

    def time_window(self) -> Window | None:
        """Return start and end (exclusive, naive UTC); null for several keys and keys that are no windows."""
        if not isinstance(self.definition, TimeWindow) or len(self.keys) != 1:
            return None
        return self.definition.window(str(self.key))


def _as_one(keys: str | Sequence[PartitionKey | str]) -> PartitionKey:
    given = [keys] if isinstance(keys, str) else list(keys)
    if not given:
        raise PartitionValidationError("PartitionContext needs at least one partition")
    return together(
        [one for key in given for one in (key if isinstance(key, PartitionKey) else PartitionKey.single(key))]
    )


class _Recorded:
    """What is recorded about an output while it is made or stored; the last word for a key counts."""

    def __init__(self, metadata: Mapping[str, MetadataValue] | None = None) -> None:
        self.output_metadata: dict[str, MetadataValue] = dict(metadata or {})
        self._data_version: str | None = None

    def add_output_metadata(self, metadata: Mapping[str, Any]) -> None:
        """Record metadata with the output.

        Raises:
            TypeError: a value that cannot be recorded.
        """
        for name, value in coerced(metadata).items():
            if isinstance(value, MetadataValue.DataVersion):
                self.register_data_version(value.raw_value())
            else:
                self.output_metadata[name] = value

    def register_data_version(self, version: str) -> None:
        """Say which version the output is, instead of a random one."""
        self._data_version = of_type(version, str, "register_data_version")

    def drain_data_version(self) -> str | None:
        """Return the version that was registered last, and forget it."""
        version, self._data_version = self._data_version, None
        return version


class OutputContext(_Recorded):
    """What a handler is told when it stores an output.

    :param type_hint: the declared type of the output; null when there is none.
    :param recorded: what the body has recorded so far.
    """

    def __init__(
        self,
        asset_name: str,
        asset_metadata: Mapping[str, str] | None = None,
        partition: PartitionContext | None = None,
        type_hint: Any = None,
        recorded: Mapping[str, MetadataValue] | None = None,
    ) -> None:
        super().__init__(recorded)
        self.asset_name = asset_name
        self.asset_metadata = dict(asset_metadata or {})
        self.partition = partition
        self.type_hint = type_hint


@dataclass(frozen=True)
class InputContext:
    """What a handler is told when it loads an input.

    :param asset_name: the upstream.
    :param downstream_asset: who reads it; ``__load_node__`` for ``repo.load_node``.
    :param partition: of the upstream, after the mapping; null: all of it.
    :param type_hint: the annotation of the parameter.
    """

    asset_name: str
    downstream_asset: str
    asset_metadata: Mapping[str, str] = field(default_factory=dict)
    partition: PartitionContext | None = None
    type_hint: Any = None


class _InPartition:
    """The questions about partitions that bodies ask."""

    partition: PartitionContext | None

    @property
    def has_partition_key(self) -> bool:
        """Whether the run has a key."""
        return self.partition is not None

    @property
    def partition_key(self) -> str:
        """The run's key.

        Raises:
            PartitionValidationError: there is none, there are several, or it has several dimensions.
        """
        if self.partition is None:
            raise PartitionValidationError("The run has no partition key: ask has_partition_key first")
        keys = list(map(str, self.partition.keys))
        if len(keys) > 1:
            raise PartitionValidationError(
                f"partition_key is ambiguous: the run has {keys}; use partition.keys"
            )
        if self.partition.partition.is_multi:
            raise PartitionValidationError(f"The key {keys[0]!r} has several dimensions; use partition.key")
        return keys[0]

    @property
    def partition_time_window(self) -> Window | None:
        """Start and end (exclusive, naive UTC) of the run's window; null where there is none."""
        return self.partition.time_window() if self.partition else None


class _FailsPartitions:
    """Takes single partitions out of a step that succeeds."""

    partition: PartitionContext | None

    def __init__(self) -> None:
        self.failed_partitions: dict[str, str] = {}

    def mark_partition_failed(self, partition_key: str | PartitionKey, error: str | BaseException) -> None:
        """Say that one partition of the step failed: it gets a failure instead of a materialization.

        Raises:
            PartitionValidationError: the key is none of the step's.
        """
        text = str(partition_key)
        of_step = list(map(str, self.partition.keys)) if self.partition else []
        if text not in of_step:
            raise PartitionValidationError(f"{text!r} is no partition of this step, which has {of_step}")
        said = f"{type(error).__name__}: {error}" if isinstance(error, BaseException) else str(error)
        self.failed_partitions[text] = said


class AssetExecutionContext(_Recorded, _InPartition, _FailsPartitions, Generic[Cfg]):
    """What the body of an asset is told; its first parameter, by annotation or by the name ``context``.

    Made by hand it is what a unit test of a body needs:

    >>> AssetExecutionContext("orders", asset_metadata={"path": "s3://b"}).asset_metadata
    {'path': 's3://b'}
    """

    def __init__(  # noqa: PLR0917 - the contract's order
        self,
        asset_name: str,
        tags: Sequence[str] | None = None,
        kinds: Sequence[str] = (),
        group: str | None = None,
        code_version: str | None = None,
        asset_metadata: Mapping[str, str] | None = None,
        partition: PartitionContext | None = None,
        is_multi_asset: bool = False,
        output_selection: Sequence[str] = (),
        config: Cfg | None = None,
        run_id: str | None = None,
    ) -> None:
        _Recorded.__init__(self)
        _FailsPartitions.__init__(self)
        self.asset_name, self.run_id = asset_name, run_id
        self.tags = None if tags is None else list(tags)
        self.kinds, self.group, self.code_version = list(kinds), group, code_version
        self.asset_metadata = dict(asset_metadata or {})
        self.partition = partition
        self.is_multi_asset, self.output_selection = is_multi_asset, list(output_selection)
        self.config = config

    @property
    def log(self) -> logging.Logger:
        """The step's log."""
        return logging.getLogger(f"airflow_assets.asset.{self.asset_name}")


class TaskExecutionContext(_InPartition, Generic[Cfg]):
    """What a task of a graph asset is told."""

    def __init__(
        self,
        task_name: str,
        tags: Sequence[str] | None = None,
        partition: PartitionContext | None = None,
        config: Cfg | None = None,
    ) -> None:
        self.task_name, self.partition, self.config = task_name, partition, config
        self.tags = None if tags is None else list(tags)

    @property
    def log(self) -> logging.Logger:
        """The step's log."""
        return logging.getLogger(f"airflow_assets.task.{self.task_name}")


class ActionContext(_InPartition, _FailsPartitions, Generic[Cfg]):
    """What the body of an action is told.

    >>> ActionContext("orders", "vacuum").action
    'vacuum'
    """

    def __init__(  # noqa: PLR0917 - the contract's order
        self,
        asset_name: str,
        action: str,
        run_id: str = "",
        asset_metadata: Mapping[str, str] | None = None,
        partition: PartitionContext | None = None,
        io_handler: Any = None,
        config: Cfg | None = None,
    ) -> None:
        _FailsPartitions.__init__(self)
        self.asset_name, self.action, self.run_id = asset_name, action, run_id
        self.asset_metadata = dict(asset_metadata or {})
        self.partition, self.io_handler, self.config = partition, io_handler, config

    @property
    def log(self) -> logging.Logger:
        """The step's log."""
        return logging.getLogger(f"airflow_assets.action.{self.asset_name}.{self.action}")


@dataclass(frozen=True)
class HookContext(Generic[Cfg]):
    """What a hook is told.

    :param hook_type: ``success`` or ``failure``.
    :param metadata: the static metadata of the asset.
    """

    asset_name: str
    run_id: str
    hook_type: str
    output: Any = None
    error: BaseException | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    config: Cfg | None = None

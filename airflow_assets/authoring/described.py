"""What can be read of an asset, whatever its kind."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from airflow_assets.authoring.errors import AssetDefinitionError

if TYPE_CHECKING:
    from airflow_assets.authoring.actions import AssetAction
    from airflow_assets.authoring.automation import AutomationCondition
    from airflow_assets.authoring.deps import DepDef
    from airflow_assets.authoring.hooks import Hook
    from airflow_assets.authoring.partitions.definitions import PartitionsDefinition
    from airflow_assets.authoring.partitions.mappings import PartitionMapping
    from airflow_assets.authoring.partitions.strategy import BackfillStrategy
    from airflow_assets.authoring.retries import Compute, RetryPolicy
    from airflow_assets.authoring.settings import Settings

Function = Callable[..., Any]


class Described:
    """The settings of an asset, read-only; a value that the kind does not take reads as empty."""

    _kind: ClassVar[str] = "Asset"
    _settings: Settings
    _function: Function | None

    @property
    def name(self) -> str:
        """The asset's name.

        Raises:
            AssetDefinitionError: a decorator has none.
        """
        found = self._settings.name or getattr(self._function, "__name__", None)
        if not found:
            raise AssetDefinitionError(f"This {self._kind} has no name: give one, or apply it to a function")
        return str(found)

    @property
    def tags(self) -> list[str] | None:
        """Tags, as they were given."""
        return self._settings.tags

    @property
    def kinds(self) -> list[str]:
        """Kinds; empty when there is none."""
        return list(self._settings.kinds)

    @property
    def group(self) -> str | None:
        """The group it is shown in."""
        return self._settings.group

    @property
    def code_version(self) -> str | None:
        """What changes when the code does."""
        return self._settings.code_version

    @property
    def metadata(self) -> dict[str, str] | None:
        """Static metadata, which the IO handler gets."""
        return self._settings.metadata

    @property
    def io_handler(self) -> Any:
        """The handler, or the key of the resource that is one."""
        return self._settings.io_handler

    @property
    def node_io_handler(self) -> Any:
        """The handler of what a graph's tasks give each other."""
        return self._settings.node_io_handler

    @property
    def partitions_def(self) -> PartitionsDefinition | str | None:
        """The partitions, or the name they are registered under."""
        return self._settings.partitions_def

    @property
    def partition_mapping(self) -> dict[str, PartitionMapping] | None:
        """The mappings of ``deps``, by dependency; null when none carries one."""
        found = {dep.name: dep.partition_mapping for dep in self._settings.deps if dep.partition_mapping}
        return found or None

    @property
    def deps(self) -> list[DepDef]:
        """The dependencies that only order; those that load are parameters."""
        return [dep for dep in self._settings.deps if not dep.is_input]

    @property
    def inputs(self) -> list[DepDef]:
        """The dependencies of ``deps`` that load, with what they override."""
        return [dep for dep in self._settings.deps if dep.is_input]

    @property
    def hooks(self) -> list[Hook] | None:
        """Hooks."""
        return self._settings.hooks

    @property
    def automation_condition(self) -> AutomationCondition | None:
        """When it is materialized by itself."""
        return self._settings.automation_condition

    @property
    def backfill_strategy(self) -> BackfillStrategy | None:
        """How a backfill shares out its partitions."""
        return self._settings.backfill_strategy

    @property
    def pool(self) -> list[tuple[str, int]]:
        """Pools and the slots taken of each."""
        return list(self._settings.pool)

    @property
    def pool_slots(self) -> dict[str, int]:
        """The slots taken of each pool."""
        return dict(self._settings.pool)

    @property
    def retry(self) -> RetryPolicy | str | None:
        """The retry policy, or the name it is registered under."""
        return self._settings.retry

    @property
    def compute(self) -> Compute | None:
        """What the step asks of Kubernetes."""
        return self._settings.compute

    @property
    def actions(self) -> list[AssetAction] | None:
        """Its verbs; null when there is none."""
        return list(self._settings.actions) or None

    @property
    def function(self) -> Function | None:
        """The body; null on a decorator."""
        return self._function

    @property
    def observe_fn(self) -> Function | None:
        """The function that observes an external asset."""
        return None

    @property
    def is_async(self) -> bool:
        """Whether the body is a coroutine or an asynchronous generator."""
        return inspect.iscoroutinefunction(self._function) or inspect.isasyncgenfunction(self._function)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"An asset is read-only: {name} cannot be set")

    def __reduce__(self) -> NoReturn:
        raise TypeError("An asset is not pickled: import the module that defines it")

    def __repr__(self) -> str:
        name = self._settings.name or getattr(self._function, "__name__", "?")
        return f"<{type(self).__name__} {name!r}>"

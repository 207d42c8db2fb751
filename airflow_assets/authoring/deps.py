"""What an asset reads, in words: dependencies, and the output definitions of multi-assets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from airflow_assets.authoring.actions import AssetAction, bound_actions, checked_retry
from airflow_assets.authoring.checks import list_of, of_type, optional, texts
from airflow_assets.authoring.errors import AssetDefinitionError
from airflow_assets.authoring.handlers.base import checked_handler
from airflow_assets.authoring.partitions.definitions import PartitionsDefinition
from airflow_assets.authoring.partitions.mappings import PartitionMapping

if TYPE_CHECKING:
    from airflow_assets.authoring.retries import RetryPolicy

T = TypeVar("T")
_IMPLICIT_POOL = "__asset__:"


class DepDef:
    """A dependency; made by :meth:`AssetDef.input` or :meth:`AssetDef.dep`, read-only."""

    __slots__ = ("io_handler", "is_input", "metadata", "name", "partition_mapping")
    name: str
    partition_mapping: PartitionMapping | None
    io_handler: Any
    metadata: dict[str, str] | None
    is_input: bool

    def __init__(self) -> None:
        raise TypeError("Use AssetDef.input(name) or AssetDef.dep(name)")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"DepDef is read-only: make a new one with {name}={value!r}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DepDef) and all(
            getattr(self, name) == getattr(other, name) for name in self.__slots__
        )

    def __hash__(self) -> int:
        return hash((self.name, self.is_input))

    def __repr__(self) -> str:
        return f"DepDef.{'input' if self.is_input else 'dep'}({self.name!r})"


def _dependency(**members: Any) -> DepDef:
    made = object.__new__(DepDef)
    for name, value in members.items():
        object.__setattr__(made, name, value)
    return made


class AssetDef:
    """One output of a multi-asset; compared by value.

    :param kinds: one or several; read back as a list.
    :param pool: one or several; read back as pairs of pool and slots.
    :param retry: all outputs of a multi-asset that set one must set the same.
    :param type_hint: the type that every value of the output must be of; the IO handler gets it too.

    Raises:
        AssetDefinitionError: a type hint that is a text, a pool without a name, slots of a pool that is not
            the output's, an action without a body.

    >>> AssetDef("orders", kinds="table", pool="warehouse").pool
    [('warehouse', 1)]
    """

    _members: ClassVar[tuple[str, ...]] = (
        "name", "tags", "kinds", "group", "code_version", "io_handler", "metadata", "partitions_def",
        "partition_mapping", "pool", "retry", "deps", "actions", "type_hint",
    )  # fmt: skip

    def __init__(  # noqa: PLR0913, PLR0917 - the contract
        self,
        name: str | None = None,
        tags: Sequence[str] | None = None,
        kinds: str | Sequence[str] | None = None,
        group: str | None = None,
        code_version: str | None = None,
        io_handler: Any = None,
        metadata: Mapping[str, str] | None = None,
        partitions_def: PartitionsDefinition | str | None = None,
        partition_mapping: Mapping[str | AssetDef, PartitionMapping] | None = None,
        pool: str | Sequence[str] | None = None,
        pool_slots: int | Mapping[str, int] | None = None,
        retry: RetryPolicy | str | None = None,
        deps: Sequence[DepDef] | None = None,
        actions: Sequence[AssetAction] | None = None,
        type_hint: Any = None,
    ) -> None:
        self.name = None if name is None else asset_name(name)
        owner = f"output {name!r}"
        self.tags = None if tags is None else list_of(tags, str, "tags")
        self.kinds = kinds_list(kinds)
        self.group = optional(group, str, "group")
        self.code_version = optional(code_version, str, "code_version")
        self.io_handler = checked_handler(io_handler, owner)
        self.metadata = None if metadata is None else texts(metadata, "metadata")
        self.partitions_def: PartitionsDefinition | str | None = optional(
            partitions_def, (PartitionsDefinition, str), "partitions_def"
        )
        self.partition_mapping = _by_name(partition_mapping)
        self.pool = pool_pairs(pool, pool_slots, owner)
        self.retry = checked_retry(retry, owner)
        self.deps = dependencies(deps)
        self.actions = bound_actions(actions, owner)
        if isinstance(type_hint, str):
            raise AssetDefinitionError(
                f"type_hint of {owner} takes a type such as int, not the text {type_hint!r}"
            )
        self.type_hint = type_hint

    @staticmethod
    def input(
        name: str,
        partition_mapping: PartitionMapping | None = None,
        io_handler: Any = None,
        metadata: Mapping[str, str] | None = None,
    ) -> DepDef:
        """Return a dependency whose data is loaded into the parameter of its name.

        :param io_handler: loads the data here, instead of the upstream's.
        :param metadata: what ``InputContext.asset_metadata`` is here, instead of the upstream's.

        >>> AssetDef.input("orders", metadata={"columns": "a,b"}).is_input
        True
        """
        return _dependency(
            name=asset_name(name),
            partition_mapping=optional(partition_mapping, PartitionMapping, "partition_mapping"),
            io_handler=checked_handler(io_handler, f"input {name!r}"),
            metadata=None if metadata is None else texts(metadata, "metadata"),
            is_input=True,
        )

    @staticmethod
    def dep(name: str, partition_mapping: PartitionMapping | None = None) -> DepDef:
        """Return a dependency that orders only: nothing is loaded, no parameter is needed."""
        return _dependency(
            name=asset_name(name),
            partition_mapping=optional(partition_mapping, PartitionMapping, "partition_mapping"),
            io_handler=None,
            metadata=None,
            is_input=False,
        )

    @property
    def pool_slots(self) -> dict[str, int]:
        """The slots of each pool."""
        return dict(self.pool)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AssetDef) and all(
            getattr(self, name) == getattr(other, name) for name in self._members
        )

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        shown = ((name, getattr(self, name)) for name in self._members)
        return f"AssetDef({', '.join(f'{name}={value!r}' for name, value in shown if value)})"


class SelfDependency(Generic[T]):
    """What the parameter ``self`` of an asset gets: the asset's own last output.

    >>> SelfDependency([1]).get_inner()
    [1]
    """

    def __init__(self, inner: T | None = None) -> None:
        self._inner = inner

    def get_inner(self) -> T | None:
        """Return the last stored output; null on the first run."""
        return self._inner


def asset_name(name: Any) -> str:
    """Return a name that an asset, output or dependency may have.

    Raises:
        TypeError: no text.
        AssetDefinitionError: an empty one, or one with a ``|`` or ``,``, which separate keys of partitions.
    """
    text = of_type(name, str, "name")
    if not text.strip():
        raise AssetDefinitionError("The name of an asset is never empty")
    if "|" in text or "," in text:
        raise AssetDefinitionError(f"The name of an asset has neither '|' nor ',': {text!r}")
    return text


def kinds_list(kinds: Any) -> list[str]:
    """Return one kind, several, or none as a list.

    Raises:
        AssetDefinitionError: anything else.
    """
    if kinds is None:
        return []
    if isinstance(kinds, str):
        return [kinds]
    if isinstance(kinds, (list, tuple)) and all(isinstance(kind, str) for kind in kinds):
        return list(kinds)
    raise AssetDefinitionError(f"kinds takes a str or a list of str, not {kinds!r}")


def pool_pairs(pool: Any, slots: Any, owner: str) -> list[tuple[str, int]]:
    """Return pools with the slots that a step takes of each.

    Raises:
        AssetDefinitionError: a pool without a name or with a reserved one, slots of a pool that is not named,
            or fewer than 0.
    """
    pools = [pool] if isinstance(pool, str) else [] if pool is None else list_of(pool, str, "pool")
    for name in pools:
        if not name or name.startswith(_IMPLICIT_POOL):
            raise AssetDefinitionError(
                f"{owner}: {name!r} is no name for a pool ({_IMPLICIT_POOL} is reserved)"
            )
    given = dict.fromkeys(pools, 1)
    if slots is not None and pools:
        given.update(_slots(slots, pools, owner))
    return list(given.items())


def _slots(slots: Any, pools: list[str], owner: str) -> dict[str, int]:
    if not isinstance(slots, Mapping):
        slots = dict.fromkeys(pools, of_type(slots, int, "pool_slots"))
    for name, count in slots.items():
        if name not in pools:
            raise AssetDefinitionError(
                f"{owner}: pool_slots names {name!r}, which is not among its pools {pools}"
            )
        if of_type(count, int, f"pool_slots[{name!r}]") < 0:
            raise AssetDefinitionError(f"{owner}: pool_slots[{name!r}] is 0 or more, not {count}")
    return dict(slots)


def dependencies(deps: Any) -> list[DepDef]:
    """Return a list of dependencies, each once.

    Raises:
        TypeError: an element that is none.
    """
    return [] if deps is None else list(dict.fromkeys(list_of(deps, DepDef, "deps")))


def _by_name(mapping: Any) -> dict[str, PartitionMapping] | None:
    if mapping is None:
        return None
    found = {}
    for key, value in of_type(mapping, (Mapping,), "partition_mapping").items():
        name = key.name if isinstance(key, AssetDef) else key
        found[asset_name(name)] = of_type(value, PartitionMapping, f"partition_mapping[{name!r}]")
    return found

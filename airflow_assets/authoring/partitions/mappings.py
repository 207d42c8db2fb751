"""Which partitions of an upstream belong to a partition of the asset that reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from airflow_assets.authoring.checks import list_of, of_type, texts
from airflow_assets.authoring.errors import PartitionValidationError
from airflow_assets.authoring.partitions.definitions import Dynamic, Multi, TimeWindow
from airflow_assets.authoring.partitions.edges import (
    ABSENT,
    WHOLE,
    Ends,
    Load,
    both_partitioned,
    dimension,
    needed,
    of_dimensions,
    one_dimension,
    partitioned,
    same_kind,
    several,
    windows,
)
from airflow_assets.authoring.partitions.keys import PartitionKey, PartitionKeyRange


class PartitionMapping:
    """From a downstream key to upstream keys; made by one of the static methods, compared by value.

    >>> days = PartitionsDefinition.daily(datetime(2026, 1, 1), end=datetime(2026, 2, 1))
    >>> key = PartitionKey.single("2026-01-02")
    >>> str(PartitionMapping.time_window(-1).load(key, Ends(days, days)).key)
    '2026-01-01'
    """

    Identity: ClassVar[type[PartitionMapping]]
    AllPartitions: ClassVar[type[PartitionMapping]]
    Static: ClassVar[type[PartitionMapping]]
    TimeWindow: ClassVar[type[PartitionMapping]]
    SpecificPartitions: ClassVar[type[PartitionMapping]]
    ForKeys: ClassVar[type[PartitionMapping]]
    Subset: ClassVar[type[PartitionMapping]]
    Multi: ClassVar[type[PartitionMapping]]
    MultiToSingle: ClassVar[type[PartitionMapping]]

    @staticmethod
    def identity() -> PartitionMapping:
        """Return the mapping to the same key, which is also what holds without a mapping."""
        return Identity()

    @staticmethod
    def all_partitions() -> PartitionMapping:
        """Return the mapping to all of the upstream, loaded at once."""
        return AllPartitions()

    @staticmethod
    def static_(mapping: Mapping[str, str]) -> PartitionMapping:
        """Return a mapping that names the upstream key of each downstream key."""
        return StaticMapping(tuple(texts(dict(mapping), "static_").items()))

    @staticmethod
    def time_window(offset: int = 0) -> PartitionMapping:
        """Return the mapping to the window so many windows later; ``-1`` is the one before."""
        return TimeWindowMapping(of_type(offset, int, "offset"))

    @staticmethod
    def specific_partitions(partition_keys: Sequence[str]) -> PartitionMapping:
        """Return the mapping of an unpartitioned asset to some upstream keys, loaded at once.

        Raises:
            PartitionValidationError: there is no key.
        """
        wanted = list_of(partition_keys, str, "specific_partitions")
        if not wanted:
            raise PartitionValidationError("specific_partitions needs at least one key")
        return SpecificPartitions(tuple(wanted))

    @staticmethod
    def for_keys(selectors: Sequence[PartitionKey | PartitionKeyRange]) -> PartitionMapping:
        """Return a mapping that loads an unpartitioned upstream for some downstream keys, null for others."""
        return ForKeys(tuple(list_of(selectors, (PartitionKey, PartitionKeyRange), "for_keys")))

    @staticmethod
    def subset() -> PartitionMapping:
        """Return the mapping to the same key where the upstream has it, and to null where it has not."""
        return Subset()

    @staticmethod
    def multi(
        dimension_mappings: Mapping[str, PartitionMapping | tuple[str, PartitionMapping]],
    ) -> PartitionMapping:
        """Return a mapping by upstream dimension; a pair names the downstream dimension it is mapped from.

        Raises:
            PartitionValidationError: there is no dimension.
        """
        if not of_type(dimension_mappings, (Mapping,), "multi"):
            raise PartitionValidationError("multi needs a mapping for each dimension of the upstream")
        pairs = []
        for name, value in dimension_mappings.items():
            source, mapping = value if isinstance(value, tuple) else (name, value)
            pairs.append((name, source, of_type(mapping, PartitionMapping, f"multi[{name!r}]")))
        return MultiMapping(tuple(pairs))

    @staticmethod
    def multi_to_single(
        dimension_name: str, partition_mapping: PartitionMapping | None = None
    ) -> PartitionMapping:
        """Return the mapping between one dimension of one side and all of the other side."""
        inner = partition_mapping or Identity()
        return MultiToSingle(
            of_type(dimension_name, str, "dimension_name"),
            of_type(inner, PartitionMapping, "partition_mapping"),
        )

    def check(self, ends: Ends) -> None:
        """Look whether the mapping fits the definitions.

        Raises:
            PartitionValidationError: saying which rule it breaks.
        """
        raise NotImplementedError

    def load(self, key: PartitionKey | None, ends: Ends) -> Load:
        """Return what to load of the upstream for a run of the downstream key.

        Raises:
            PartitionValidationError: there is no upstream key for it.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class Identity(PartitionMapping):
    """The same key."""

    def check(self, ends: Ends) -> None:  # noqa: D102
        down, up = both_partitioned(ends, "identity()")
        same_kind(down, up)
        if not isinstance(down, (TimeWindow, Dynamic)):
            missing = [
                key for key in down.get_partition_keys(ends.dynamic) if not up.validate_partition_key(key)
            ]
            if missing:
                raise PartitionValidationError(
                    f"The upstream has no partition {str(missing[0])!r}; name its mapping, "
                    "or use PartitionMapping.subset()"
                )

    def load(self, key: PartitionKey | None, ends: Ends) -> Load:  # noqa: D102
        if ends.upstream is None or key is None:
            return WHOLE
        if not ends.upstream.validate_partition_key(key, ends.dynamic):
            raise PartitionValidationError(f"The upstream has no partition {str(key)!r}")
        return Load(key)


@dataclass(frozen=True)
class AllPartitions(PartitionMapping):
    """The whole upstream."""

    def check(self, ends: Ends) -> None:  # noqa: D102
        partitioned(ends.upstream, "all_partitions()", "upstream")

    def load(self, key: PartitionKey | None, ends: Ends) -> Load:  # noqa: ARG002, D102
        return WHOLE


@dataclass(frozen=True)
class StaticMapping(PartitionMapping):
    """Keys by key."""

    mapping: tuple[tuple[str, str], ...]

    def check(self, ends: Ends) -> None:  # noqa: D102
        down, up = both_partitioned(ends, "static_()")
        one_dimension(down, "static_()")
        one_dimension(up, "static_()")
        targets = dict(self.mapping)
        if not isinstance(up, Dynamic):
            for target in targets.values():
                if not up.has(target):
                    raise PartitionValidationError(
                        f"static_() leads to {target!r}, which the upstream has not"
                    )
        if not isinstance(down, (Dynamic, TimeWindow)):
            holes = [key for key in down.texts() if key not in targets]
            if holes:
                raise PartitionValidationError(
                    f"static_() says nothing about {holes[0]!r}; name its upstream key"
                )

    def load(self, key: PartitionKey | None, ends: Ends) -> Load:  # noqa: ARG002, D102
        targets = dict(self.mapping)
        keys = needed(key, "static_()").key
        for one in keys:
            if one not in targets:
                raise PartitionValidationError(f"static_() says nothing about {one!r}; name its upstream key")
        return Load(PartitionKey.single([targets[one] for one in keys]))


@dataclass(frozen=True)
class TimeWindowMapping(PartitionMapping):
    """A window earlier or later."""

    offset: int

    def check(self, ends: Ends) -> None:  # noqa: D102
        down, up = both_partitioned(ends, "time_window()")
        if not (isinstance(down, TimeWindow) and isinstance(up, TimeWindow)):
            raise PartitionValidationError("time_window() needs time windows on both sides")
        same_kind(down, up)

    def load(self, key: PartitionKey | None, ends: Ends) -> Load:  # noqa: D102
        up = windows(ends.upstream)
        keys = needed(key, "time_window()").key
        return Load(PartitionKey.single([self._shifted(one, up) for one in keys]))

    def _shifted(self, key: str, up: TimeWindow) -> str:
        start = up.grid.parse(key)
        moved = up.grid.key(up.grid.shifted(start, self.offset)) if start else key
        if not start or not up.has(moved):
            raise PartitionValidationError(
                f"{self.offset:+d} windows from {key!r} is {moved!r}, which the upstream has not"
            )
        return moved


@dataclass(frozen=True)
class SpecificPartitions(PartitionMapping):
    """Some keys, for an asset without partitions."""

    partition_keys: tuple[str, ...]

    def check(self, ends: Ends) -> None:  # noqa: D102
        if ends.downstream is not None:
            raise PartitionValidationError("specific_partitions() is for an asset without partitions")
        up = partitioned(ends.upstream, "specific_partitions()", "upstream")
        if not isinstance(up, Dynamic) and not up.validate_partition_key(
            PartitionKey.single(self.partition_keys)
        ):
            raise PartitionValidationError(
                f"The upstream has not all of the partitions {', '.join(self.partition_keys)}"
            )

    def load(self, key: PartitionKey | None, ends: Ends) -> Load:  # noqa: ARG002, D102
        return Load(PartitionKey.single(self.partition_keys))


@dataclass(frozen=True)
class ForKeys(PartitionMapping):
    """An unpartitioned upstream, for some keys only."""

    selectors: tuple[PartitionKey | PartitionKeyRange, ...]

    def check(self, ends: Ends) -> None:  # noqa: D102
        partitioned(ends.downstream, "for_keys()", "downstream")
        if ends.upstream is not None:
            raise PartitionValidationError("for_keys() is for an upstream without partitions; see subset()")

    def load(self, key: PartitionKey | None, ends: Ends) -> Load:  # noqa: D102
        down = partitioned(ends.downstream, "for_keys()", "downstream")
        for wanted in needed(key, "for_keys()"):
            for selector in self.selectors:
                keys = (
                    down.in_range(selector, ends.dynamic)
                    if isinstance(selector, PartitionKeyRange)
                    else selector
                )
                if wanted in keys:
                    return WHOLE
        return ABSENT


@dataclass(frozen=True)
class Subset(PartitionMapping):
    """The same key, where the upstream has it."""

    def check(self, ends: Ends) -> None:  # noqa: D102
        down, up = both_partitioned(ends, "subset()")
        same_kind(down, up)
        if not isinstance(up, (TimeWindow, Dynamic)):
            foreign = [key for key in up.get_partition_keys() if not down.validate_partition_key(key)]
            if foreign:
                raise PartitionValidationError(
                    f"subset(): the upstream's {str(foreign[0])!r} is no key downstream"
                )

    def load(self, key: PartitionKey | None, ends: Ends) -> Load:  # noqa: D102
        up = partitioned(ends.upstream, "subset()", "upstream")
        found = [one for one in needed(key, "subset()") if up.validate_partition_key(one, ends.dynamic)]
        return Load(PartitionKey.set_of(found) if len(found) > 1 else found[0]) if found else ABSENT


@dataclass(frozen=True)
class MultiMapping(PartitionMapping):
    """Dimension by dimension: (upstream dimension, downstream dimension, mapping)."""

    dimension_mappings: tuple[tuple[str, str, PartitionMapping], ...]

    def check(self, ends: Ends) -> None:  # noqa: D102
        down, up = both_partitioned(ends, "multi()")
        if not (isinstance(down, Multi) and isinstance(up, Multi)):
            raise PartitionValidationError(
                "multi() needs several dimensions on both sides; see multi_to_single()"
            )
        named, there = {name for name, _, _ in self.dimension_mappings}, {name for name, _ in up.dimensions}
        if named != there:
            raise PartitionValidationError(
                f"multi() names each upstream dimension: there are {sorted(there)}, named are {sorted(named)}"
            )
        for name, source, mapping in self.dimension_mappings:
            mapping.check(of_dimensions(ends, source, name))

    def load(self, key: PartitionKey | None, ends: Ends) -> Load:  # noqa: D102
        wanted = needed(key, "multi()")
        found = {}
        for name, source, mapping in self.dimension_mappings:
            inner = mapping.load(PartitionKey.single(wanted.of(source)), of_dimensions(ends, source, name))
            if inner.absent:
                return ABSENT
            found[name] = inner.key.key if inner.key else dimension(ends.upstream, name).texts(ends.dynamic)
        return Load(PartitionKey.multi(found))


@dataclass(frozen=True)
class MultiToSingle(PartitionMapping):
    """One dimension of one side, all of the other."""

    dimension_name: str
    partition_mapping: PartitionMapping

    def check(self, ends: Ends) -> None:  # noqa: D102
        down, up = both_partitioned(ends, "multi_to_single()")
        if isinstance(down, Multi) is isinstance(up, Multi):
            raise PartitionValidationError("multi_to_single() needs several dimensions on exactly one side")
        self.partition_mapping.check(self._inner(ends))

    def load(self, key: PartitionKey | None, ends: Ends) -> Load:  # noqa: D102
        wanted = needed(key, "multi_to_single()")
        if isinstance(ends.downstream, Multi):
            return self.partition_mapping.load(
                PartitionKey.single(wanted.of(self.dimension_name)), self._inner(ends)
            )
        inner = self.partition_mapping.load(wanted, self._inner(ends))
        if inner.absent:
            return ABSENT
        up = several(ends.upstream)
        keys = {name: definition.texts(ends.dynamic) for name, definition in up.dimensions}
        if inner.key:
            keys[self.dimension_name] = inner.key.key
        return Load(PartitionKey.multi(keys))

    def _inner(self, ends: Ends) -> Ends:
        if isinstance(ends.downstream, Multi):
            return Ends(dimension(ends.downstream, self.dimension_name), ends.upstream, ends.dynamic)
        return Ends(ends.downstream, dimension(ends.upstream, self.dimension_name), ends.dynamic)


def check_edge(mapping: PartitionMapping | None, ends: Ends) -> None:
    """Look whether an edge can be loaded with this mapping, or with none.

    Raises:
        PartitionValidationError: saying which rule it breaks, and the way out.
    """
    if mapping is not None:
        mapping.check(ends)
    elif ends.upstream is not None:
        if ends.downstream is None:
            raise PartitionValidationError(
                "An asset without partitions needs a mapping to read one with partitions: "
                "PartitionMapping.all_partitions() or specific_partitions([...])"
            )
        Identity().check(ends)


def load_of_edge(mapping: PartitionMapping | None, key: PartitionKey | None, ends: Ends) -> Load:
    """Return what to load of the upstream; see :meth:`PartitionMapping.load`."""
    if mapping is None:
        return Identity().load(key, ends) if ends.upstream is not None else WHOLE
    return mapping.load(key, ends)


for _name, _class in {
    "Identity": Identity,
    "AllPartitions": AllPartitions,
    "Static": StaticMapping,
    "TimeWindow": TimeWindowMapping,
    "SpecificPartitions": SpecificPartitions,
    "ForKeys": ForKeys,
    "Subset": Subset,
    "Multi": MultiMapping,
    "MultiToSingle": MultiToSingle,
}.items():
    setattr(PartitionMapping, _name, _class)

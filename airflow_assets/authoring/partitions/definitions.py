"""The parts that an asset is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import product
from typing import ClassVar

from airflow_assets.authoring.checks import list_of, of_type
from airflow_assets.authoring.errors import PartitionDefinitionError
from airflow_assets.authoring.partitions.keys import RESERVED, PartitionKey, PartitionKeyRange
from airflow_assets.authoring.partitions.windows import Grid, Window

DynamicKeys = Callable[[str], Sequence[str]]
"""Gives the keys that are registered under the name of a dynamic definition, in their order."""


class PartitionsDefinition:
    """What partitions an asset has; made by one of the static methods, compared by value.

    >>> daily = PartitionsDefinition.daily(datetime(2026, 1, 1), end=datetime(2026, 1, 3))
    >>> [str(key) for key in daily.get_partition_keys()]
    ['2026-01-01', '2026-01-02']
    """

    Static: ClassVar[type[Static]]
    TimeWindow: ClassVar[type[TimeWindow]]
    Multi: ClassVar[type[Multi]]
    Dynamic: ClassVar[type[Dynamic]]

    @staticmethod
    def static_(keys: Sequence[str]) -> PartitionsDefinition:
        """Return a definition of fixed keys, in their order.

        Raises:
            PartitionDefinitionError: no key, an empty one, or one with a ``|`` or ``,``.
        """
        return Static(tuple(dict.fromkeys(_allowed(key) for key in list_of(keys, str, "static_"))))

    @staticmethod
    def daily(start: datetime, end: datetime | None = None, fmt: str | None = None) -> PartitionsDefinition:
        """Return a definition of days in UTC, named like ``2026-01-31``; see :meth:`time_window`."""
        return PartitionsDefinition.time_window(
            start, cron_schedule="0 0 * * *", end=end, fmt=fmt or "%Y-%m-%d"
        )

    @staticmethod
    def hourly(start: datetime, end: datetime | None = None, fmt: str | None = None) -> PartitionsDefinition:
        """Return a definition of hours in UTC, named like ``2026-01-31T13:00``; see :meth:`time_window`."""
        fmt = fmt or "%Y-%m-%dT%H:00"
        return PartitionsDefinition.time_window(start, cron_schedule="0 * * * *", end=end, fmt=fmt)

    @staticmethod
    def time_window(
        start: datetime,
        cron_schedule: str | None = None,
        interval_seconds: float | None = None,
        end: datetime | None = None,
        fmt: str | None = None,
    ) -> PartitionsDefinition:
        """Return a definition of time windows that begin at each tick from ``start`` on.

        :param start: naive, which means UTC; the first window is the first tick at or after it.
        :param cron_schedule: five or six fields; either this or ``interval_seconds``.
        :param end: naive UTC; no window begins at or after it. Without one, the windows so far.
        :param fmt: ``strftime`` format of a window's start, its key; default ISO with seconds.

        Raises:
            PartitionDefinitionError: both or neither of cron and interval, a bad one, or a format that gives
                two windows the same key.
            TypeError: a datetime with a zone.
        """
        interval = None if interval_seconds is None else timedelta(seconds=interval_seconds)
        return TimeWindow(Grid(start, fmt or "%Y-%m-%dT%H:%M:%S", cron_schedule, interval, end))

    @staticmethod
    def multi(dimensions: Mapping[str, PartitionsDefinition]) -> PartitionsDefinition:
        """Return the product of several definitions, by the names of their dimensions.

        Raises:
            PartitionDefinitionError: no dimension, a name with ``|``, ``,`` or ``=``, or one that is itself
                multi-dimensional.
        """
        of_type(dimensions, (Mapping,), "multi")
        if not dimensions:
            raise PartitionDefinitionError("multi needs at least one dimension")
        for name, definition in dimensions.items():
            _allowed(name, RESERVED + "=", "the name of a dimension")
            if isinstance(of_type(definition, PartitionsDefinition, f"dimension {name!r}"), Multi):
                raise PartitionDefinitionError(
                    f"Dimension {name!r} is itself multi-dimensional; name its dimensions here"
                )
        return Multi(tuple(dimensions.items()))

    @staticmethod
    def dynamic(name: str) -> PartitionsDefinition:
        """Return a definition whose keys are registered in the storage under the name.

        Raises:
            PartitionDefinitionError: the name is empty.
        """
        if not of_type(name, str, "dynamic"):
            raise PartitionDefinitionError("A dynamic definition needs a name to register its keys under")
        return Dynamic(name)

    def get_partition_keys(self, dynamic: DynamicKeys | None = None) -> list[PartitionKey]:
        """Return all single keys, in their order.

        :param dynamic: gives the registered keys of dynamic definitions.

        Raises:
            NotImplementedError: a dynamic definition, without ``dynamic``.
        """
        return [PartitionKey.single(key) for key in self.texts(dynamic)]

    def validate_partition_key(self, key: PartitionKey, dynamic: DynamicKeys | None = None) -> bool:
        """Tell whether every partition that the key stands for is one of the definition."""
        of_type(key, PartitionKey, "validate_partition_key")
        return not key.is_multi and all(self.has(text, dynamic) for text in key.key)

    def texts(self, dynamic: DynamicKeys | None = None) -> list[str]:
        """Return the keys of the one dimension."""
        raise NotImplementedError

    def has(self, key: str, dynamic: DynamicKeys | None = None) -> bool:
        """Tell whether the one dimension has the key."""
        return key in self.texts(dynamic)

    def in_range(self, wanted: PartitionKeyRange, dynamic: DynamicKeys | None = None) -> list[PartitionKey]:
        """Return the keys from one to another.

        Raises:
            PartitionDefinitionError: an end is no key, or they are the wrong way round.
        """
        ranges = dict(wanted.dimensions)
        if set(ranges) != {""}:
            raise PartitionDefinitionError("A definition with one dimension takes PartitionKeyRange.single")
        return [PartitionKey.single(key) for key in _between(self, ranges[""], dynamic)]


@dataclass(frozen=True)
class Static(PartitionsDefinition):
    """Fixed keys."""

    keys: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.keys:
            raise PartitionDefinitionError("static_ needs at least one key")

    def texts(self, dynamic: DynamicKeys | None = None) -> list[str]:  # noqa: ARG002, D102
        return list(self.keys)


@dataclass(frozen=True)
class TimeWindow(PartitionsDefinition):
    """Windows of time."""

    grid: Grid

    @property
    def start(self) -> datetime:
        """No window begins earlier."""
        return self.grid.start

    @property
    def end(self) -> datetime | None:
        """No window begins at or after it."""
        return self.grid.end

    @property
    def fmt(self) -> str:
        """The format of a key."""
        return self.grid.fmt

    @property
    def cron_schedule(self) -> str | None:
        """The ticks, where a cron gives them."""
        return self.grid.cron

    @property
    def interval_seconds(self) -> float | None:
        """The distance of the ticks, where they are even."""
        return self.grid.interval.total_seconds() if self.grid.interval else None

    def texts(self, dynamic: DynamicKeys | None = None) -> list[str]:  # noqa: ARG002, D102
        return self.grid.keys()

    def has(self, key: str, dynamic: DynamicKeys | None = None) -> bool:  # noqa: ARG002, D102
        return self.grid.window(key) is not None

    def window(self, key: str) -> Window | None:
        """Return start and end (exclusive) of a key's window, naive UTC."""
        return self.grid.window(key)


@dataclass(frozen=True)
class Dynamic(PartitionsDefinition):
    """Keys that are registered while the system runs."""

    name: str

    def texts(self, dynamic: DynamicKeys | None = None) -> list[str]:  # noqa: D102
        if dynamic is None:
            raise NotImplementedError(
                f"The keys of the dynamic definition {self.name!r} are in a storage: ask "
                "repo.storage.get_dynamic_partitions(...)"
            )
        return list(dynamic(self.name))


@dataclass(frozen=True)
class Multi(PartitionsDefinition):
    """The product of definitions."""

    dimensions: tuple[tuple[str, PartitionsDefinition], ...]

    def get_partition_keys(self, dynamic: DynamicKeys | None = None) -> list[PartitionKey]:  # noqa: D102
        names = [name for name, _ in self.dimensions]
        keys = [definition.texts(dynamic) for _, definition in self.dimensions]
        return [PartitionKey.multi(dict(zip(names, one, strict=True))) for one in product(*keys)]

    def validate_partition_key(self, key: PartitionKey, dynamic: DynamicKeys | None = None) -> bool:  # noqa: D102
        of_type(key, PartitionKey, "validate_partition_key")
        parts = key.combinations or (key,)
        return all(self._fits(part, dynamic) for part in parts)

    def _fits(self, key: PartitionKey, dynamic: DynamicKeys | None) -> bool:
        if {name for name, _ in key.dimensions} != {name for name, _ in self.dimensions}:
            return False
        return all(
            definition.has(text, dynamic) for name, definition in self.dimensions for text in key.of(name)
        )

    def dimension(self, name: str) -> PartitionsDefinition:
        """Return the definition of one dimension.

        Raises:
            PartitionDefinitionError: there is none of the name.
        """
        found = dict(self.dimensions).get(name)
        if found is None:
            raise PartitionDefinitionError(
                f"There is no dimension {name!r}; there are {sorted(dict(self.dimensions))}"
            )
        return found

    def in_range(self, wanted: PartitionKeyRange, dynamic: DynamicKeys | None = None) -> list[PartitionKey]:  # noqa: D102
        ranges = dict(wanted.dimensions)
        for name in ranges:
            self.dimension(name)
        names = [name for name, _ in self.dimensions]
        keys = [
            _between(definition, ranges[name], dynamic) if name in ranges else definition.texts(dynamic)
            for name, definition in self.dimensions
        ]
        return [PartitionKey.multi(dict(zip(names, one, strict=True))) for one in product(*keys)]


def _between(
    definition: PartitionsDefinition, wanted: tuple[str, str] | list[str], dynamic: DynamicKeys | None
) -> list[str]:
    keys = definition.texts(dynamic)
    for key in wanted:
        if key not in keys:
            raise PartitionDefinitionError(
                f"{key!r} is no partition of the definition, which has {_shown(keys)}"
            )
    if isinstance(wanted, list):
        return wanted
    first, last = keys.index(wanted[0]), keys.index(wanted[1])
    if first > last:
        raise PartitionDefinitionError(f"The range begins with {wanted[0]!r}, after its end {wanted[1]!r}")
    return keys[first : last + 1]


def _shown(keys: Sequence[str]) -> str:
    return f"{', '.join(map(repr, keys[:5]))}{', ...' if len(keys) > 5 else ''}" if keys else "none"


def _allowed(text: str, reserved: str = RESERVED, what: str = "a partition key") -> str:
    if not text:
        raise PartitionDefinitionError(f"{what} is never empty")
    found = sorted(set(text) & set(reserved))
    if found:
        raise PartitionDefinitionError(
            f"{what} has none of {' '.join(reserved)}, but {text!r} has {found[0]!r}"
        )
    return text


for _class in (Static, TimeWindow, Multi, Dynamic):
    setattr(PartitionsDefinition, _class.__name__, _class)

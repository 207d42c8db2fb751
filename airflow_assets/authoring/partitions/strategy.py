"""How the partitions of a backfill are shared out among runs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, ClassVar

from airflow_assets.authoring.checks import list_of
from airflow_assets.authoring.errors import ExecutionError, PartitionDefinitionError
from airflow_assets.authoring.partitions.keys import PartitionKey

if TYPE_CHECKING:
    from collections.abc import Sequence


class BackfillStrategy:
    """What one run of a backfill covers; made by one of the static methods, compared by value.

    >>> keys = [PartitionKey.single("a"), PartitionKey.single("b")]
    >>> [str(key) for key in BackfillStrategy.single_run().runs(keys)]
    ['a,b']
    """

    MultiRun: ClassVar[type[BackfillStrategy]]
    SingleRun: ClassVar[type[BackfillStrategy]]
    PerDimension: ClassVar[type[BackfillStrategy]]

    @staticmethod
    def multi_run() -> BackfillStrategy:
        """Return the strategy of one run for each partition; the default."""
        return MultiRun()

    @staticmethod
    def single_run() -> BackfillStrategy:
        """Return the strategy of one run for all partitions."""
        return SingleRun()

    @staticmethod
    def per_dimension(multi_run: Sequence[str], single_run: Sequence[str]) -> BackfillStrategy:
        """Return the strategy of a run for each combination of some dimensions, with all keys of the others.

        Raises:
            PartitionDefinitionError: one of the lists is empty, or a dimension is in both.
        """
        each, together = list_of(multi_run, str, "multi_run"), list_of(single_run, str, "single_run")
        if not each or not together:
            raise PartitionDefinitionError("per_dimension needs dimensions in multi_run and in single_run")
        both = sorted({*each} & {*together})
        if both:
            raise PartitionDefinitionError(f"Dimension {both[0]!r} is in multi_run and in single_run")
        return PerDimension(tuple(each), tuple(together))

    def runs(self, keys: Sequence[PartitionKey]) -> list[PartitionKey]:
        """Return the key of each run for these single partitions.

        Raises:
            ExecutionError: a dimension that the partitions have not.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class MultiRun(BackfillStrategy):
    """A run for each partition."""

    def runs(self, keys: Sequence[PartitionKey]) -> list[PartitionKey]:  # noqa: D102
        return list(keys)


@dataclass(frozen=True)
class SingleRun(BackfillStrategy):
    """One run."""

    def runs(self, keys: Sequence[PartitionKey]) -> list[PartitionKey]:  # noqa: D102
        return [together(keys)] if keys else []


@dataclass(frozen=True)
class PerDimension(BackfillStrategy):
    """A run for each combination of the dimensions in ``multi_run_dims``."""

    multi_run_dims: tuple[str, ...]
    single_run_dims: tuple[str, ...]

    def runs(self, keys: Sequence[PartitionKey]) -> list[PartitionKey]:  # noqa: D102
        known = {name for key in keys for name, _ in key.dimensions}
        unknown = sorted({*self.multi_run_dims, *self.single_run_dims} - known)
        if keys and unknown:
            raise ExecutionError(f"per_dimension names {unknown[0]!r}; the partitions have {sorted(known)}")
        parts = [(tuple(key.of(name) for name in self.multi_run_dims), key) for key in keys]
        parts.sort(key=lambda part: part[0])
        return [together([key for _, key in group]) for _, group in groupby(parts, key=lambda part: part[0])]


def together(keys: Sequence[PartitionKey]) -> PartitionKey:
    """Return one key that stands for exactly these partitions: their product where they are one."""
    names = [name for name, _ in keys[0].dimensions]
    dimensions = {name: tuple(dict.fromkeys(key.of(name)[0] for key in keys)) for name in names}
    whole = PartitionKey(tuple(dimensions.items()))
    return whole if len(whole) == len({*keys}) else PartitionKey.set_of(keys)


for _class in (MultiRun, SingleRun, PerDimension):
    setattr(BackfillStrategy, _class.__name__, _class)

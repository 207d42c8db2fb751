"""Where the steps of a local run are run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from airflow_assets.authoring.checks import optional
from airflow_assets.authoring.errors import ConfigurationError

NAMES = ("in_process", "parallel")
METADATA, NODE_METADATA = "rivers/executor", "rivers/node/executor"
"""The static metadata by which an asset, or the tasks of a graph asset, choose for themselves."""


class Executor:
    """Where steps run; made by one of the static methods, compared by value. Airflow has its own.

    >>> Executor.parallel(max_workers=2)
    Parallel(max_workers=2, max_async_concurrent=None)
    """

    InProcess: ClassVar[type[InProcess]]
    Parallel: ClassVar[type[Parallel]]
    name: ClassVar[str] = ""

    @staticmethod
    def in_process() -> Executor:
        """Return the executor that runs one step after the other in this process; the default."""
        return InProcess()

    @staticmethod
    def parallel(max_workers: int | None = None, max_async_concurrent: int | None = None) -> Executor:
        """Return the executor that runs steps in several processes, which are forked from this one.

        Steps that store or load in memory run in this process all the same: their values are here.

        :param max_workers: processes; default the number of processors.
        :param max_async_concurrent: accepted; an asynchronous body has its process for itself.

        Raises:
            ConfigurationError: a number below 1.
        """
        return Parallel(max_workers, max_async_concurrent)


@dataclass(frozen=True)
class InProcess(Executor):
    """One step after the other, here."""

    name: ClassVar[str] = "in_process"


@dataclass(frozen=True)
class Parallel(Executor):
    """Several processes."""

    max_workers: int | None = None
    max_async_concurrent: int | None = None
    name: ClassVar[str] = "parallel"

    def __post_init__(self) -> None:
        for what in ("max_workers", "max_async_concurrent"):
            value = optional(getattr(self, what), int, what)
            if value is not None and value < 1:
                raise ConfigurationError(f"Executor.parallel: {what} is 1 or more, not {value}")


for _class in (InProcess, Parallel):
    setattr(Executor, _class.__name__, _class)

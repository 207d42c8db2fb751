"""The steps inside a graph asset."""

from __future__ import annotations

import inspect
import subprocess
from typing import TYPE_CHECKING, Any, TypeVar

from airflow_assets.authoring.actions import checked_retry
from airflow_assets.authoring.checks import list_of, of_type, optional, texts
from airflow_assets.authoring.errors import TaskDefinitionError
from airflow_assets.authoring.handlers.base import checked_handler
from airflow_assets.authoring.partitions.definitions import PartitionsDefinition
from airflow_assets.authoring.tracing import InvokedNodeOutput, tracing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from airflow_assets.authoring.partitions.mappings import PartitionMapping
    from airflow_assets.authoring.retries import RetryPolicy

K = TypeVar("K", bound="Task")


class Task:
    """A function as a step of graph assets, or a decorator that makes one; elsewhere it is just the function.

    >>> @Task
    ... def double(x): return 2 * x
    >>> double(4)
    8
    """

    def __init__(  # noqa: PLR0917 - the contract's order
        self,
        wraps: Callable[..., Any] | None = None,
        name: str | None = None,
        tags: Sequence[str] | None = None,
        partitions_def: PartitionsDefinition | str | None = None,
        partition_mapping: Mapping[str, PartitionMapping] | None = None,
        io_handler: Any = None,
        retry: RetryPolicy | str | None = None,
    ) -> None:
        if wraps is not None and not callable(wraps):
            raise TaskDefinitionError(f"Task takes a function, not {wraps!r}")
        self.function = wraps
        self._name = optional(name, str, "name")
        self.tags = None if tags is None else list_of(tags, str, "tags")
        self.partitions_def: PartitionsDefinition | str | None = optional(
            partitions_def, (PartitionsDefinition, str), "partitions_def"
        )
        self.partition_mapping = dict(partition_mapping) if partition_mapping else None
        self.io_handler = checked_handler(io_handler, f"task {name!r}")
        self.retry = checked_retry(retry, f"task {name!r}")

    @property
    def name(self) -> str:
        """What the step is called.

        Raises:
            TaskDefinitionError: a decorator has no name.
        """
        found = self._name or getattr(self.function, "__name__", None)
        if not found:
            raise TaskDefinitionError("This Task has no name: give it one, or apply it to a function")
        return str(found)

    @property
    def is_async(self) -> bool:
        """Whether the function is a coroutine."""
        return inspect.iscoroutinefunction(self.function)

    @property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        """The parameters of the function."""
        return inspect.signature(self.function).parameters if self.function else {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """In a graph body, write down a step; with one function, decorate it; else run the function.

        Raises:
            TaskDefinitionError: a decorator that gets anything but one function, or arguments that the
                function does not take.
        """
        trace = tracing()
        if self.function is None:
            if kwargs or len(args) != 1 or not callable(args[0]):
                raise TaskDefinitionError("The Task decorator takes exactly one function")
            return self._applied(args[0])
        if trace is None:
            return self.run(*args, **kwargs)
        return trace.called(self, self._wired(args, kwargs))

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Run the function."""
        if self.function is None:
            raise TaskDefinitionError("This Task has no function")
        return self.function(*args, **kwargs)

    def _applied(self, function: Callable[..., Any]) -> Task:
        made = object.__new__(type(self))
        made.__dict__.update(vars(self), function=function)
        return made

    def _wired(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        names = [name for name in self.parameters if name != "context"]
        if len(args) > len(names):
            raise TaskDefinitionError(f"Task {self.name!r} takes {len(names)} inputs, not {len(args)}")
        wired = dict(zip(names, args, strict=False))
        for name, value in kwargs.items():
            if name not in names or name in wired:
                raise TaskDefinitionError(
                    f"Task {self.name!r} has no free parameter {name!r}; it has {names}"
                )
            wired[name] = value
        return wired

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._name or getattr(self.function, '__name__', '?')!r}>"


class BashTask(Task):
    """A shell command as a step; it returns what the command printed, without the last newline.

    :param command: a text goes to the shell, a list is run as it is.

    Raises:
        TaskDefinitionError: an empty command.
        OSError: when it runs: the command ended with another status than 0.

    >>> BashTask("hello", "echo hi")()
    'hi'
    """

    def __init__(  # noqa: PLR0917 - the contract's order
        self,
        name: str,
        command: str | Sequence[str],
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        tags: Sequence[str] | None = None,
        partition_mapping: Mapping[str, PartitionMapping] | None = None,
        io_handler: Any = None,
        retry: RetryPolicy | str | None = None,
    ) -> None:
        if not of_type(command, (str, list, tuple), "command"):
            raise TaskDefinitionError(f"BashTask {name!r} has an empty command")
        super().__init__(
            self._shell,
            name,
            tags=tags,
            partition_mapping=partition_mapping,
            io_handler=io_handler,
            retry=retry,
        )
        self.command = command if isinstance(command, str) else list_of(command, str, "command")
        self.env = None if env is None else texts(env, "env")
        self.cwd = cwd

    def _shell(self) -> str:
        import os

        done = subprocess.run(  # noqa: S603 - the author's own command
            self.command,
            shell=isinstance(self.command, str),
            env={**os.environ, **self.env} if self.env else None,
            cwd=self.cwd,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise OSError(f"{self.name!r} ended with status {done.returncode}: {done.stderr.strip()[-500:]}")
        return done.stdout.removesuffix("\n")


def stand_in(value: Any) -> bool:
    """Tell whether a wired value is the output of a step, and not a constant."""
    return isinstance(value, InvokedNodeOutput)

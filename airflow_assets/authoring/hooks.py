"""Functions that are called when an asset's step has succeeded or failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from airflow_assets.authoring.checks import optional
from airflow_assets.authoring.errors import AssetDefinitionError

if TYPE_CHECKING:
    from collections.abc import Callable


class Hook:
    """A hook of an asset; made with :meth:`success` or :meth:`failure`, bare or with a name.

    >>> @Hook.failure
    ... def page(ctx): ...
    >>> page.name
    'page'
    """

    Success: ClassVar[type[Hook]]
    Failure: ClassVar[type[Hook]]
    kind: ClassVar[str] = ""

    def __init__(self, function: Callable[..., Any] | None = None, *, name: str | None = None) -> None:
        if type(self) is Hook:
            raise TypeError("Use Hook.success or Hook.failure")
        if function is not None and not callable(function):
            raise AssetDefinitionError(f"Hook.{self.kind} takes a function, not {function!r}")
        self.function = function
        self._name = optional(name, str, "name")

    @staticmethod
    def success(func: Callable[..., Any] | None = None, *, name: str | None = None) -> Hook:
        """Return a hook for a step that has succeeded."""
        return Success(func, name=name)

    @staticmethod
    def failure(func: Callable[..., Any] | None = None, *, name: str | None = None) -> Hook:
        """Return a hook for a step that has failed for the last time."""
        return Failure(func, name=name)

    @property
    def name(self) -> str:
        """What it is called: the name given, or the function's."""
        return self._name or str(getattr(self.function, "__name__", self.kind))

    def __call__(self, function: Callable[..., Any]) -> Hook:
        """Bind the function of a hook that was made with a name only.

        Raises:
            AssetDefinitionError: the hook has a function.
        """
        if self.function is not None:
            raise AssetDefinitionError(f"Hook {self.name!r} has a function already")
        return type(self)(function, name=self._name)

    def __repr__(self) -> str:
        return f"Hook.{type(self).__name__}(name={self.name!r})"


class Success(Hook):
    """Called after an output has been stored and recorded."""

    kind = "success"


class Failure(Hook):
    """Called once, when no try is left."""

    kind = "failure"


Hook.Success, Hook.Failure = Success, Failure

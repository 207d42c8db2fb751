"""The base class of IO handlers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from pydantic_settings import BaseSettings, SettingsConfigDict

if TYPE_CHECKING:
    from airflow_assets.authoring.contexts import InputContext, OutputContext


class BaseIOHandler(BaseSettings, ABC):
    """Stores the outputs of assets and loads them for their readers.

    A handler is a settings model: its fields come from the call, or from the environment. It carries
    configuration, not connections: every process makes its own instance.

    >>> class Notes(BaseIOHandler):
    ...     folder: str
    ...     def handle_output(self, context, obj): ...
    ...     def load_input(self, context): ...
    >>> Notes(folder="/tmp").folder
    '/tmp'
    """

    model_config = SettingsConfigDict(arbitrary_types_allowed=True, extra="forbid")

    @abstractmethod
    def handle_output(self, context: OutputContext, obj: Any) -> None:
        """Store a value."""

    @abstractmethod
    def load_input(self, context: InputContext) -> Any:
        """Return a stored value."""

"""The interface of everything that stores and loads values."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from airflow_assets.authoring.errors import AssetDefinitionError

if TYPE_CHECKING:
    from airflow_assets.authoring.handlers.interface import BaseIOHandler


def checked_handler(handler: Any, owner: str) -> BaseIOHandler | str | None:
    """Return a handler, or the key of the resource that is one.

    Raises:
        AssetDefinitionError: anything else, a class too.
    """
    if handler is None or isinstance(handler, str):
        return handler
    # Whoever has a handler has imported its base class; nobody else pays for it.
    interface = sys.modules.get("airflow_assets.authoring.handlers.interface")
    if interface is not None and isinstance(handler, interface.BaseIOHandler):
        checked: BaseIOHandler = handler
        return checked
    raise AssetDefinitionError(
        f"io_handler of {owner} takes an instance of a BaseIOHandler subclass or the key of a resource, "
        f"not {handler!r}"
    )

"""Values in the memory of one process: the default of a local run, and what tests use."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from pydantic import PrivateAttr

from airflow_assets.authoring.handlers.interface import BaseIOHandler

if TYPE_CHECKING:
    from airflow_assets.authoring.contexts import InputContext, OutputContext


class InMemoryIOHandler(BaseIOHandler):
    """Keeps each value as the object it is, a step for several partitions under each of them.

    Several partitions are loaded as a dict of their values by key, and so is the whole of an asset with
    partitions.
    """

    _values: dict[str, dict[str | None, Any]] = PrivateAttr(default_factory=dict)

    def handle_output(self, context: OutputContext, obj: Any) -> None:
        """Keep the value."""
        kept = self._values.setdefault(context.asset_name, {})
        for key in map(str, context.partition.keys) if context.partition else [None]:
            kept[key] = obj
        context.add_output_metadata({"storage": "memory", "size_bytes": sys.getsizeof(obj)})

    def load_input(self, context: InputContext) -> Any:
        """Return the value.

        Raises:
            FileNotFoundError: there is none; the error names the asset and the partition.
        """
        kept = self._values.get(context.asset_name, {})
        keys = list(map(str, context.partition.keys)) if context.partition else []
        if len(keys) > 1:
            return {key: self._one(context, kept, key) for key in keys}
        if keys:
            return self._one(context, kept, keys[0])
        partitions = {key: value for key, value in kept.items() if key is not None}
        return partitions if partitions and None not in kept else self._one(context, kept, None)

    def _one(self, context: InputContext, kept: dict[str | None, Any], key: str | None) -> Any:
        if key not in kept:
            where = f", partition {key!r}" if key else ""
            raise FileNotFoundError(f"There is no value of {context.asset_name!r}{where} in memory")
        return kept[key]

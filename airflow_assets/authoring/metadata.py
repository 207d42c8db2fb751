"""A step's metadata: values by key, coerced where they come in, stored as one JSON text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from airflow_assets.authoring.checks import of_type
from airflow_assets.authoring.metadata_values import MetadataValue


def coerced(metadata: Mapping[str, Any] | None, what: str = "metadata") -> dict[str, MetadataValue]:
    """Return a metadata dict with every value as a :class:`MetadataValue`; null gives an empty dict.

    Raises:
        TypeError: a key is no string, or a value nothing that can be recorded; the error names the key.
    """
    if metadata is None:
        return {}
    of_type(metadata, (Mapping,), what)
    return {
        of_type(name, str, f"a key of {what}"): MetadataValue.coerce(value, f"{what}[{name!r}]")
        for name, value in metadata.items()
    }


def dumps(metadata: Mapping[str, MetadataValue]) -> str:
    """Return metadata as one JSON text, for a column."""
    return json.dumps({name: value.to_json() for name, value in metadata.items()}, sort_keys=True)


def loads(text: str) -> dict[str, MetadataValue]:
    """Return the metadata of a text of :func:`dumps`."""
    return {name: MetadataValue.from_json(value) for name, value in json.loads(text).items()}

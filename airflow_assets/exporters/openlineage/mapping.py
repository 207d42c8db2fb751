"""Mappings: which metadata keys of a type hold parts of the dataset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow_assets.schemas.assets import Asset

PARTS = frozenset(
    {
        "namespace",
        "name",
        "schema",
        "dataSource",
        "ownership",
        "documentation",
        "tags",
        "lifecycleStateChange",
        "columnLineage",
    }
)


class MissingKeys(Exception):
    """An asset of a mapped type lacks a mapped key, or holds no text where a name is needed."""


class Mappings:
    """Checked mappings of one exporter.

    :raises ValueError: a part that there is not; names exporter, type and part.
    """

    def __init__(self, exporter: str, mappings: Mapping[str, Mapping[str, str]]) -> None:
        for kind, parts in mappings.items():
            if not isinstance(parts, Mapping):
                raise ValueError(
                    f"Exporter {exporter!r}: mappings[{kind!r}] is {parts!r}, not part -> metadata key."
                )
            for part, key in parts.items():
                if part not in PARTS:
                    raise ValueError(
                        f"Exporter {exporter!r}: mappings[{kind!r}] has the part {part!r}; known are "
                        f"{', '.join(sorted(PARTS))}."
                    )
                if not key or not isinstance(key, str):
                    raise ValueError(
                        f"Exporter {exporter!r}: mappings[{kind!r}][{part!r}] is {key!r}, not a metadata key."
                    )
        self._mappings = {kind: dict(parts) for kind, parts in mappings.items()}

    def of(self, asset_id: str, kind: str | None, asset: Asset | None) -> dict[str, Any]:
        """Return the mapped parts of an asset.

        :raises MissingKeys: naming asset, type and every key it lacks.
        """
        parts = self._mappings.get(kind or "", {})
        metadata = asset.metadata if asset else {}
        lacking = sorted({key for key in parts.values() if metadata.get(key) is None})
        if lacking:
            raise MissingKeys(
                f"The asset {asset_id!r} of the mapped type {kind!r} has no metadata key "
                f"{', '.join(map(repr, lacking))}."
            )
        found = {part: metadata[key] for part, key in parts.items()}
        for part in ("namespace", "name"):
            if part in found and not (isinstance(found[part], str) and found[part].strip()):
                raise MissingKeys(
                    f"The asset {asset_id!r} of the mapped type {kind!r} has {found[part]!r} under the "
                    f"metadata key {parts[part]!r}, which is no {part} of a dataset."
                )
        return found

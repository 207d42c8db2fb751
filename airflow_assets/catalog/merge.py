"""What a write makes of what is stored: the rules of an upsert, and the difference it made. No I/O.

Metadata merges recursively: objects member by member, arrays as a union (stored items keep their order, new
ones follow), anything else is replaced. A ``null`` at the top level removes its key; a ``null`` inside an
object is ignored.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from airflow_assets.catalog.values import equal, value_hash
from airflow_assets.schemas import rules

if TYPE_CHECKING:
    from datetime import datetime

    from airflow_assets.catalog.states import AssetState
    from airflow_assets.schemas.assets import AssetInput, AssetUpdate

_SURELY_SMALL = rules.MAX_METADATA_BYTES // 4
"""As many characters cannot be too many bytes; merging nests nothing deeper than one of the two was."""
Diff = dict[str, list[Any]]
"""Member -> [old, new]; metadata by top-level key as ``metadata.<key>``; names as in JSON."""

_MEMBERS = (
    ("id", "id"),
    ("type", "type"),
    ("namespace", "namespace"),
    ("displayName", "display_name"),
    ("description", "description"),
    ("uri", "uri"),
    ("group", "group"),
    ("deleted", "deleted"),
)


def merge_metadata(stored: dict[str, Any], incoming: dict[str, Any]) -> dict[str, Any]:
    """Return ``incoming`` merged over ``stored``.

    >>> merge_metadata({"tags": ["a"], "owner": "x"}, {"tags": ["b"], "owner": None, "tier": 1})
    {'tags': ['a', 'b'], 'tier': 1}
    """
    merged = dict(stored)
    for key, value in incoming.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merge_value(merged[key], value) if key in merged else value
    return merged


def merge_asset(
    stored: AssetState, incoming: AssetInput | AssetUpdate, now: datetime, *, clears_namespace: bool = False
) -> AssetState:
    """Return the asset after the write: what is left out stays, a deleted asset lives again.

    :param clears_namespace: an explicit ``namespace: null`` makes the asset tenant-global.
    """
    metadata = stored.metadata
    if incoming.metadata:
        metadata = merge_metadata(stored.metadata, incoming.metadata)
        check_size(metadata)
    given = incoming.model_fields_set
    cleared = clears_namespace and "namespace" in given and incoming.namespace is None
    return replace(
        stored,
        type=_merged_type(stored.type, incoming.type),
        namespace=None if cleared else _kept(incoming.namespace, stored.namespace),
        display_name=_kept(incoming.display_name, stored.display_name),
        description=_kept(incoming.description, stored.description),
        metadata=metadata,
        uri=_kept(incoming.uri, stored.uri),
        group=_kept(incoming.group, stored.group),
        updated=now,
        deleted=False,
    )


def check_size(metadata: dict[str, Any]) -> None:
    """Refuse metadata that only became too large by merging.

    Raises:
        InvalidAsset: naming the limit.
    """
    if len(metadata) > rules.MAX_METADATA_KEYS or len(rules.json_text(metadata)) > _SURELY_SMALL:
        rules.metadata(metadata)


def diff(before: AssetState | None, after: AssetState) -> Diff:
    """Return what changed; of a new asset every member that is set, from null."""
    changes: Diff = {}
    for name, attribute in _MEMBERS:
        old = getattr(before, attribute) if before else None
        new = getattr(after, attribute)
        if old != new and (before or new):
            changes[name] = [old, new]
    old_metadata = before.metadata if before else {}
    if old_metadata is not after.metadata:
        changes.update(_metadata_diff(old_metadata, after.metadata))
    return changes


def _metadata_diff(old: dict[str, Any], new: dict[str, Any]) -> Diff:
    keys = [*old, *(key for key in new if key not in old)]
    return {
        f"metadata.{key}": [old.get(key), new.get(key)]
        for key in keys
        if key not in old or key not in new or not equal(old[key], new[key])
    }


def _kept(incoming: str | None, stored: str | None) -> str | None:
    return stored if incoming is None else incoming


def _merged_type(stored: str, incoming: str | None) -> str:
    """A placeholder never replaces what somebody said about the asset."""
    return stored if incoming is None or incoming == rules.EXTERNAL_TYPE else incoming


def _merge_value(stored: Any, incoming: Any) -> Any:
    if isinstance(stored, dict) and isinstance(incoming, dict):
        return _merge_objects(stored, incoming)
    if isinstance(stored, list) and isinstance(incoming, list):
        return _union(stored, incoming)
    return incoming


def _merge_objects(stored: dict[str, Any], incoming: dict[str, Any]) -> dict[str, Any]:
    merged = dict(stored)
    for key, value in incoming.items():
        if value is not None:
            merged[key] = _merge_value(merged[key], value) if key in merged else value
    return merged


def _union(stored: list[Any], incoming: list[Any]) -> list[Any]:
    seen = {value_hash(item) for item in stored}
    merged = list(stored)
    for item in incoming:
        identity = value_hash(item)
        if identity not in seen:
            seen.add(identity)
            merged.append(item)
    return merged

"""What a Dag author declared about an asset, as it lies in the ``extra`` of a native Airflow ``Asset``.

Airflow serializes an asset as name, uri, group and extra, so this is the one place where a declaration
survives the way from the Dag file to the serialized Dag (read by the reconciler) and to the task. The types
of
:mod:`airflow_assets.types` write it with :func:`extra_of`; everybody reads it with :func:`from_native`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from airflow_assets.schemas.assets import AssetInput, AssetRef
from airflow_assets.schemas.case import camel, snake
from airflow_assets.schemas.masking import ascii_name
from airflow_assets.schemas.rules import EXTERNAL_TYPE

EXTRA_KEY = "airflow_assets"
"""The key of the ``extra`` of an asset under which our types keep what they declare."""
MARKER_GROUPS = frozenset({"airflow_assets.event", "airflow_assets.freshness", "airflow_assets.script"})
"""The groups of the markers that stand for triggers in schedules: no data, never recorded."""
NATIVE_GROUP = "asset"
MAX_NATIVE_NAME = 1_500

_FIELDS = ("id", "type", "namespace", "display_name", "description", "uri", "group")
_TEMPLATE = re.compile(r"\{\{|\{%|\{#")


@dataclass(frozen=True)
class Declared:
    """An asset as declared: not yet rendered, not yet checked.

    Any text, also inside the metadata, may be a Jinja template. ``group`` and ``uri`` are None where they
    say no more than Airflow's defaults, so that a stored value is kept.
    """

    id: str
    type: str | None = None
    namespace: str | None = None
    display_name: str | None = None
    description: str | None = None
    metadata: Mapping[str, Any] | None = None
    uri: str | None = None
    group: str | None = None

    def ref(self) -> AssetRef:
        """Return the asset as an input.

        :raises airflow_assets.exceptions.InvalidAsset: a member breaks its rule.
        """
        return AssetRef(id=self.id, type=self.type, namespace=self.namespace)

    def output(self) -> AssetInput:
        """Return the asset as an output; what is None stays unset, so the stored value is kept.

        One that nobody gave a type is an External, which never replaces a known type.

        :raises airflow_assets.exceptions.InvalidAsset: a member breaks its rule.
        """
        given = {name: value for name, value in asdict(self).items() if value is not None}
        return AssetInput(**{"type": EXTERNAL_TYPE, **given})

    def with_metadata(self, more: Mapping[str, Any]) -> Declared:
        """Return a copy whose metadata has the keys of ``more`` too; they win."""
        return replace(self, metadata={**(self.metadata or {}), **more}) if more else self

    def mapped(self, text: Callable[[str, str], Any], value: Callable[[Any, str], Any]) -> Declared:
        """Return a copy with texts passed through ``text(text, field)``, metadata through ``value``."""
        members: dict[str, Any] = {}
        for name in _FIELDS:
            member = getattr(self, name)
            members[name] = text(member, camel(name)) if isinstance(member, str) else member
        if self.metadata is not None:
            members["metadata"] = {key: value(item, f"metadata.{key}") for key, item in self.metadata.items()}
        return Declared(**members)

    def without_templates(self) -> Declared | None:
        """Return what can be known without running the task; None if the id itself is a template."""
        if is_template(self.id):
            return None
        members: dict[str, Any] = {}
        for name in _FIELDS:
            member = getattr(self, name)
            members[name] = None if is_template(member) else member
        known = {key: item for key, item in (self.metadata or {}).items() if not is_template(item)}
        return Declared(**members, metadata=known or None)


def is_template(value: Any) -> bool:
    """Tell whether a text, or any text inside a JSON value, is a Jinja template.

    >>> is_template({"rows": ["{{ result }}"]}), is_template("{plain}")
    (True, False)
    """
    if isinstance(value, str):
        return _TEMPLATE.search(value) is not None
    if isinstance(value, Mapping):
        return any(is_template(item) for item in value.values())
    return isinstance(value, (list, tuple)) and any(is_template(item) for item in value)


def native_name(asset_id: str) -> str:
    """Return the name under which Airflow knows the asset: ASCII, at most 1,500 characters.

    >>> native_name("analytics.orders"), native_name("größe")
    ('analytics.orders', 'gr%C3%B6%C3%9Fe')
    """
    name = ascii_name(asset_id)
    if len(name) <= MAX_NATIVE_NAME:
        return name
    digest = hashlib.sha256(asset_id.encode()).hexdigest()[:12]
    return f"{name[: MAX_NATIVE_NAME - 13]}#{digest}"


def extra_of(declared: Declared) -> dict[str, Any]:
    """Return the ``extra`` of the native asset that carries this declaration: JSON, equal for equal ones."""
    members = {name: getattr(declared, name) for name in ("type", "namespace", "display_name", "description")}
    if native_name(declared.id) != declared.id:
        members["id"] = declared.id
    if declared.metadata:
        members["metadata"] = dict(declared.metadata)
    return {EXTRA_KEY: {camel(name): value for name, value in members.items() if value is not None}}


def authored_extra(asset_id: str) -> dict[str, Any]:
    """Return the ``extra`` of an outlet that its step records itself: nobody else is to record it."""
    own: dict[str, Any] = {"authored": True}
    if native_name(asset_id) != asset_id:
        own["id"] = asset_id
    return {EXTRA_KEY: own}


def is_authored(extra: Mapping[str, Any] | None) -> bool:
    """Tell whether an asset carries the mark of :func:`authored_extra`.

    >>> is_authored(authored_extra("orders")), is_authored({"rows": 3})
    (True, False)
    """
    own = (extra or {}).get(EXTRA_KEY)
    return isinstance(own, Mapping) and own.get("authored") is True


def from_native(name: str, uri: str, group: str, extra: Mapping[str, Any] | None) -> Declared:
    """Return what a native asset declares.

    The id of an asset that is not one of ours is its name, and what it carries in ``extra`` is its metadata.
    """
    extra = extra or {}
    own = extra.get(EXTRA_KEY)
    members = {snake(key): value for key, value in own.items()} if isinstance(own, Mapping) else {}
    metadata = {key: value for key, value in extra.items() if key != EXTRA_KEY}
    metadata.update(members.pop("metadata", None) or {})
    known = {key: value for key, value in members.items() if key in _FIELDS}
    return Declared(
        **{
            "id": name,
            "uri": uri if uri != name else None,
            "group": group if group != NATIVE_GROUP else None,
            **known,
            "metadata": metadata or None,
        }
    )


def from_mapping(item: Mapping[str, Any]) -> Declared:
    """Return an asset written as a JSON object, in ``camelCase`` or ``snake_case``.

    Members that an asset does not have become metadata; ``metadataList`` is ignored.

    >>> from_mapping({"id": "orders", "displayName": "Orders", "owner": "data"}).metadata
    {'owner': 'data'}
    """
    members: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    for key, value in item.items():
        name = snake(str(key))
        if name in _FIELDS:
            members[name] = value
        elif name not in ("metadata", "metadata_list"):
            metadata[key] = value
    given = item.get("metadata")
    if given is not None and not isinstance(given, Mapping):
        return Declared(**{"id": "", **members, "metadata": given})
    metadata.update(given or {})
    return Declared(**{"id": "", **members, "metadata": metadata or None})

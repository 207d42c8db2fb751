"""The ways to name an asset, brought into one form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from airflow_assets.exceptions import InvalidAsset
from airflow_assets.schemas.assets import AssetInput, AssetRef
from airflow_assets.schemas.declared import Declared, from_mapping, from_native
from airflow_assets.schemas.rules import EXTERNAL_TYPE

A = TypeVar("A", AssetInput, AssetRef)


def declared_of(item: Any, path: str) -> Declared:
    """Return what an item says: one of our types, a native asset, an id, or a JSON object.

    :param path: where it stands, as ``outputs[0]``; leads the error.
    :raises InvalidAsset: it is nothing of these.
    """
    from airflow.sdk import Asset

    if isinstance(item, Asset):
        return from_native(item.name, item.uri, item.group, item.extra)
    if isinstance(item, str):
        return Declared(id=item)
    if isinstance(item, Mapping):
        return from_mapping(item)
    raise InvalidAsset(
        f"{path} is a {type(item).__name__}, which names no asset.",
        hint="Give one of airflow_assets.types, an Asset, an id, or an object with an id.",
        field=path,
        value=repr(item),
    )


@contextmanager
def located(path: str) -> Iterator[None]:
    """Let an :class:`InvalidAsset` raised inside name its whole path: ``outlets[0].metadata.rows``."""
    try:
        yield
    except InvalidAsset as error:
        field = f"{path}.{error.members.get('field', 'id')}"
        members = {**error.members, "field": field}
        raise InvalidAsset(f"{field}: {error.detail}", hint=error.hint, **members) from None


def ref_at(declared: Declared, path: str) -> AssetRef:
    """Return the asset as an input; what breaks a rule is named with its path."""
    with located(path):
        return declared.ref()


def output_at(declared: Declared, path: str) -> AssetInput:
    """Return the asset as an output; what breaks a rule is named with its path."""
    with located(path):
        return declared.output()


def merged(assets: Iterable[A]) -> list[A]:
    """Return one asset an id, in the order of first mention; later mentions win member by member."""
    found: dict[str, A] = {}
    for asset in assets:
        known = found.get(asset.id)
        found[asset.id] = asset if known is None else _over(asset, known)
    return list(found.values())


def _over(later: A, earlier: A) -> A:
    members = {**_given(earlier), **_given(later)}
    if later.type == EXTERNAL_TYPE and earlier.type is not None:
        members["type"] = earlier.type
    if "metadata" in members:
        members["metadata"] = {**_given(earlier).get("metadata", {}), **members["metadata"]}
    return type(later)(**members)


def _given(asset: AssetInput | AssetRef) -> dict[str, Any]:
    return {name: value for name in type(asset).model_fields if (value := getattr(asset, name)) is not None}

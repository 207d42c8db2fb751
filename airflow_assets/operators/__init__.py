"""Operators of the asset catalogue; the contract's short names are the same classes.

=================================  ===========
:class:`SetAssetOperator`          ``Set``
:class:`ListAssetsOperator`        ``List``
:class:`DeleteAssetOperator`       ``Delete``
:class:`PurgeAssetsOperator`       ``PurgeAssets``
:class:`AssetShipperOperator`      ``AssetShipper``
:class:`AcquireAssetLockOperator`  ``Acquire``
:class:`ReleaseAssetLockOperator`  ``Release``
=================================  ===========
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow_assets.operators.catalog import DeleteAssetOperator, SetAssetOperator
    from airflow_assets.operators.listing import ListAssetsOperator
    from airflow_assets.operators.locks import AcquireAssetLockOperator, ReleaseAssetLockOperator
    from airflow_assets.operators.purge import PurgeAssetsOperator
    from airflow_assets.operators.shipping import AssetShipperOperator

    Set = SetAssetOperator
    List = ListAssetsOperator
    Delete = DeleteAssetOperator
    PurgeAssets = PurgeAssetsOperator
    AssetShipper = AssetShipperOperator
    Acquire = AcquireAssetLockOperator
    Release = ReleaseAssetLockOperator

__all__ = [
    "Acquire",
    "AcquireAssetLockOperator",
    "AssetShipper",
    "AssetShipperOperator",
    "Delete",
    "DeleteAssetOperator",
    "List",
    "ListAssetsOperator",
    "PurgeAssets",
    "PurgeAssetsOperator",
    "Release",
    "ReleaseAssetLockOperator",
    "Set",
    "SetAssetOperator",
]

_HOMES = {
    "SetAssetOperator": "airflow_assets.operators.catalog",
    "DeleteAssetOperator": "airflow_assets.operators.catalog",
    "ListAssetsOperator": "airflow_assets.operators.listing",
    "PurgeAssetsOperator": "airflow_assets.operators.purge",
    "AssetShipperOperator": "airflow_assets.operators.shipping",
    "AcquireAssetLockOperator": "airflow_assets.operators.locks",
    "ReleaseAssetLockOperator": "airflow_assets.operators.locks",
}
_SHORT = {
    "Set": "SetAssetOperator",
    "List": "ListAssetsOperator",
    "Delete": "DeleteAssetOperator",
    "PurgeAssets": "PurgeAssetsOperator",
    "AssetShipper": "AssetShipperOperator",
    "Acquire": "AcquireAssetLockOperator",
    "Release": "ReleaseAssetLockOperator",
}


def __getattr__(name: str) -> Any:
    whole = _SHORT.get(name, name)
    home = _HOMES.get(whole)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home), whole)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

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

from typing import TYPE_CHECKING

from airflow_assets.lazy import exports

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
    "airflow_assets.operators.catalog": ("SetAssetOperator", "DeleteAssetOperator"),
    "airflow_assets.operators.listing": ("ListAssetsOperator",),
    "airflow_assets.operators.purge": ("PurgeAssetsOperator",),
    "airflow_assets.operators.shipping": ("AssetShipperOperator",),
    "airflow_assets.operators.locks": ("AcquireAssetLockOperator", "ReleaseAssetLockOperator"),
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

if not TYPE_CHECKING:  # a name that there is not stays an error
    __getattr__, __dir__ = exports(__name__, _HOMES, _SHORT)

"""The Airflow hook of the asset catalogue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_assets.lazy import exports

if TYPE_CHECKING:
    from airflow_assets.hooks.catalog import AssetCatalogHook

__all__ = ["AssetCatalogHook"]

if not TYPE_CHECKING:  # a name that there is not stays an error
    __getattr__, __dir__ = exports(__name__, {"airflow_assets.hooks.catalog": ("AssetCatalogHook",)})

"""The Airflow hook of the asset catalogue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow_assets.hooks.catalog import AssetCatalogHook

__all__ = ["AssetCatalogHook"]


def __getattr__(name: str) -> Any:
    if name == "AssetCatalogHook":
        from airflow_assets.hooks.catalog import AssetCatalogHook

        return AssetCatalogHook
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

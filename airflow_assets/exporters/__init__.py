"""Exporters: where :class:`~airflow_assets.operators.AssetShipper` ships lineage.

An exporter of one's own is a class with one method::

    class WebhookExporter(AssetExporter):
        def export(self, batch):
            for event in batch.events:
                httpx.post(URL, json=batch.to_json(event)).raise_for_status()
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow_assets.exporters.base import AssetExporter, ExportBatch, ExportFailed, Shipment
    from airflow_assets.exporters.file import FileAssetExporter
    from airflow_assets.exporters.openlineage import OpenLineageAssetExporter

__all__ = [
    "AssetExporter",
    "ExportBatch",
    "ExportFailed",
    "FileAssetExporter",
    "OpenLineageAssetExporter",
    "Shipment",
]

_HOMES = {
    "AssetExporter": "airflow_assets.exporters.base",
    "ExportBatch": "airflow_assets.exporters.base",
    "ExportFailed": "airflow_assets.exporters.base",
    "Shipment": "airflow_assets.exporters.base",
    "FileAssetExporter": "airflow_assets.exporters.file",
    "OpenLineageAssetExporter": "airflow_assets.exporters.openlineage",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

"""Exporters: where :class:`~airflow_assets.operators.AssetShipper` ships lineage.

An exporter of one's own is a class with one method::

    class WebhookExporter(AssetExporter):
        def export(self, batch):
            for event in batch.events:
                httpx.post(URL, json=batch.to_json(event)).raise_for_status()
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_assets.lazy import exports

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
    "airflow_assets.exporters.base": ("AssetExporter", "ExportBatch", "ExportFailed", "Shipment"),
    "airflow_assets.exporters.file": ("FileAssetExporter",),
    "airflow_assets.exporters.openlineage": ("OpenLineageAssetExporter",),
}

if not TYPE_CHECKING:  # a name that there is not stays an error
    __getattr__, __dir__ = exports(__name__, _HOMES)

"""What Airflow is told about this provider."""

from __future__ import annotations

from typing import Any

from airflow_assets import __version__
from airflow_assets.config import OPTIONS, SECTION


def get_provider_info() -> dict[str, Any]:
    """Return the provider info that Airflow's provider manager reads."""
    return {
        "package-name": "airflow-provider-assets",
        "name": "Assets",
        "description": "Assets of Apache Airflow with metadata, events that start Dag runs, and lineage.",
        "versions": [__version__],
        "connection-types": [
            {
                "connection-type": "airflow-assets",
                "hook-class-name": "airflow_assets.hooks.AssetCatalogHook",
                "hook-name": "Asset catalogue",
                "conn-fields": {
                    "token": {
                        "label": "Bearer token",
                        "schema": {"type": ["string", "null"], "format": "password"},
                    },
                    "tenant": {"label": "Tenant", "schema": {"type": ["string", "null"]}},
                },
                "ui-field-behaviour": {
                    "hidden-fields": ["schema", "port"],
                    "relabeling": {"host": "API server address", "login": "User name"},
                    "placeholders": {
                        "host": "https://airflow.example.com (empty: this Airflow)",
                        "login": "empty: the managed secret is used",
                    },
                },
            }
        ],
        "extra-links": ["airflow_assets.links.AssetLink"],
        "plugins": [{"name": "airflow_assets", "plugin-class": "airflow_assets.plugin.AssetsPlugin"}],
        "cli": ["airflow_assets.cli.get_cli_commands"],
        "db-managers": ["airflow_assets.airflow_bridge.db_manager.AssetsDBManager"],
        "config": {SECTION: {"description": "The asset catalogue.", "options": _options()}},
    }


def _options() -> dict[str, dict[str, Any]]:
    return {
        option.name: {
            "description": option.description,
            "version_added": "0.1.0",
            "type": option.type,
            "example": option.example,
            "default": option.default,
        }
        for option in OPTIONS.values()
    }

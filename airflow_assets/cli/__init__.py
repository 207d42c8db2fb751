"""``airflow assets-catalog``: the catalogue from the command line."""

from __future__ import annotations

from airflow_assets.cli.definition import get_cli_commands

__all__ = ["get_cli_commands"]

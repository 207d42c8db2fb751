"""The functions behind the commands; each takes the parsed arguments."""

from __future__ import annotations

from airflow_assets.cli.assets import (
    create_command,
    delete_command,
    get_command,
    list_command,
    rename_command,
    update_command,
)
from airflow_assets.cli.graph import dependencies_command, lineage_command
from airflow_assets.cli.locks import lock_command, locks_command, unlock_command
from airflow_assets.cli.log import events_command, history_command, replay_command
from airflow_assets.cli.purge import purge_command
from airflow_assets.cli.server import doctor_command, rotate_secret_command
from airflow_assets.cli.transfer import export_command, import_command

__all__ = [
    "create_command",
    "delete_command",
    "dependencies_command",
    "doctor_command",
    "events_command",
    "export_command",
    "get_command",
    "history_command",
    "import_command",
    "lineage_command",
    "list_command",
    "lock_command",
    "locks_command",
    "purge_command",
    "rename_command",
    "replay_command",
    "rotate_secret_command",
    "unlock_command",
    "update_command",
]

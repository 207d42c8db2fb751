"""Assets of Apache Airflow with metadata, an event log, lineage and Dag runs that start from asset events.

Names are looked up when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow_assets.macros import assets, trigger, trigger_asset, trigger_assets
    from airflow_assets.recording import configure, emit

__version__ = "0.1.0"
__all__ = ["assets", "configure", "emit", "trigger", "trigger_asset", "trigger_assets"]

_HOMES = {
    "assets": "airflow_assets.macros",
    "trigger": "airflow_assets.macros",
    "trigger_asset": "airflow_assets.macros",
    "trigger_assets": "airflow_assets.macros",
    "configure": "airflow_assets.recording",
    "emit": "airflow_assets.recording",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(home), name)
    if name.startswith("trigger"):
        # Imported inside a task it is what the run has, or None; elsewhere the object that finds out later.
        return import_module("airflow_assets.event_context").in_task_or(found, name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

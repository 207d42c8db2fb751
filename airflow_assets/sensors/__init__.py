"""Sensors of the asset catalogue; the contract's short names are the same classes.

=============================  ====================
:class:`AssetEventSensor`      ``EventTrigger``
:class:`AssetFreshnessSensor`  ``FreshnessTrigger``
:class:`PythonScriptSensor`    ``ScriptTrigger``
=============================  ====================
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow_assets.sensors.event import AssetEventSensor
    from airflow_assets.sensors.freshness import AssetFreshnessSensor
    from airflow_assets.sensors.script import PythonScriptSensor

    EventTrigger = AssetEventSensor
    FreshnessTrigger = AssetFreshnessSensor
    ScriptTrigger = PythonScriptSensor

__all__ = [
    "AssetEventSensor",
    "AssetFreshnessSensor",
    "EventTrigger",
    "FreshnessTrigger",
    "PythonScriptSensor",
    "ScriptTrigger",
]

_HOMES = {
    "AssetEventSensor": "airflow_assets.sensors.event",
    "AssetFreshnessSensor": "airflow_assets.sensors.freshness",
    "PythonScriptSensor": "airflow_assets.sensors.script",
}
_SHORT = {
    "EventTrigger": "AssetEventSensor",
    "FreshnessTrigger": "AssetFreshnessSensor",
    "ScriptTrigger": "PythonScriptSensor",
}


def __getattr__(name: str) -> Any:
    whole = _SHORT.get(name, name)
    home = _HOMES.get(whole)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home), whole)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

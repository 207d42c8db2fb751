"""Sensors of the asset catalogue; the contract's short names are the same classes.

=============================  ====================
:class:`AssetEventSensor`      ``EventTrigger``
:class:`AssetFreshnessSensor`  ``FreshnessTrigger``
:class:`PythonScriptSensor`    ``ScriptTrigger``
=============================  ====================
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_assets.lazy import exports

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
    "airflow_assets.sensors.event": ("AssetEventSensor",),
    "airflow_assets.sensors.freshness": ("AssetFreshnessSensor",),
    "airflow_assets.sensors.script": ("PythonScriptSensor",),
}
_SHORT = {
    "EventTrigger": "AssetEventSensor",
    "FreshnessTrigger": "AssetFreshnessSensor",
    "ScriptTrigger": "PythonScriptSensor",
}

if not TYPE_CHECKING:  # a name that there is not stays an error
    __getattr__, __dir__ = exports(__name__, _HOMES, _SHORT)

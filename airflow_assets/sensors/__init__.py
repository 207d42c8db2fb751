"""Sensors of the asset catalogue; the contract's short names are the same classes.

========================  ================
:class:`AssetEventSensor`  ``EventTrigger``
========================  ================
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow_assets.sensors.event import AssetEventSensor

    EventTrigger = AssetEventSensor

__all__ = ["AssetEventSensor", "EventTrigger"]

_HOMES = {"AssetEventSensor": "airflow_assets.sensors.event"}
_SHORT = {"EventTrigger": "AssetEventSensor"}


def __getattr__(name: str) -> Any:
    whole = _SHORT.get(name, name)
    home = _HOMES.get(whole)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home), whole)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

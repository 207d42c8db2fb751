"""The Airflow plugin of this provider.

Airflow imports this module in every process, also in each task, so it only says where things are. What is
named here is imported when Airflow asks for it: the API only in the API server. A part that cannot be
imported is logged and left out; it never takes an Airflow process down.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from airflow.plugins_manager import AirflowPlugin

if TYPE_CHECKING:
    from collections.abc import Callable

log = logging.getLogger(__name__)


class _WhenRead:
    """A list attribute that is made when it is first read, once a process."""

    def __init__(self, make: Callable[[], list[Any]]) -> None:
        self._make = make
        self._made: list[Any] | None = None

    def __get__(self, instance: object, owner: type) -> list[Any]:
        if self._made is None:
            try:
                self._made = self._make()
            except Exception:  # an optional part must not end the process that reads it
                log.exception("airflow_assets: %s is left out.", self._make.__name__.strip("_"))
                self._made = []
        return self._made


def _api() -> list[Any]:
    from airflow_assets.api.app import create_app
    from airflow_assets.schemas.operations import MOUNT

    return [{"app": create_app(), "url_prefix": MOUNT, "name": "Asset catalogue"}, *_files()]


def _files() -> list[Any]:
    from airflow_assets.ui import bundle

    found = bundle.find_bundle()
    if found is None:
        return []
    from airflow_assets.ui.files import create_app

    return [
        {"app": create_app(found), "url_prefix": bundle.MOUNT, "name": "Files of the asset catalogue's page"}
    ]


def _page() -> list[Any]:
    from airflow_assets.ui.bundle import react_apps

    return react_apps()


def _listener() -> list[Any]:
    from airflow_assets import listener

    return [listener]


def _macros() -> list[Any]:
    from airflow_assets import macros

    return [macros.assets, macros.trigger, macros.trigger_asset, macros.trigger_assets]


class AssetsPlugin(AirflowPlugin):
    """What this provider plugs into Airflow's processes."""

    name = "airflow_assets"
    fastapi_apps = _WhenRead(_api)
    listeners = _WhenRead(_listener)
    macros = _WhenRead(_macros)
    react_apps = _WhenRead(_page)

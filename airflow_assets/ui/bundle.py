"""The built bundle, and what Airflow is told about it."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

log = logging.getLogger(__name__)

FOLDER: Final = Path(__file__).parents[1] / "ui_dist"
MOUNT: Final = "/airflow_assets_ui"
"""Where the plugin mounts the files; beside the API, whose answers no cache may keep."""
NAME: Final = "Asset catalogue"
"""The page's and the tabs' name, under which ``ui/src/main.tsx`` hands the component to Airflow."""
ROUTE: Final = "asset-catalogue"
_TABS: Final = ("dag", "dag_run", "task_instance")


@dataclass(frozen=True)
class Bundle:
    """A built bundle: its folder, and its entry's file name."""

    folder: Path
    entry: str


@lru_cache(maxsize=1)
def find_bundle() -> Bundle | None:
    """Return the bundle; None in a source tree where it has not been built, which is said once in the log."""
    try:
        info = json.loads((FOLDER / "build.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        log.info("airflow_assets: the page is not built here, so the UI goes without it: run `make ui`.")
        return None
    return Bundle(FOLDER, info["entry"])


def react_apps() -> list[dict[str, Any]]:
    """Return what Airflow's plugin manager is to know: a page in the navigation, and a tab where people are.

    Addresses are relative: Airflow resolves them below its own base path. One name and one component serve
    all places: Airflow keeps a loaded component under its name.
    """
    bundle = find_bundle()
    if bundle is None:
        return []
    files = MOUNT.lstrip("/")
    shared = {
        "name": NAME,
        "bundle_url": f"{files}/{bundle.entry}",
        "icon": f"{files}/icon.svg",
        "icon_dark_mode": f"{files}/icon-dark.svg",
    }
    page = {**shared, "destination": "nav", "url_route": ROUTE, "category": "browse"}
    return [page, *({**shared, "destination": tab, "url_route": f"{ROUTE}-{tab}"} for tab in _TABS)]

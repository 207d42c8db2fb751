"""How the runs that we start are named, and where they find what started them."""

from __future__ import annotations

from typing import Union

from airflow_assets.schemas.events import Event
from airflow_assets.schemas.polls import Firing

Entry = Union[Event, Firing]  # noqa: UP007 - evaluated, and Python 3.10 is supported
"""An entry of the log that starts runs."""
EXTRA_KEY = "airflow_assets"
"""The key of the ``extra`` of the Airflow event that is linked to such a run."""
PREFIXES = {"event": "asset_event__", "freshness": "freshness__", "script": "script__"}
"""What the run ids begin with; the id of the entry follows."""

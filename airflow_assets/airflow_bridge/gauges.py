"""Sends the gauges through Airflow's metrics, wherever those are configured to go (StatsD, OpenTelemetry)."""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, Any

from airflow_assets.airflow_bridge.vitals import Vitals, vitals
from airflow_assets.catalog import facets
from airflow_assets.catalog.engine import read
from airflow_assets.catalog.gauges import Inventory, inventory
from airflow_assets.schemas.actors import Caller, Source, SourceKind
from airflow_assets.schemas.queries import FacetQuery

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Engine

    from airflow_assets.schemas.queries import FacetResult

PREFIX = "airflow_assets"
MAX_TYPES = 100
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_EVERYBODY = Caller(source=Source(kind=SourceKind.AIRFLOW))


class Gauges:
    """The job; see the module."""

    name = "gauges"
    interval = 30.0

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def close(self) -> None:
        """Nothing to let go of."""

    def step(self) -> bool:
        """Send all gauges once."""
        stats = _stats()
        with read(self._engine) as conn:
            types = facets.facets(conn, _EVERYBODY, FacetQuery(facets=["type"], top=MAX_TYPES))
            counts = inventory(conn, _EVERYBODY)
        for name, value in samples(types, counts, vitals(self._engine)):
            stats.gauge(f"{PREFIX}.{name}", value)
        return False


def samples(types: FacetResult, counts: Inventory, state: Vitals) -> Iterator[tuple[str, float]]:
    """Yield names, without the prefix, and values.

    What tells values apart is part of the name, since not every backend takes tags; characters that StatsD
    gives a meaning become ``_``.
    """
    facet = types.facets[0]
    for value in facet.values:
        yield f"assets.{_safe(str(value.value))}", value.count
    yield "assets_total", sum(value.count for value in facet.values) + facet.other
    yield "stale_assets", counts.stale
    yield "locks_held", counts.locked
    yield "events_last_minute", counts.events
    yield "dispatcher_lag_seconds", state.oldest_unread
    for dag_id, unread in state.unread.items():
        yield f"dispatcher_unread_entries.{_safe(dag_id)}", unread
    for dag_id, pending in state.pending.items():
        yield f"pending_runs.{_safe(dag_id)}", pending
    for one in state.shippers:
        yield f"shipper_unread_entries.{_safe(one.name)}", one.backlog
        yield f"shipper_failed.{_safe(one.name)}", int(one.failed)


def _stats() -> Any:
    """Airflow's metrics; before Airflow 3.3 they were in another module."""
    try:
        return import_module("airflow.observability.stats").Stats
    except ImportError:
        return import_module("airflow.stats").Stats


def _safe(text: str) -> str:
    return _UNSAFE.sub("_", text)[:150]

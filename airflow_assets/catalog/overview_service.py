"""The operations for pages, charts and monitors; part of the service."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from airflow_assets.catalog import dashboard, stale_counts
from airflow_assets.catalog.engine import retrying
from airflow_assets.catalog.snapshot import snapshot
from airflow_assets.schemas.trigger_listing import Triggers

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection, Engine

    from airflow_assets.schemas.actors import Caller
    from airflow_assets.schemas.dashboard import (
        DashboardData,
        DashboardQuery,
        StalenessQuery,
        StalenessSeries,
    )
    from airflow_assets.schemas.trigger_listing import TriggerQuery

T = TypeVar("T")


class OverviewOperations:
    """What :class:`~airflow_assets.catalog.service.CatalogService` has for those who look at all assets."""

    engine: Engine

    if TYPE_CHECKING:

        def _read(self, work: Callable[[Connection], T]) -> T: ...

    def dashboard(self, caller: Caller, query: DashboardQuery) -> DashboardData:
        """Return the present inventory as rows."""
        return self._read(lambda conn: dashboard.dashboard(conn, caller, query))

    query_dashboard = dashboard

    def staleness(self, caller: Caller, body: StalenessQuery) -> StalenessSeries:
        """Return how many assets were stale at some moments."""

        def attempt() -> StalenessSeries:
            with snapshot(self.engine) as conn:
                return stale_counts.staleness(conn, caller, body)

        return retrying(attempt)

    def list_triggers(self, caller: Caller, query: TriggerQuery) -> Triggers:  # noqa: ARG002
        """Return the triggers of Dags: none, where there is no Airflow."""
        return Triggers(items=[])

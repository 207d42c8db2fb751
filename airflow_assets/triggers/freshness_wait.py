"""The trigger behind a deferred :class:`~airflow_assets.sensors.freshness.AssetFreshnessSensor`."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_assets.client.options import DEFAULT_CONN_ID

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

log = logging.getLogger(__name__)


class FreshnessWait(BaseTrigger):
    """Fires once, with all assets that are stale when any is.

    Staleness is a state, so a triggerer that starts it again misses nothing. While the catalogue cannot be
    reached it goes on trying: how long a sensor waits is Airflow's to end.

    :param check: the JSON of a :class:`~airflow_assets.schemas.freshness.FreshnessCheck`.
    :param interval: seconds between two looks.
    """

    def __init__(
        self,
        *,
        check: dict[str, Any],
        interval: float,
        conn_id: str = DEFAULT_CONN_ID,
        api_url: str | None = None,
        tenant: str | None = None,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.check = check
        self.interval = interval
        self.conn_id = conn_id
        self.api_url = api_url
        self.tenant = tenant

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return path and arguments, from which the triggerer makes it again."""
        return "airflow_assets.triggers.freshness_wait.FreshnessWait", {
            "check": self.check,
            "interval": self.interval,
            "conn_id": self.conn_id,
            "api_url": self.api_url,
            "tenant": self.tenant,
        }

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Wait."""
        from airflow_assets.client import get_async_client
        from airflow_assets.exceptions import CatalogUnavailable
        from airflow_assets.schemas.freshness import FreshnessCheck

        client = get_async_client(self.conn_id, api_url=self.api_url, tenant=self.tenant)
        check = FreshnessCheck.model_validate(self.check)
        while True:
            await asyncio.sleep(self.interval)
            try:
                report = await client.check_freshness(check)
            except CatalogUnavailable as error:
                log.warning("Still waiting for a stale asset: %s", error)
                continue
            if report.assets:
                yield TriggerEvent(report.to_json())  # type: ignore[no-untyped-call]
                return

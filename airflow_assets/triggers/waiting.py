"""The trigger behind a deferred :class:`~airflow_assets.sensors.event.AssetEventSensor`."""

from __future__ import annotations

import asyncio
import logging
import random
from typing import TYPE_CHECKING, Any
from uuid import UUID

from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_assets.client.options import DEFAULT_CONN_ID

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from airflow_assets.client.aio import AsyncCatalogClient
    from airflow_assets.schemas.waiting import EventWaitResult

log = logging.getLogger(__name__)
LONGEST_PAUSE = 30.0
SPREAD = (0.7, 1.0)
"""A thousand triggers that started together must not come back together for ever."""


class EventWaitTrigger(BaseTrigger):
    """Fires once, with the first event after ``cursor`` that matches.

    The cursor is one of its arguments, so that a triggerer that starts it again finds the same event. While
    the catalogue cannot be reached it goes on trying: how long a sensor waits is Airflow's to end.

    :param wanted: the filter as JSON (:class:`~airflow_assets.schemas.events.EventFilter`).
    :param cursor: the number of the event after which to look.
    :param ti_id: the task instance that waits, whose place purge respects.
    """

    def __init__(
        self,
        *,
        wanted: dict[str, Any],
        cursor: int,
        ti_id: str | None = None,
        conn_id: str = DEFAULT_CONN_ID,
        api_url: str | None = None,
        tenant: str | None = None,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.wanted = wanted
        self.cursor = cursor
        self.ti_id = ti_id
        self.conn_id = conn_id
        self.api_url = api_url
        self.tenant = tenant

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return path and arguments, from which the triggerer makes it again."""
        return "airflow_assets.triggers.waiting.EventWaitTrigger", {
            "wanted": self.wanted,
            "cursor": self.cursor,
            "ti_id": self.ti_id,
            "conn_id": self.conn_id,
            "api_url": self.api_url,
            "tenant": self.tenant,
        }

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Wait."""
        from airflow_assets.client import get_async_client

        client = get_async_client(self.conn_id, api_url=self.api_url, tenant=self.tenant)
        cursor, failures = self.cursor, 0
        while True:
            seen = await self._ask(client, cursor, failures)
            if seen is None:
                failures += 1
                continue
            if seen.event is not None:
                yield TriggerEvent(seen.payload())  # type: ignore[no-untyped-call]
                return
            cursor, failures = seen.cursor, 0

    async def _ask(self, client: AsyncCatalogClient, cursor: int, failures: int) -> EventWaitResult | None:
        """Wait for about 20 seconds; None after a pause when the catalogue cannot be reached."""
        from airflow_assets.exceptions import CatalogUnavailable
        from airflow_assets.schemas.events import EventFilter
        from airflow_assets.schemas.waiting import LONGEST_WAIT, EventWait

        wait = EventWait(
            filter=EventFilter.model_validate(self.wanted),
            after=cursor,
            timeout=LONGEST_WAIT * random.uniform(*SPREAD),  # noqa: S311
            keep_for=None if self.ti_id is None else UUID(self.ti_id),
        )
        try:
            return await client.wait_events(wait)
        except CatalogUnavailable as error:
            log.warning("Still waiting for an event after number %d: %s", cursor, error)
        pause = min(LONGEST_PAUSE, 2.0**failures)
        await asyncio.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311 - spreads the triggers
        return None

"""The trigger with which a task waits for a lock without a worker slot."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from typing import TYPE_CHECKING, Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from airflow_assets.client.aio import AsyncCatalogClient

log = logging.getLogger(__name__)

LONGEST_PAUSE = 15.0
"""Seconds between two questions while the catalogue is away: far less than a place in the queue lasts."""


class LockTrigger(BaseTrigger):
    """Keeps a task's place in the queue for locks and fires when its turn may have come.

    The task itself acquires then: a trigger cannot, and a lock should not run out while a task waits for a
    slot. All it knows is in its arguments, so a triggerer that restarts goes on where it was.

    :param wait_id: names the place in the queue; the one with which the locks were refused.
    """

    def __init__(
        self,
        asset_ids: list[str],
        wait_id: str,
        conn_id: str,
        api_url: str | None = None,
        tenant: str | None = None,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.asset_ids = asset_ids
        self.wait_id = wait_id
        self.conn_id = conn_id
        self.api_url = api_url
        self.tenant = tenant

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return the class's path and its arguments."""
        return (
            f"{type(self).__module__}.{type(self).__qualname__}",
            {
                "asset_ids": self.asset_ids,
                "wait_id": self.wait_id,
                "conn_id": self.conn_id,
                "api_url": self.api_url,
                "tenant": self.tenant,
            },
        )

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Fire once, with the seconds that were waited here."""
        from airflow_assets.client import get_async_client

        client = get_async_client(self.conn_id, api_url=self.api_url, tenant=self.tenant)
        begun, failures = time.monotonic(), 0
        while True:
            try:
                if await self._is_turn(client):
                    break
                failures = 0
            except Exception as error:  # noqa: BLE001 - the wait goes on; its end is the task's time-out
                failures += 1
                log.warning("The lock of %s is still waited for: %s", self.asset_ids, error)
                await asyncio.sleep(min(LONGEST_PAUSE, 2.0**failures) * random.uniform(0.5, 1.0))  # noqa: S311
        yield TriggerEvent({"waited": time.monotonic() - begun})  # type: ignore[no-untyped-call]

    async def _is_turn(self, client: AsyncCatalogClient) -> bool:
        from airflow_assets.schemas.lease_waiting import LeaseWait
        from airflow_assets.schemas.waiting import LONGEST_WAIT

        wait = LeaseWait(wait_id=self.wait_id, timeout=LONGEST_WAIT)  # type: ignore[arg-type]
        return (await client.wait_leases(wait)).turn

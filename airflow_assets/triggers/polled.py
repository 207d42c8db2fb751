"""What runs in the triggerer for a polled schedule.

It never yields: it asks the server when a check is due, checks, and reports. The server alone remembers,
decides and starts runs, so a trigger that is killed, restarted or run twice loses and doubles nothing.
"""

from __future__ import annotations

import asyncio
import logging
import random
from abc import abstractmethod
from importlib import import_module
from typing import TYPE_CHECKING, Any

from airflow.triggers.base import BaseEventTrigger

from airflow_assets.exceptions import AssetCatalogError, CatalogUnavailable
from airflow_assets.schemas.polls import MAX_ERROR, CheckReport, PollRef, interval_seconds

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from airflow.triggers.base import TriggerEvent

    from airflow_assets.client.aio import AsyncCatalogClient
    from airflow_assets.schemas.polls import CheckResult, FreshnessPoll, ScriptPoll

log = logging.getLogger(__name__)
LONGEST_PAUSE = 60.0
"""Seconds between two attempts to reach the server."""
SPREAD = 0.02
"""Part of the interval, at most 2 s, over which a starting triggerer spreads the first calls."""
AT_ONCE = 8
"""Calls to the server that the triggers of one triggerer make at a time."""


class Finding(dict[str, Any]):
    """What a check found: members of :class:`~airflow_assets.schemas.polls.CheckReport`.

    ``matched`` and ``payload``, or ``error``; empty where the server itself looks.
    """


class PolledTrigger(BaseEventTrigger):
    """Checks at its interval and reports.

    Subclasses keep their definition as JSON-stable constructor arguments, so that equal definitions share a
    row of Airflow's table ``trigger``.
    """

    _gates: dict[asyncio.AbstractEventLoop, asyncio.Semaphore] = {}  # noqa: RUF012 - one per loop, shared

    @property
    @abstractmethod
    def poll(self) -> FreshnessPoll | ScriptPoll:
        """What the server needs to know of it; its key names the memory."""

    @abstractmethod
    async def check(self) -> Finding:
        """Make one check.

        What it raises is reported as the check's error: nothing fires and no memory changes.
        """

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Poll for ever."""
        never: tuple[TriggerEvent, ...] = ()
        for event in never:  # Airflow asks for a generator
            yield event
        await asyncio.sleep(random.uniform(0, min(2.0, SPREAD * interval_seconds(self.poll))))  # noqa: S311
        # A tenth of a second of imports, which would hold up every trigger of the loop.
        await asyncio.to_thread(import_module, "airflow_assets.client.http")
        due: CheckResult | None = None
        failures = 0
        while True:
            try:
                due = await self._round(due)
                failures = 0
            except AssetCatalogError as error:
                # The server refuses: the schedule is being changed, or the credentials. Ask it anew.
                due = None
                failures += 1
                await self._pause(failures, error)

    async def _round(self, due: CheckResult | None) -> CheckResult:
        """Wait for the next check and make it; return which one is next."""
        if due is None:
            ref = PollRef(poll=self.poll)
            due = await self._patiently(lambda: self._client().next_check(ref))
        await asyncio.sleep(due.wait)
        report = CheckReport(poll=self.poll, number=due.number, **await self._found())
        # What was found is reported once the server is back: a transition may be over at the next check.
        return await self._patiently(lambda: self._client().report_check(report))

    async def _patiently(self, call: Callable[[], Awaitable[CheckResult]]) -> CheckResult:
        """Return the server's answer, asked again and again while it is away; a repeat counts once."""
        failures = 0
        while True:
            try:
                async with self._gate():
                    return await call()
            except (CatalogUnavailable, OSError) as error:
                failures += 1
                await self._pause(failures, error)

    async def _pause(self, failures: int, error: Exception) -> None:
        pause = min(LONGEST_PAUSE, 2.0 ** min(failures, 6)) * random.uniform(0.5, 1)  # noqa: S311
        log.warning("%s could not report (try again in %.0f s): %s", self._name, pause, error)
        await asyncio.sleep(pause)

    async def _found(self) -> Finding:
        try:
            return await self.check()
        except Exception as error:
            log.warning("%s could not check: %s", self._name, error, exc_info=True)
            return Finding(error=f"{type(error).__name__}: {error}"[:MAX_ERROR])

    def _client(self) -> AsyncCatalogClient:
        client: AsyncCatalogClient | None = getattr(self, "_kept_client", None)
        if client is None:
            from airflow_assets.client import get_async_client

            client = self._kept_client = get_async_client()
        return client

    def _gate(self) -> asyncio.Semaphore:
        """Keep the triggers of one triggerer from calling all at once."""
        loop = asyncio.get_running_loop()
        if loop not in PolledTrigger._gates:
            PolledTrigger._gates.clear()
            PolledTrigger._gates[loop] = asyncio.Semaphore(AT_ONCE)
        return PolledTrigger._gates[loop]

    @property
    def _name(self) -> str:
        return f"The {self.poll.kind} trigger {self.poll.key[:12]}"

"""A trigger that measures how late the triggerer's event loop is."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

STEP = 0.02


class MeasureLag(BaseTrigger):
    """Fires once, with the times by which the loop came late, in seconds.

    Beside them the same for a thread that only sleeps: what the machine itself, not the loop, made wait.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seconds = seconds

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return "tests.support.lag_trigger.MeasureLag", {"seconds": self.seconds}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        machine = asyncio.create_task(asyncio.to_thread(_lags_of_a_thread, self.seconds))
        lags = []
        end = time.monotonic() + self.seconds
        while time.monotonic() < end:
            before = time.monotonic()
            await asyncio.sleep(STEP)
            lags.append(time.monotonic() - before - STEP)
        found = {"loop": _summary(lags), "machine": _summary(await machine)}
        yield TriggerEvent(found)  # type: ignore[no-untyped-call]


def _lags_of_a_thread(seconds: float) -> list[float]:
    lags = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        before = time.monotonic()
        time.sleep(STEP)
        lags.append(time.monotonic() - before - STEP)
    return lags


def _summary(lags: list[float]) -> dict[str, float]:
    ordered = sorted(lags)
    return {
        "p50": ordered[len(ordered) // 2],
        "p99": ordered[len(ordered) * 99 // 100],
        "max": ordered[-1],
        "count": len(ordered),
    }

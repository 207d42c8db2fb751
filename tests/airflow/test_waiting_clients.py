"""Clients that wait at a real API server: many at once, and those that go away."""

from __future__ import annotations

import asyncio
import re
import time
from typing import TYPE_CHECKING

import httpx
import pytest

from airflow_assets.schemas.operations import API_PREFIX

if TYPE_CHECKING:
    from tests.support.airflow_process import AirflowProcess

pytestmark = pytest.mark.real_airflow
MANY = 300


def gauge(airflow: AirflowProcess, name: str) -> float:
    text = airflow.request("GET", f"{API_PREFIX}/metrics").text
    found = re.search(rf"^airflow_assets_{name} (\S+)$", text, re.MULTILINE)
    assert found
    return float(found[1])


async def wait(client: httpx.AsyncClient, number: int) -> int:
    body = {"filter": {"assetId": f"nobody {number}"}, "timeout": 24}
    return (await client.post(f"{API_PREFIX}/events/wait", json=body)).status_code


def test_hundreds_wait_for_one_look_up_a_second_and_leave_no_trace(airflow: AirflowProcess) -> None:
    async def main() -> tuple[float, float]:
        async with httpx.AsyncClient(
            base_url=airflow.base_url,
            headers={"Authorization": f"Bearer {airflow.token()}"},
            limits=httpx.Limits(max_connections=None),
            timeout=60,
            trust_env=False,
        ) as client:
            waits = [asyncio.create_task(wait(client, number)) for number in range(MANY)]
            await all_waiting(MANY)
            before, began = await look_ups(), time.monotonic()
            pings = []
            while time.monotonic() - began < 5:
                sent = time.monotonic()
                (await client.get("/execution/health/ping")).raise_for_status()
                pings.append(time.monotonic() - sent)
                await asyncio.sleep(0.05)
            rate = (await look_ups() - before) / (time.monotonic() - began)
            for one in waits:
                one.cancel()
            await asyncio.gather(*waits, return_exceptions=True)
        return rate, sorted(pings)[len(pings) // 2]

    async def all_waiting(number: int) -> None:
        what = f"{number} to wait"
        await asyncio.to_thread(
            airflow.wait_until, lambda: gauge(airflow, "waiting_requests") == number, 120, what
        )

    async def look_ups() -> float:
        return await asyncio.to_thread(gauge, airflow, "wait_look_ups_total")

    rate, ping = asyncio.run(main())
    assert rate <= 1.5, "one a second, a little more around a commit"
    assert ping < 0.5
    airflow.wait_until(
        lambda: gauge(airflow, "waiting_requests") == 0, 60, "those that went away to be forgotten"
    )

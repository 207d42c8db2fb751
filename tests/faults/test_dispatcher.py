"""Exactly one run for each event while parts of a real Airflow on PostgreSQL are killed, doubled and flooded."""

from __future__ import annotations

import time
from datetime import datetime, timezone
from typing import TYPE_CHECKING

import httpx
import pytest

from tests.support.event_burst import API, Runs, add_consumer, burst

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.airflow_process import AirflowProcess

pytestmark = [
    pytest.mark.real_airflow,
    pytest.mark.slow,
    pytest.mark.postgres,
    pytest.mark.parametrize("standing", ["postgres"], indirect=True),
]


@pytest.fixture
def runs(airflow: AirflowProcess) -> Iterator[Runs]:
    found = Runs(airflow)
    yield found
    found.close()


def create(airflow: AirflowProcess, namespace: str, number: int) -> None:
    """Create one asset; a repeat after a lost answer makes no second event."""
    body = {"id": f"{namespace} {number}", "type": "t", "namespace": namespace, "metadata": {"n": number}}
    answer = airflow.request("POST", f"{API}/assets", json=body)
    assert answer.status_code in {201, 409}, answer.text


def test_the_api_server_is_killed_in_the_middle(airflow: AirflowProcess, runs: Runs) -> None:
    add_consumer(airflow, "killed", "namespace='kill'")
    for number in range(100):
        if number == 50:
            airflow.wait_until(lambda: runs.count("killed") > 10, 120, "runs to be made")
            airflow.kill("api-server")
            airflow.close()
            with pytest.raises(httpx.TransportError):
                create(airflow, "kill", number)
            airflow.restart("api-server")
        create(airflow, "kill", number)
    airflow.wait_until(lambda: runs.count("killed", "success") >= 100, 600, "100 runs to succeed")
    assert runs.count("killed") == 100
    assert runs.numbers("killed") == list(range(100))


def test_the_api_server_is_killed_while_it_makes_runs(airflow: AirflowProcess, runs: Runs) -> None:
    add_consumer(airflow, "cut", "namespace='cut'", paused=True)
    burst(airflow, "cut", 1_000)
    airflow.wait_until(lambda: runs.count("cut") > 50, 120, "runs to be made")
    airflow.kill("api-server")
    airflow.close()
    before = runs.count("cut")
    assert before < 1_000
    airflow.restart("api-server")
    airflow.wait_until(lambda: runs.count("cut") >= 1_000, 600, "1,000 runs to be made")
    assert runs.numbers("cut") == list(range(1_000))


def test_two_schedulers(airflow: AirflowProcess, runs: Runs) -> None:
    add_consumer(airflow, "doubled", "namespace='double'")
    second = airflow.start_extra("scheduler")
    burst(airflow, "double", 100)
    airflow.wait_until(lambda: runs.count("doubled", "success") >= 100, 600, "100 runs to succeed")
    assert runs.count("doubled") == 100
    assert runs.numbers("doubled") == list(range(100))
    airflow.kill(second)


def test_never_more_than_max_pending_runs_are_queued(airflow: AirflowProcess, runs: Runs) -> None:
    add_consumer(airflow, "narrow", "namespace='narrow', max_pending=50", active=64)
    burst(airflow, "narrow", 500)
    most = 0

    def all_ended() -> bool:
        nonlocal most
        most = max(most, runs.count("narrow", "queued"))
        return runs.count("narrow", "success") >= 500

    airflow.wait_until(all_ended, 900, "500 runs to succeed")
    assert 0 < most <= 50
    assert runs.numbers("narrow") == list(range(500))


def test_ten_thousand_events_in_one_burst(airflow: AirflowProcess, runs: Runs) -> None:
    add_consumer(airflow, "flood", "namespace='flood', max_pending=10_000", paused=True)
    ages: list[float] = []

    def all_made() -> bool:
        beat = airflow.health().get("scheduler", {}).get("latest_scheduler_heartbeat")
        if beat:
            ages.append((datetime.now(timezone.utc) - datetime.fromisoformat(beat)).total_seconds())
        return runs.count("flood") >= 10_000

    began = time.monotonic()
    burst(airflow, "flood", 10_000)
    try:
        airflow.wait_until(all_made, 1_500, "10,000 runs to be made")
    finally:
        took = time.monotonic() - began
        print(f"{runs.count('flood'):,} runs in {took:.0f} s, oldest heartbeat {max(ages, default=0):.1f} s")
    assert runs.count("flood", "queued") == 10_000
    assert runs.numbers("flood") == list(range(10_000))
    assert max(ages) < 30

"""The wait route: what it finds, whom it refuses, and that nobody costs a thread while waiting."""

from __future__ import annotations

import threading
import time
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from airflow_assets.airflow_bridge import waiting
from airflow_assets.airflow_bridge.waiting import Room
from airflow_assets.api import routes
from airflow_assets.schemas.operations import API_PREFIX, MOUNT
from tests.airflow.api.conftest import caller, user_headers
from tests.airflow.api.test_task_tokens import token
from tests.support.processes import wait_until
from tests.support.task_rows import add_task

if TYPE_CHECKING:
    from tests.support.asgi import AsgiClient

PATH = f"{API_PREFIX}/events/wait"


def waits(client: AsgiClient) -> Any:
    mounted = next(route.app for route in client.app.routes if getattr(route, "path", "") == MOUNT)
    return mounted.state.waits


def put(admin: Any, asset_id: str, n: int, **members: Any) -> None:
    body = {"id": asset_id, "type": "t", "metadata": {"n": n}, **members}
    assert admin("POST", "/upsert", json=body).status_code == 200


def test_one_look_then_the_cursor_leads_on(admin: Any) -> None:
    name = f"wait.{uuid.uuid4().hex}"
    for n in range(3):
        put(admin, name, n)
    seen, after = [], 0
    while (
        answer := admin("POST", "/events/wait", json={"filter": {"assetId": name}, "after": after}).json()
    )["event"]:
        seen.append(answer["event"]["asset"]["metadata"]["n"])
        after = answer["cursor"]
    assert seen == [0, 1, 2]
    assert answer["cursor"] >= after
    empty = admin("POST", "/events/wait", json={"filter": {"assetId": name}}).json()
    assert empty["event"] is None
    assert empty["cursor"] >= after


def test_thirty_wait_at_once_and_the_api_serves_others(client: AsgiClient, admin: Any) -> None:
    """Three times as many as the API has threads."""
    space = f"wait_{uuid.uuid4().hex[:8]}"
    began, answers = time.monotonic(), []

    def wait() -> None:
        body = {"filter": {"namespace": space}, "timeout": 20}
        answers.append(admin("POST", "/events/wait", json=body).json())

    asking = [threading.Thread(target=wait) for _ in range(3 * routes.THREADS)]
    for thread in asking:
        thread.start()
    wait_until(lambda: waits(client).room.taken == len(asking), 20, "all to wait")
    put(admin, f"{space}.a", 1, namespace=f"{space}_not")
    put(admin, f"{space}.a", 2, namespace=space)
    for thread in asking:
        thread.join(30)
    assert [answer["event"]["asset"]["metadata"]["n"] for answer in answers] == [2] * len(asking)
    assert time.monotonic() - began < 18
    assert waits(client).room.taken == 0


def test_the_time_is_over(admin: Any) -> None:
    began = time.monotonic()
    answer = admin("POST", "/events/wait", json={"filter": {"assetId": "nobody"}, "timeout": 0.7, "after": 3})
    assert answer.status_code == 200
    assert answer.json()["event"] is None
    assert answer.json()["cursor"] >= 3
    assert 0.6 < time.monotonic() - began < 10


def test_one_too_many_is_told_when_to_come_back(
    client: AsgiClient, admin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert waiting.MAX_WAITERS == 2_000
    monkeypatch.setattr(waits(client).events, "_room", Room(0))
    answer = admin("POST", "/events/wait", json={"timeout": 1})
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert answer.json()["type"].endswith("catalog-unavailable")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"timeout": 25.1}, "timeout"),
        ({"timeout": -1}, "timeout"),
        ({"after": -1}, "after"),
        ({"keepFor": "me"}, "keepFor"),
        ({"filter": {"events": ["GONE"]}}, "events"),
    ],
)
def test_a_broken_request_is_named(admin: Any, body: dict[str, Any], field: str) -> None:
    answer = admin("POST", "/events/wait", json=body)
    assert answer.status_code == 422
    assert answer.json()["field"] == field


def test_who_may_keep_a_place(client: AsgiClient, admin: Any) -> None:
    task, other = add_task("running"), add_task("running")
    as_task = caller(client, {"Authorization": f"Bearer {token(task.claims())}"})
    own = {"keepFor": task.ti_id, "resume": True}
    assert as_task("POST", "/events/wait", json=own).status_code == 200
    foreign = as_task("POST", "/events/wait", json={"keepFor": other.ti_id})
    assert foreign.status_code == 403
    assert other.ti_id in foreign.json()["detail"]
    assert admin("POST", "/events/wait", json=own).status_code == 403
    as_trigger = caller(client, {"Authorization": f"Bearer {token({'sub': 'trigger:7'})}"})
    assert as_trigger("POST", "/events/wait", json={"keepFor": task.ti_id, "after": 1}).status_code == 200
    assert as_trigger("POST", "/events/wait", json=own).status_code == 403


def test_a_viewer_may_wait_and_nobody_unknown(client: AsgiClient) -> None:
    assert client.post(PATH, json={}, headers=user_headers("viewer")).status_code == 200
    assert client.post(PATH, json={}).status_code == 401

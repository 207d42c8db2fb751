"""The event loop, which also carries the heartbeats of tasks, only moves bytes: all work is done in worker threads."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from airflow_assets.airflow_bridge import context, task_instances, users
from airflow_assets.api import routes
from airflow_assets.schemas.operations import API_PREFIX
from tests.airflow.api.conftest import user_headers
from tests.airflow.api.test_task_tokens import token
from tests.support.task_rows import add_task

if TYPE_CHECKING:
    from tests.support.asgi import AsgiClient


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Which thread did what, by name of the function."""
    seen: dict[str, str] = {}

    def watch(owner: Any, name: str) -> None:
        original = getattr(owner, name)

        def noted(*args: Any, **kwargs: Any) -> Any:
            seen[name] = threading.current_thread().name
            return original(*args, **kwargs)

        monkeypatch.setattr(owner, name, noted)

    watch(routes, "parse_body")
    watch(routes, "parse_query")
    watch(routes, "caller_of")
    watch(routes, "_answer")
    watch(users, "may_access_assets")
    watch(task_instances, "find_try")
    watch(context.get_service(), "upsert_asset")
    return seen


@pytest.mark.parametrize("who", ["task", "user"])
def test_nothing_runs_in_the_event_loop(client: AsgiClient, threads: dict[str, str], who: str) -> None:
    headers = user_headers("op")
    if who == "task":
        headers = {"Authorization": f"Bearer {token(add_task('running').claims())}"}
    loop = client.portal.call(lambda: threading.current_thread().name)
    answer = client.post(f"{API_PREFIX}/upsert", json={"id": "threads", "type": "t"}, headers=headers)
    assert answer.status_code == 200, answer.text
    checks = {"task": {"find_try"}, "user": {"may_access_assets"}}[who]
    assert set(threads) == {"parse_body", "parse_query", "caller_of", "_answer", "upsert_asset"} | checks
    assert loop not in threads.values()


def test_ten_requests_are_served_at_once_and_the_eleventh_waits(
    client: AsgiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert routes.THREADS == 10
    full, go = threading.Semaphore(0), threading.Event()
    service = context.get_service()
    original = service.search_assets

    def slow(*args: Any) -> Any:
        full.release()
        assert go.wait(30)
        return original(*args)

    monkeypatch.setattr(service, "search_assets", slow)
    answers: list[int] = []
    headers = user_headers("op")

    def ask() -> None:
        answers.append(client.get(f"{API_PREFIX}/assets", headers=headers).status_code)

    asking = [threading.Thread(target=ask) for _ in range(routes.THREADS + 1)]
    for thread in asking:
        thread.start()
    for _ in range(routes.THREADS):
        assert full.acquire(timeout=30)
    # All threads are taken, and still the loop answers what needs none.
    assert client.get(f"{API_PREFIX}/assets").status_code == 401
    assert not full.acquire(blocking=False)
    go.set()
    for thread in asking:
        thread.join(30)
    assert answers == [200] * len(asking)

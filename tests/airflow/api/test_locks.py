"""The routes of locks, as tasks of Airflow's own runs and as people: what the API adds to the catalogue."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import pytest

from airflow_assets.schemas.credentials import FENCING_HEADER
from airflow_assets.schemas.fencing import fencing_header
from tests.airflow.api.conftest import caller, user_headers
from tests.airflow.api.test_routes import problem
from tests.airflow.api.test_task_tokens import token
from tests.support.task_rows import TaskRow, add_task

if TYPE_CHECKING:
    from tests.support.asgi import AsgiClient


@pytest.fixture
def asset(admin: Any) -> str:
    name = f"locked-{uuid.uuid4().hex}"
    admin("POST", "/assets", json={"id": name, "type": "t"})
    return name


@pytest.fixture
def as_task(client: AsgiClient) -> Any:
    def send(row: TaskRow, method: str, path: str, **arguments: Any) -> Any:
        return caller(client, {"Authorization": f"Bearer {token(row.claims())}"})(method, path, **arguments)

    return send


def change_run(row: TaskRow, **values: Any) -> None:
    """Change the task's run, or with ``state=None`` delete it."""
    from airflow.models.dagrun import DagRun
    from airflow.utils.session import create_session
    from sqlalchemy import delete, update

    mine = (DagRun.dag_id == row.dag_id, DagRun.run_id == row.run_id)
    with create_session(scoped=False) as session:
        if values:
            session.execute(update(DagRun).where(*mine).values(values))
            return
        from airflow.models.taskinstance import TaskInstance

        session.execute(delete(TaskInstance).where(TaskInstance.run_id == row.run_id))
        session.execute(delete(DagRun).where(*mine))


def acquire(call: Any, asset: str, **more: Any) -> Any:
    return call("POST", "/locks/acquire", json={"assetIds": [asset], **more})


def test_a_task_locks_for_its_run_and_others_are_refused(as_task: Any, admin: Any, asset: str) -> None:
    mine, other = add_task("running", map_index=2), add_task("running")
    [lease] = acquire(lambda *a, **k: as_task(mine, *a, **k), asset, ttl="PT1M").json()["leases"]
    assert lease == {
        "assetId": asset, "ownerType": "EXECUTION", "owner": f"shop / {mine.run_id}",
        "executionId": mine.run_id, "dagId": "shop", "runId": mine.run_id, "taskId": "load", "mapIndex": 2,
        "tryNumber": 1, "user": None, "fencingToken": 1, "acquired": lease["acquired"],
        "lockedUntil": lease["lockedUntil"], "ttl": "PT1M", "holdAfterRun": False,
    }  # fmt: skip
    for refused in (
        acquire(lambda *a, **k: as_task(other, *a, **k), asset),
        as_task(other, "PUT", f"/assets/{asset}", json={"description": "x"}),
        admin("DELETE", f"/assets/{asset}"),
        admin("POST", "/upsert", json={"id": asset}),
        admin("POST", "/rename", json={"oldId": asset, "newId": asset + "x"}),
    ):
        document = problem(refused, 423, "asset-locked")
        assert (document["owner"], document["ownerType"]) == (f"shop / {mine.run_id}", "EXECUTION")
        assert (document["assetId"], document["lockedUntil"]) == (asset, lease["lockedUntil"])
    assert as_task(mine, "PUT", f"/assets/{asset}", json={"description": "mine"}).status_code == 200
    assert admin("GET", f"/assets/{asset}").json()["lock"]["runId"] == mine.run_id
    listed = admin("GET", "/assets", params={"locked": "true", "ids": [asset]}).json()["items"]
    assert [one["lock"]["fencingToken"] for one in listed] == [1]
    assert admin("GET", "/locks", params={"assetId": asset}).json()["items"][0]["owner"] == lease["owner"]
    released = as_task(mine, "POST", "/locks/release", json={"assetIds": [asset]})
    assert released.json() == {"released": [asset]}


@pytest.mark.parametrize("end", [{"state": "failed"}, {"state": "success"}, {}], ids=str)
def test_the_lock_of_an_ended_or_deleted_run_is_free(
    as_task: Any, admin: Any, asset: str, end: dict[str, Any]
) -> None:
    mine, other = add_task("running"), add_task("running")
    held = f"{asset}-held"
    admin("POST", "/assets", json={"id": held, "type": "t"})
    acquire(lambda *a, **k: as_task(mine, *a, **k), asset)
    acquire(lambda *a, **k: as_task(mine, *a, **k), held, holdAfterRun=True)
    change_run(mine, **end)
    assert admin("GET", f"/assets/{asset}").json()["lock"] is None
    assert admin("GET", f"/assets/{held}").json()["lock"]["holdAfterRun"] is True
    [lease] = acquire(lambda *a, **k: as_task(other, *a, **k), asset).json()["leases"]
    assert (lease["runId"], lease["fencingToken"]) == (other.run_id, 2)
    problem(admin("PUT", f"/assets/{held}", json={"description": "x"}), 423, "asset-locked")


def test_a_clear_of_the_run_begins_a_new_tenure(as_task: Any, asset: str) -> None:
    mine = add_task("running")
    as_mine = lambda *a, **k: as_task(mine, *a, **k)  # noqa: E731
    assert acquire(as_mine, asset).json()["leases"][0]["fencingToken"] == 1
    assert acquire(as_mine, asset).json()["leases"][0]["fencingToken"] == 1
    change_run(mine, clear_number=1)
    assert acquire(as_mine, asset).json()["leases"][0]["fencingToken"] == 2
    late = as_task(
        mine, "PUT", f"/assets/{asset}", json={"description": "x"},
        headers={FENCING_HEADER: fencing_header({asset: 1})},
    )  # fmt: skip
    document = problem(late, 423, "asset-locked")
    assert (document["fencingToken"], document["currentFencingToken"]) == (1, 2)
    in_time = as_task(
        mine, "PUT", f"/assets/{asset}", json={"description": "x"},
        headers={FENCING_HEADER: fencing_header({asset: 2})},
    )  # fmt: skip
    assert in_time.status_code == 200


def test_a_record_meets_a_foreign_lock(as_task: Any, admin: Any, asset: str) -> None:
    acquire(admin, asset)
    row = add_task("running")
    outputs = [{"id": name, "type": "t"} for name in (asset, f"{asset}-free")]
    sent = {"task": row.as_json(), "state": "success", "bundles": [{"outputs": outputs}]}
    result = as_task(row, "POST", "/record", json=sent).json()
    assert result["stored"] == [f"{asset}-free"]
    [found] = result["problems"]
    assert (found["assetId"], found["problem"]["status"]) == (asset, 423)
    assert found["problem"]["type"] == "urn:airflow-assets:problem:asset-locked"


def test_forced_unlock_is_noted(admin: Any, client: AsgiClient, asset: str) -> None:
    operator = caller(client, user_headers("op"))
    acquire(operator, asset)
    problem(acquire(admin, asset), 423, "asset-locked")
    refused = admin("POST", "/locks/force-unlock", json={"assetId": asset, "reason": "  "})
    assert problem(refused, 422, "invalid-request")["field"] == "reason"
    done = admin("POST", "/locks/force-unlock", json={"assetId": asset, "reason": "gone home"}).json()
    assert done["unlocked"]["lease"]["user"] == "op"
    [noted] = admin("GET", "/locks/forced", params={"assetId": asset}).json()["items"]
    assert (noted["reason"], noted["source"]["user"]) == ("gone home", "admin")
    again = admin("POST", "/locks/force-unlock", json={"assetId": asset, "reason": "once more"})
    assert again.json() == {"unlocked": None}
    assert acquire(admin, asset).json()["leases"][0]["fencingToken"] == 3


def test_who_may_lock(as_task: Any, client: AsgiClient, asset: str) -> None:
    ended = add_task("success")
    problem(acquire(lambda *a, **k: as_task(ended, *a, **k), asset), 403, "not-permitted")
    for role in ("viewer", "user"):
        problem(acquire(caller(client, user_headers(role)), asset), 403, "not-permitted")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"ttl": "PT0.5S"}, "ttl"),
        ({"ttl": "P2D"}, "ttl"),
        ({"ttl": "soon"}, "ttl"),
        ({"assetIds": []}, "assetIds"),
        ({"scope": "everybody"}, "scope"),
        ({"waitId": "me"}, "waitId"),
    ],
)
def test_what_a_request_may_say(admin: Any, asset: str, body: dict[str, Any], field: str) -> None:
    answer = admin("POST", "/locks/acquire", json={"assetIds": [asset], **body})
    assert problem(answer, 422, "invalid-request")["field"] == field


@pytest.mark.parametrize("header", ["not base64 !", "bm8=", "WzFd", fencing_header({"a": 1})[:-4] + "!"])
def test_a_header_that_cannot_be_read(admin: Any, asset: str, header: str) -> None:
    answer = admin("PUT", f"/assets/{asset}", json={"description": "x"}, headers={FENCING_HEADER: header})
    assert problem(answer, 422, "invalid-request")["field"] == FENCING_HEADER

"""What a task, a trigger and a Dag file may do with the token they sign themselves."""

from __future__ import annotations

import base64
import json
import time
import uuid
import warnings
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import jwt
import pytest

from airflow_assets.schemas.credentials import ALGORITHM, AUDIENCE, Claims
from airflow_assets.schemas.operations import API_PREFIX
from tests.airflow.api.conftest import caller, user_headers
from tests.support.task_rows import TaskRow, add_task

if TYPE_CHECKING:
    from tests.support.asgi import AsgiClient


def secret() -> bytes:
    from airflow_assets.airflow_bridge.managed_connection import resolve_secrets

    return resolve_secrets()[0]


def token(
    claims: Claims | dict[str, Any], *, key: bytes | None = None, life: int = 60, **changes: Any
) -> str:
    said = claims.to_json() if isinstance(claims, Claims) else claims
    now = int(time.time())
    payload = {"aud": AUDIENCE, "iat": now, "exp": now + life, **said} | changes
    payload = {name: value for name, value in payload.items() if value is not ...}
    return jwt.encode(payload, key or secret(), algorithm=ALGORITHM)


@pytest.fixture
def as_task(client: AsgiClient) -> Any:
    def send(row: TaskRow, method: str, path: str, **arguments: Any) -> Any:
        return caller(client, {"Authorization": f"Bearer {token(row.claims())}"})(method, path, **arguments)

    return send


def refused(answer: Any, status: int, text: str) -> None:
    assert answer.status_code == status, answer.text
    problem = answer.json()
    assert text in problem["detail"] + (problem.get("hint") or ""), problem


def record(row: TaskRow, **changes: Any) -> dict[str, Any]:
    output = {"id": f"out-{row.ti_id}", "type": "t"}
    return {"task": row.as_json(**changes), "state": "success", "bundles": [{"outputs": [output]}]}


@pytest.mark.parametrize("state", ["running", "deferred"])
def test_a_running_task_reads_and_writes_as_itself(as_task: Any, admin: Any, state: str) -> None:
    row = add_task(state)
    asset = {"id": f"of-{row.ti_id}", "type": "t"}
    assert as_task(row, "POST", "/assets", json=asset).status_code == 201
    assert as_task(row, "GET", f"/assets/of-{row.ti_id}").status_code == 200
    [event] = admin("GET", "/events", params={"assetId": asset["id"]}).json()["items"]
    assert event["source"] == {
        "kind": "task", "user": None, "dagId": "shop", "runId": row.run_id, "taskId": "load", "mapIndex": -1,
        "tryNumber": 1, "tiId": row.ti_id,
    }  # fmt: skip


@pytest.mark.parametrize(
    "state", [None, "queued", "success", "failed", "up_for_retry", "skipped", "restarting"]
)
def test_a_task_that_does_not_run_only_reads(as_task: Any, state: str | None) -> None:
    row = add_task(state, ended=timedelta(hours=1))
    assert as_task(row, "GET", "/assets").status_code == 200
    refused(as_task(row, "POST", "/assets", json={"id": "x", "type": "t"}), 403, "not running or deferred")
    refused(as_task(row, "DELETE", "/assets/x"), 403, "DELETE")
    refused(as_task(row, "POST", "/batch", json={"items": []}), 403, "UPDATE")
    refused(as_task(row, "POST", "/record", json=record(row)), 403, "RECORD")


@pytest.mark.parametrize("history", [False, True])
@pytest.mark.parametrize(("minutes", "accepted"), [(9, True), (11, False)])
def test_a_try_is_recorded_until_ten_minutes_after_its_end(
    as_task: Any, history: bool, minutes: int, accepted: bool
) -> None:
    row = add_task("failed", ended=timedelta(minutes=minutes), history=history)
    answer = as_task(row, "POST", "/record", json=record(row))
    assert answer.status_code == (200 if accepted else 403), answer.text
    refused(as_task(row, "POST", "/assets", json={"id": "late", "type": "t"}), 403, "this try is failed")


@pytest.mark.parametrize(
    "other", [{"dagId": "other"}, {"runId": "other"}, {"taskId": "other"}, {"mapIndex": 0}, {"tryNumber": 2}]
)
def test_a_task_records_its_own_try_only(as_task: Any, other: dict[str, Any]) -> None:
    row = add_task("running")
    refused(as_task(row, "POST", "/record", json=record(row, **other)), 403, "only its own try")
    correction = {"task": row.as_json(**other), "state": "failed"}
    refused(as_task(row, "POST", "/record/state", json=correction), 403, "only its own try")
    assert as_task(row, "POST", "/record", json=record(row)).status_code == 200


def test_a_mapped_task_records_its_own_index(as_task: Any) -> None:
    row = add_task("running", map_index=3)
    assert as_task(row, "POST", "/record", json=record(row)).json()["stored"] == [f"out-{row.ti_id}"]


@pytest.mark.parametrize("role", ["viewer", "admin"])
def test_people_do_not_record(client: AsgiClient, role: str) -> None:
    row = add_task("running")
    answer = caller(client, user_headers(role))("POST", "/record", json=record(row))
    refused(answer, 403, "only a task")


def test_under_task_auth_user_a_user_that_may_write_records(
    client: AsgiClient, monkeypatch: pytest.MonkeyPatch, admin: Any
) -> None:
    monkeypatch.setenv("AIRFLOW__AIRFLOW_ASSETS__TASK_AUTH", "user")
    row = add_task("running")
    assert admin("POST", "/record", json=record(row)).status_code == 200
    refused(
        caller(client, user_headers("viewer"))("POST", "/record", json=record(row)), 403, "POST on assets"
    )
    [event] = admin("GET", "/events", params={"assetId": f"out-{row.ti_id}"}).json()["items"]
    assert (event["source"]["kind"], event["source"]["user"], event["source"]["taskId"]) == (
        "task",
        "admin",
        "load",
    )


@pytest.mark.parametrize(("mode", "hint"), [("user", "token or a login"), ("off", "no access")])
def test_managed_tokens_can_be_switched_off(
    as_task: Any, monkeypatch: pytest.MonkeyPatch, mode: str, hint: str
) -> None:
    monkeypatch.setenv("AIRFLOW__AIRFLOW_ASSETS__TASK_AUTH", mode)
    refused(as_task(add_task("running"), "GET", "/assets"), 401, hint)


def test_a_trigger_lists_and_views(client: AsgiClient, admin: Any) -> None:
    admin("POST", "/upsert", json={"id": "seen", "type": "t"})
    call = caller(client, {"Authorization": f"Bearer {token(Claims(sub='trigger:4711'))}"})
    assert call("GET", "/assets").status_code == 200
    assert call("GET", "/assets/seen").status_code == 200
    refused(call("POST", "/upsert", json={"id": "seen", "type": "t"}), 403, "only LIST, VIEW")
    refused(call("POST", "/record", json=record(add_task("running"))), 403, "RECORD")


def test_a_dag_file_lists(client: AsgiClient, admin: Any) -> None:
    admin("POST", "/upsert", json={"id": "seen", "type": "t"})
    call = caller(client, {"Authorization": f"Bearer {token(Claims(sub='parse:dags/shop.py'))}"})
    assert call("GET", "/assets").status_code == 200
    refused(call("GET", "/assets/seen"), 403, "only LIST")
    refused(call("DELETE", "/assets/seen"), 403, "DELETE")


def wrong_tokens() -> dict[str, tuple[Any, str]]:
    now = int(time.time())
    return {
        "another secret": (lambda c: token(c, key=b"x" * 43), "another secret"),
        "expired": (lambda c: token(c, iat=now - 120, exp=now - 61), "not valid now"),
        "from the future": (lambda c: token(c, iat=now + 60, exp=now + 90), "not valid now"),
        "lives too long": (lambda c: token(c, life=61), "at most 60 s"),
        "never ends": (lambda c: token(c, exp=...), "exp"),
        "no begin": (lambda c: token(c, iat=...), "iat"),
        "no subject": (lambda c: token(c, sub=...), "sub"),
        "unknown subject": (lambda c: token(c, sub="root:1"), "subject"),
        "more claims": (lambda c: token(c, admin=True), "claims"),
        "unknown task": (lambda c: token(c, sub=f"ti:{uuid.uuid4()}"), "no task instance"),
        "no uuid": (lambda c: token(c, sub="ti:' OR 1=1"), "no task instance"),
        "another dag": (lambda c: token(c, dagId="other"), "Airflow says"),
        "another try": (lambda c: token(c, tryNumber=2), "Airflow says"),
        "text instead of times": (lambda c: token(c, exp="soon"), "not valid"),
    }


@pytest.mark.parametrize("kind", wrong_tokens())
def test_a_wrong_token_is_refused_with_its_reason(client: AsgiClient, kind: str) -> None:
    make, text = wrong_tokens()[kind]
    bad = make(add_task("running").claims())
    answer = client.get(f"{API_PREFIX}/assets", headers={"Authorization": f"Bearer {bad}"})
    refused(answer, 401, text)
    assert answer.headers["www-authenticate"] == "Bearer"


def test_the_algorithm_is_fixed(client: AsgiClient) -> None:
    claims = add_task("running").claims().to_json()
    now = int(time.time())
    payload = {"aud": AUDIENCE, "iat": now, "exp": now + 30, **claims}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jwt.warnings.InsecureKeyLengthWarning)
        stronger = jwt.encode(payload, secret(), algorithm="HS512")
    head = base64.urlsafe_b64encode(json.dumps({"alg": "HS256"}).encode()).rstrip(b"=").decode()
    unsigned = jwt.encode(payload, None, algorithm="none")
    others = [stronger, unsigned, f"{head}.{stronger.split('.')[1]}."]
    for bad in others:
        answer = client.get(f"{API_PREFIX}/assets", headers={"Authorization": f"Bearer {bad}"})
        assert answer.status_code == 401, answer.text


def test_the_token_is_no_token_of_airflow(client: AsgiClient) -> None:
    from airflow.api_fastapi.core_api.security import resolve_user_from_token
    from fastapi import HTTPException

    managed = token(add_task("running").claims())
    with pytest.raises(HTTPException):
        client.portal.call(resolve_user_from_token, managed)


def test_after_a_rotation_both_secrets_are_accepted_for_a_while(client: AsgiClient) -> None:
    from airflow_assets.airflow_bridge.managed_connection import rotate_secret

    row = add_task("running")
    old = token(row.claims())
    before = secret()
    rotate_secret()
    new = token(row.claims())
    assert secret() != before
    for managed in (old, new):
        answer = client.get(f"{API_PREFIX}/assets", headers={"Authorization": f"Bearer {managed}"})
        assert answer.status_code == 200, answer.text


def test_tokens_of_strangers_read_the_secret_once_a_second(
    client: AsgiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow_assets.airflow_bridge import managed_connection
    from airflow_assets.api import authentication

    monkeypatch.setattr(authentication, "_refresh", authentication._Refresh())
    monkeypatch.setattr(authentication, "REFRESH_EVERY", 600.0)
    fresh: list[bool] = []
    original = managed_connection.resolve_secrets

    def counted(**options: bool) -> list[bytes]:
        fresh.append(options.get("fresh", False))
        return original(**options)

    monkeypatch.setattr(managed_connection, "resolve_secrets", counted)
    bad = token(add_task("running").claims(), key=b"x" * 43)
    for _ in range(3):
        refused(
            client.get(f"{API_PREFIX}/assets", headers={"Authorization": f"Bearer {bad}"}),
            401,
            "another secret",
        )
    assert fresh.count(True) == 1


def test_the_session_cookie_is_the_ui(client: AsgiClient, admin: Any) -> None:
    from airflow.api_fastapi.app import get_auth_manager
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser

    cookie = get_auth_manager().generate_jwt(SimpleAuthManagerUser(username="ann", role="op"))
    call = caller(client, {"Cookie": f"_token={cookie}"})
    assert call("POST", "/upsert", json={"id": "by-hand", "type": "t"}).status_code == 200
    [event] = admin("GET", "/events", params={"assetId": "by-hand"}).json()["items"]
    assert (event["source"]["kind"], event["source"]["user"]) == ("ui", "ann")
    [change] = admin("GET", "/history", params={"assetId": "by-hand"}).json()["items"]
    assert change["source"]["user"] == "ann"
    form = call(
        "POST", "/upsert", content=b'{"id": "by-hand", "type": "t"}', headers={"Content-Type": "text/plain"}
    )
    refused(form, 422, "not JSON")

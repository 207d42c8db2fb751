"""`[airflow_assets] namespaces` as callers meet it: naming, and what is hidden from other teams."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from airflow_assets.schemas.credentials import Claims
from tests.airflow.api.conftest import caller
from tests.airflow.api.test_task_tokens import token
from tests.support.task_rows import add_task

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.asgi import AsgiClient

OPTION = "AIRFLOW__AIRFLOW_ASSETS__NAMESPACES"


@pytest.mark.parametrize(
    ("method", "path", "arguments"),
    [
        ("GET", "/assets", {"params": {"namespace": "ops"}}),
        ("POST", "/search", {"json": {"namespace": "ops"}}),
        ("POST", "/facets", {"json": {"namespace": "ops", "facets": ["type"]}}),
        ("GET", "/events", {"params": {"namespace": "ops"}}),
    ],
)
def test_naming_a_namespace_that_another_does_not_allow(
    admin: Any, monkeypatch: pytest.MonkeyPatch, method: str, path: str, arguments: dict[str, Any]
) -> None:
    assert admin(method, path, **arguments).status_code == 200
    monkeypatch.setenv(OPTION, json.dumps({"finance": {"allowed": ["reporting"]}}))
    answer = admin(method, path, **arguments)
    assert answer.status_code == 403
    assert answer.json()["type"].endswith("namespace-not-allowed")
    assert "All namespaces are not allowed" in answer.json()["detail"]
    allowed = json.loads(json.dumps(arguments).replace("ops", "reporting"))
    assert admin(method, path, **allowed).status_code == 200


def test_writing_into_a_namespace_is_no_filter(admin: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OPTION, json.dumps({"finance": {"allowed": []}}))
    asset = {"id": uuid.uuid4().hex, "type": "t", "namespace": "ops"}
    assert admin("POST", "/assets", json=asset).status_code == 201


def team_member(client: AsgiClient, *teams: str) -> Any:
    from airflow.api_fastapi.app import get_auth_manager
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser

    user = SimpleAuthManagerUser(username="-".join(teams) or "alone", role="op", teams=list(teams))
    return caller(client, {"Authorization": f"Bearer {get_auth_manager().generate_jwt(user)}"})


def test_a_namespace_of_a_team_does_not_exist_for_others(
    client: AsgiClient, admin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = uuid.uuid4().hex
    ids = {space: f"{name}-{space}" for space in ("closed", "closed.eu", "open")}
    for space, asset_id in ids.items():
        admin("POST", "/assets", json={"id": asset_id, "type": name, "namespace": space})
    monkeypatch.setenv(OPTION, json.dumps({"closed": {"teams": ["controllers"]}}))
    without_teams = team_member(client, "others")
    assert len(without_teams("GET", "/assets", params={"types": [name]}).json()["items"]) == 3
    monkeypatch.setenv("AIRFLOW__CORE__MULTI_TEAM", "True")

    def seen(call: Any) -> set[str]:
        return {asset["id"] for asset in call("GET", "/assets", params={"types": [name]}).json()["items"]}

    assert seen(team_member(client, "controllers", "others")) == set(ids.values())
    for outsider in (team_member(client, "others"), team_member(client)):
        assert seen(outsider) == {ids["open"]}
        assert outsider("GET", f"/assets/{ids['closed.eu']}").status_code == 404
        facets = outsider("POST", "/facets", json={"facets": ["type"], "types": [name]}).json()
        assert facets["total"] == 1
        events = outsider("GET", "/events", params={"assetType": name}).json()["items"]
        assert {event["asset"]["id"] for event in events} == {ids["open"]}
        assert f'{{type="{name}"}} 1' in outsider("GET", "/metrics").text


@pytest.fixture
def shop_of_the_controllers(client: AsgiClient) -> Iterator[None]:
    """The Dag `shop` comes from a bundle of the team `controllers`."""
    from airflow.models.dag import DagModel
    from airflow.models.dagbundle import DagBundleModel
    from airflow.models.team import Team
    from airflow.utils.session import create_session

    with create_session(scoped=False) as session:
        bundle = DagBundleModel(name="controllers-dags")
        bundle.teams = [Team(name="controllers")]
        session.add(bundle)
        session.flush()
        session.add(DagModel(dag_id="shop", bundle_name=bundle.name))
    yield
    with create_session(scoped=False) as session:
        for model, key in ((DagModel, "shop"), (DagBundleModel, "controllers-dags"), (Team, "controllers")):
            session.delete(session.get(model, key))
            session.flush()


def test_a_task_has_the_team_of_its_dag_and_a_trigger_that_of_the_waiting_task(
    client: AsgiClient, admin: Any, monkeypatch: pytest.MonkeyPatch, shop_of_the_controllers: None
) -> None:
    name = uuid.uuid4().hex
    admin("POST", "/assets", json={"id": name, "type": name, "namespace": "closed"})
    monkeypatch.setenv("AIRFLOW__CORE__MULTI_TEAM", "True")
    callers = {
        "own": add_task("running").claims(),
        "other": add_task("running", dag_id="elsewhere").claims(),
        "trigger": Claims(sub=f"trigger:{add_task('deferred', trigger=True).trigger_id}"),
        "unknown trigger": Claims(sub="trigger:999999"),
        "dag file": Claims(sub="parse:dags/shop.py"),
    }

    def seen(team: str) -> dict[str, int]:
        monkeypatch.setenv(OPTION, json.dumps({"closed": {"teams": [team]}}))
        found = {}
        for who, claims in callers.items():
            call = caller(client, {"Authorization": f"Bearer {token(claims)}"})
            found[who] = len(call("GET", "/assets", params={"types": [name]}).json()["items"])
        return found

    assert seen("controllers") == {"own": 1, "other": 0, "trigger": 1, "unknown trigger": 0, "dag file": 0}
    assert set(seen("others").values()) == {0}


def test_a_hidden_namespace_takes_no_writes(
    client: AsgiClient, admin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = uuid.uuid4().hex
    admin("POST", "/assets", json={"id": name, "type": "t", "namespace": "closed"})
    monkeypatch.setenv(OPTION, json.dumps({"closed": {"teams": ["controllers"]}}))
    monkeypatch.setenv("AIRFLOW__CORE__MULTI_TEAM", "True")
    outsider = team_member(client, "others")
    assert outsider("PUT", f"/assets/{name}", json={"description": "x"}).status_code == 404
    assert outsider("DELETE", f"/assets/{name}").status_code == 404
    into = outsider("POST", "/assets", json={"id": f"{name}-new", "type": "t", "namespace": "closed.eu"})
    assert into.status_code == 403
    assert into.json()["type"].endswith("namespace-not-allowed")
    over = outsider("POST", "/upsert", json={"id": name, "type": "mine"})
    assert over.status_code in {403, 404, 409}, over.text
    # SimpleAuthManager takes an admin for a member of every team.
    assert admin("GET", f"/assets/{name}").json()["type"] == "t"

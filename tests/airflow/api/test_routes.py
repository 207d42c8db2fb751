"""The routes end to end, over HTTP semantics, with the real service on a real database."""

from __future__ import annotations

import itertools
import json
import uuid
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from sqlalchemy import event as sqlalchemy_event

from airflow_assets.api.arguments import MAX_BODY
from airflow_assets.schemas.assets import AssetInput, AssetRef
from airflow_assets.schemas.lineage import Bundle, TaskRun, TaskRunRecord, TaskState
from airflow_assets.schemas.operations import API_PREFIX, OPERATIONS
from tests.airflow.api.conftest import caller, user_headers
from tests.support.catalog_rows import CALLER

if TYPE_CHECKING:
    from tests.support.asgi import AsgiClient

AWKWARD = (
    "/",
    "?",
    "#",
    "%",
    "@",
    ":",
    "%2F",
    "%25",
    "&",
    "=",
    "+",
    " ",
    ";",
    "\\",
    "..",
    "//",
    "ä",
    "😀",
    "\u00a0x",
)


def table(asset_id: str, **more: Any) -> dict[str, Any]:
    return {"id": asset_id, "type": "airflow_assets.types.Table", **more}


def problem(answer: Any, status: int, code: str) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    document: dict[str, Any] = answer.json()
    assert document["type"] == f"urn:airflow-assets:problem:{code}"
    return document


@pytest.mark.parametrize(
    "odd", AWKWARD + tuple("".join(pair) for pair in itertools.permutations("/?#%@:😀", 2))
)
def test_an_id_with_any_character_works_in_every_route(admin: Any, odd: str) -> None:
    asset_id = f"{uuid.uuid4().hex}{odd}x"
    path = "/assets/" + quote(asset_id, safe="")
    assert admin("POST", "/assets", json=table(asset_id)).json()["id"] == asset_id
    assert admin("GET", path).json()["id"] == asset_id
    assert admin("PUT", path, json={"description": odd}).json()["description"] == odd
    assert admin("POST", "/upsert", json=table(asset_id)).json()["asset"]["id"] == asset_id
    assert [a["id"] for a in admin("GET", "/assets", params={"ids": [asset_id]}).json()["items"]] == [
        asset_id
    ]
    events = admin("GET", "/events", params={"assetId": asset_id}).json()["items"]
    assert [e["event"] for e in events] == ["CREATED", "UPDATED", "UPDATED"]
    assert admin("GET", f"/events/{events[0]['id']}").json()["asset"]["id"] == asset_id
    assert len(admin("GET", "/history", params={"assetId": asset_id}).json()["items"]) == 3
    assert admin("GET", "/usages", params={"assetId": asset_id}).json()["items"] == []
    assert admin("GET", "/lineage", params={"assetId": asset_id}).json()["items"] == []
    assert admin("GET", "/dependencies", params={"assetId": asset_id}).json()["nodes"][0]["id"] == asset_id
    renamed = admin("POST", "/rename", json={"oldId": asset_id, "newId": asset_id + odd + "y"})
    assert renamed.json()["aliases"] == [asset_id]
    assert admin("DELETE", path).status_code == 204
    problem(admin("GET", path), 404, "asset-not-found")
    assert admin("GET", path, params={"includeDeleted": "true"}).json()["deleted"] is True


@pytest.mark.parametrize("tail", ["events", "x/events", "openapi.json", "/", "//", "health"])
def test_no_id_is_taken_for_another_route(admin: Any, tail: str) -> None:
    prefix = uuid.uuid4().hex
    for asset_id in (f"{prefix}/{tail}", f"{tail}/{prefix}" if tail.strip("/") else f"/{prefix}"):
        assert admin("POST", "/assets", json=table(asset_id)).status_code == 201
        assert admin("GET", f"/assets/{asset_id}").json()["id"] == asset_id
        assert admin("GET", f"/assets/{quote(asset_id, safe='')}").json()["id"] == asset_id


@pytest.mark.parametrize("path", ["/assets/", "/assets/%20", "/assets/self", "/assets/%00"])
def test_what_is_no_id_is_refused(admin: Any, path: str) -> None:
    problem(admin("GET", path), 422, "invalid-asset")


def test_creating_twice_is_a_conflict(admin: Any) -> None:
    asset = table(uuid.uuid4().hex)
    first = admin("POST", "/assets", json=asset)
    assert first.status_code == 201
    assert set(first.json()) == {
        "id", "type", "namespace", "displayName", "description", "metadata", "uri", "group", "tenantId", "created",
        "updated", "deleted", "aliases", "lock", "freshness",
    }  # fmt: skip
    assert asset["id"] in problem(admin("POST", "/assets", json=asset), 409, "asset-already-exists")["detail"]


def test_a_batch_answers_each_item(admin: Any) -> None:
    name = uuid.uuid4().hex
    items = [
        {"action": "create", "asset": table(name)},
        {"action": "create", "asset": table(name)},
        {"action": "delete", "id": f"{name}-none"},
        {"action": "update", "id": name, "changes": {"metadata": {"n": 1}}},
    ]
    results = admin("POST", "/batch", json={"items": items}).json()["items"]
    assert [item["status"] for item in results] == [201, 409, 404, 200]
    assert results[1]["problem"]["type"].endswith("asset-already-exists")


def test_namespace_null_is_not_the_same_as_left_out(admin: Any) -> None:
    name = uuid.uuid4().hex
    admin("POST", "/assets", json=table(name, namespace="ops"))
    assert admin("PUT", f"/assets/{name}", json={"description": "d"}).json()["namespace"] == "ops"
    assert admin("PUT", f"/assets/{name}", json={"namespace": None}).json()["namespace"] is None


def test_search_by_address_and_by_body_agree(admin: Any) -> None:
    name = uuid.uuid4().hex
    for n in range(5):
        admin("POST", "/assets", json=table(f"{name}-{n}", metadata={"run": name, "n": n}))
    conditions = [
        {"field": "run", "type": "EQUAL_TO", "value": name},
        {"field": "n", "type": "GREATER_THAN", "value": 1},
    ]
    by_body = admin("POST", "/search", json={"metadataQuery": conditions, "sort": "-id", "limit": 2}).json()
    by_address = admin(
        "GET", "/assets", params={"metadataQuery": json.dumps(conditions), "sort": "-id", "limit": 2}
    ).json()
    for page in (by_address, by_body):
        for asset in page["items"]:
            assert asset.pop("freshness")["age"] >= 0  # another at each look
    assert by_address == by_body
    assert [asset["id"] for asset in by_body["items"]] == [f"{name}-4", f"{name}-3"]
    rest = admin(
        "GET", "/assets",
        params={"metadataQuery": json.dumps(conditions), "sort": "-id", "cursor": by_body["nextCursor"]},
    ).json()  # fmt: skip
    assert [asset["id"] for asset in rest["items"]] == [f"{name}-2"]
    assert rest["nextCursor"] is None
    problem(admin("GET", "/assets", params={"cursor": "x"}), 400, "invalid-cursor")
    facets = admin("POST", "/facets", json={"facets": ["type"], "metadataQuery": conditions}).json()
    assert facets["facets"][0]["values"] == [{"value": "airflow_assets.types.Table", "count": 3}]


def test_tenants_are_apart(admin: Any) -> None:
    name = uuid.uuid4().hex
    other = {"X-Airflow-Assets-Tenant": "other"}
    assert admin("POST", "/assets", json=table(name), headers=other).json()["tenantId"] == "other"
    problem(admin("GET", f"/assets/{name}"), 404, "asset-not-found")
    assert admin("GET", f"/assets/{name}", headers=other).status_code == 200
    problem(
        admin("GET", f"/assets/{name}", headers={"X-Airflow-Assets-Tenant": "A B"}), 422, "invalid-request"
    )


def test_an_export_can_be_imported(admin: Any) -> None:
    name = uuid.uuid4().hex
    headers = {"X-Airflow-Assets-Tenant": name}
    admin("POST", "/assets", json=table("a", metadata={"n": 1}), headers=headers)
    rows = admin("GET", "/export", headers=headers).json()["items"]
    assert [row["kind"] for row in rows] == ["asset", "event"]
    again = admin("POST", "/import", json={"rows": rows}, headers=headers).json()
    assert again == {"imported": 0, "skipped": 2}


def test_more_than_8_mib_is_too_large(admin: Any) -> None:
    body = b'{"id": "' + b"x" * MAX_BODY + b'"}'
    document = problem(
        admin("POST", "/assets", content=body, headers={"Content-Type": "application/json"}),
        413,
        "request-too-large",
    )
    assert document["limit"] == MAX_BODY


def test_upsert_needs_create_and_update_and_a_batch_what_it_does(client: AsgiClient) -> None:
    """A user of SimpleAuthManager has neither; the finer cases are in the unit tests."""
    call = caller(client, user_headers("user"))
    assert problem(call("POST", "/upsert", json=table("a")), 403, "not-permitted")["action"] == "UPDATE"


def test_answers_are_private_and_exact(admin: Any) -> None:
    answer = admin("GET", "/assets")
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"
    page = admin("GET", "/docs")
    assert page.headers["content-security-policy"] == "frame-ancestors 'self'"
    name = uuid.uuid4().hex
    body = b'{"id": "%s", "type": "t", "metadata": {"big": 9007199254740993, "half": 0.5}}' % name.encode()
    answer = admin("POST", "/assets", content=body, headers={"Content-Type": "application/json"})
    assert b'"big":9007199254740993' in answer.content


def test_health_and_metrics(admin: Any) -> None:
    admin("POST", "/upsert", json=table("measured"))
    health = admin("GET", "/health").json()
    assert health["status"] == "degraded"  # no job runs in this process, though they are enabled
    metrics = admin("GET", "/metrics")
    assert metrics.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
    assert 'airflow_assets_assets{type="airflow_assets.types.Table"} ' in metrics.text
    assert metrics.text.endswith("# EOF\n")
    problem(admin("GET", "/health", params={"x": "1"}), 422, "invalid-query")


def test_the_document_is_served(admin: Any) -> None:
    found = admin("GET", "/openapi.json").json()
    served = {item["operationId"] for methods in found["paths"].values() for item in methods.values()}
    assert served == {*OPERATIONS, "health", "metrics", "rights"}


def test_everybody_is_told_what_he_may_do(client: AsgiClient) -> None:
    def rights(role: str) -> Any:
        return caller(client, user_headers(role))("GET", "/rights").json()

    assert rights("viewer") == {"name": "viewer", "actions": ["LIST", "VIEW"]}
    assert rights("op") == {
        "name": "op",
        "actions": ["LIST", "VIEW", "CREATE", "UPDATE", "DELETE", "LOCK", "UNLOCK"],
    }


def test_the_error_of_an_unknown_address_is_a_problem(admin: Any, client: AsgiClient) -> None:
    problem(admin("GET", "/nothing"), 404, "not-found")
    answer = admin("POST", "/assets/a", json={})
    assert problem(answer, 405, "method-not-allowed")["hint"] == "Use DELETE, GET, PUT."
    assert answer.headers["allow"] == "DELETE, GET, PUT"
    problem(client.get("/airflow_assets/"), 404, "not-found")
    problem(client.get(f"{API_PREFIX}/assets"), 401, "not-authenticated")


LISTINGS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "search_assets": ("GET", "/assets", {"params": {"q": "counted", "limit": 100}}),
    "query_assets": ("POST", "/search", {"json": {"metadataQuery": [{"field": "n", "type": "EXISTS"}]}}),
    "list_events": ("GET", "/events", {"params": {"limit": 100}}),
    "list_history": ("GET", "/history", {"params": {"assetId": "counted-0"}}),
    "list_usages": ("GET", "/usages", {"params": {"assetId": "counted-0"}}),
    "list_lineage": ("GET", "/lineage", {"params": {"assetId": "counted-0"}}),
    "list_leases": ("GET", "/locks", {"params": {"limit": 100}}),
    "list_forced_unlocks": ("GET", "/locks/forced", {"params": {"assetId": "counted-0"}}),
    "read_lineage": ("POST", "/lineage/read", {"json": {"after": 0, "limit": 100}}),
    "read_changes": ("POST", "/changes/read", {"json": {"after": 0, "upto": 10**9, "limit": 100}}),
    "list_shippers": ("GET", "/shippers", {"params": {"limit": 100}}),
    "export_rows": ("GET", "/export", {"params": {"limit": 100}}),
}


def record_run(run_id: str, outputs: list[str]) -> None:
    """A try that read counted-0 and wrote the outputs; only a task may record over the API."""
    from airflow_assets.airflow_bridge.context import get_service

    made = [AssetInput(id=name, type="airflow_assets.types.Table") for name in outputs]
    bundle = Bundle(inputs=[AssetRef(id="counted-0")], outputs=made)
    task = TaskRun(dag_id="etl", run_id=run_id, task_id="t", try_number=1)
    record = TaskRunRecord(task=task, state=TaskState.SUCCESS, bundles=[bundle] * 3)
    get_service().record_task_run(CALLER, record)


@pytest.fixture
def filled(admin: Any) -> None:
    """Something in every listing, and enough of it that nothing could be read piece by piece."""
    items = [{"action": "upsert", "asset": table(f"counted-{n}", metadata={"n": n})} for n in range(120)]
    admin("POST", "/batch", json={"items": items})
    run = uuid.uuid4().hex
    for number in range(10):
        record_run(f"{run}-{number}", [f"counted-{n}" for n in range(number * 12, number * 12 + 12)])
    admin("POST", "/bookmarks/open", json={"key": "counted", "exporters": ["a", "b", "c"], "lookback": 0})
    admin("POST", "/locks/acquire", json={"assetIds": ["counted-1"]})
    admin("POST", "/locks/acquire", json={"assetIds": ["counted-0"]})
    admin("POST", "/locks/force-unlock", json={"assetId": "counted-0", "reason": "counting"})


@pytest.mark.parametrize("name", LISTINGS)
def test_a_page_is_at_most_four_statements(admin: Any, filled: None, name: str) -> None:
    from airflow_assets.airflow_bridge.context import get_service

    statements: list[str] = []

    def note(_conn: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if statement != "BEGIN":  # SQLite's alone goes through a cursor; it asks for nothing
            statements.append(statement)

    engine = get_service().engine
    sqlalchemy_event.listen(engine, "before_cursor_execute", note)
    try:
        method, path, arguments = LISTINGS[name]
        answer = admin(method, path, **arguments)
    finally:
        sqlalchemy_event.remove(engine, "before_cursor_execute", note)
    assert answer.status_code == 200, answer.text
    assert answer.json()["items"], "a page without items proves nothing"
    assert 1 <= len(statements) <= 4, "\n".join(statements)


def test_every_listing_is_counted() -> None:
    pages = {op.name for op in OPERATIONS.values() if "Page" in getattr(op.response, "__name__", "")}
    assert pages == set(LISTINGS)

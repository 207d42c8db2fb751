"""Requests become models strictly: an unknown parameter, a wrong kind, a broken rule are named."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest
from starlette.datastructures import QueryParams
from starlette.requests import Request

from airflow_assets.api.arguments import MAX_BODY, parse_body, parse_query, path_id, read_body, tenant_of
from airflow_assets.exceptions import InvalidAsset, InvalidQuery, InvalidRequest, RequestTooLarge
from airflow_assets.schemas.assets import AssetInput
from airflow_assets.schemas.events import EventKind
from airflow_assets.schemas.operations import OPERATIONS
from airflow_assets.schemas.queries import AssetQuery, Batch, EventQuery


def request(
    headers: dict[str, str] | None = None, chunks: tuple[bytes, ...] = (), path: str = "/", **path_params: str
) -> Request:
    messages = [{"type": "http.request", "body": chunk, "more_body": True} for chunk in chunks]
    messages.append({"type": "http.request", "body": b"", "more_body": False})

    async def receive() -> dict[str, Any]:
        return messages.pop(0)

    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "path_params": path_params,
        "headers": [(k.lower().encode(), v.encode("latin-1")) for k, v in (headers or {}).items()],
    }
    return Request(scope, receive)


def test_a_list_repeats_its_parameter_and_a_query_is_one_json_text() -> None:
    conditions = [{"field": "tier", "type": "GREATER_THAN", "value": 2}]
    parameters = QueryParams(
        [
            ("types", "a"),
            ("types", "b"),
            ("metadataQuery", json.dumps(conditions)),
            ("includeDeleted", "true"),
        ]
    )
    query = parse_query(AssetQuery, parameters)
    assert query is not None
    assert query.types == ["a", "b"]
    assert query.metadata_query[0].value == 2
    assert query.include_deleted is True
    assert query.limit == 100


def test_events_of_a_query_string() -> None:
    query = parse_query(EventQuery, QueryParams("events=CREATED&events=USED&after=7"))
    assert query is not None
    assert query.events == [EventKind.CREATED, EventKind.USED]
    assert query.after == 7


@pytest.mark.parametrize("operation", list(OPERATIONS.values()), ids=lambda op: op.name)
def test_every_operation_refuses_a_parameter_it_does_not_know(operation: Any) -> None:
    with pytest.raises(InvalidQuery) as caught:
        parse_query(operation.query, QueryParams("no_such=1"))
    assert caught.value.members["field"] == "no_such"
    assert "'no_such'" in caught.value.detail


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("limit=0", "limit"),
        ("limit=1001", "limit"),
        ("limit=ten", "limit"),
        ("limit=1&limit=2", "limit"),
        ("include_deleted=true", "include_deleted"),
        ("includeDeleted=maybe", "includeDeleted"),
        ("sort=name", "sort"),
        ("metadataQuery=tier", "metadataQuery"),
        ("metadataQuery={}", "metadataQuery"),
        ('metadataQuery=[{"field":"a","type":"LIKE","value":1}]', "type"),
        ("namespace=Upper", "namespace"),
        ("updatedFrom=yesterday", None),
    ],
)
def test_a_broken_parameter_is_named(text: str, field: str | None) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse_query(AssetQuery, QueryParams(text))
    assert caught.value.members.get("field") == field


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b"", "body"),
        (b"[]", "body"),
        (b"{", "body"),
        (b'{"id": "\xff"}', "body"),
        (b'{"id": "a", "metadata": {"n": ' + b"9" * 5000 + b"}}", "body"),
        (b"[" * 100_000, "body"),
        (b"{}", "id"),
        (b'{"id": "a", "display_name": "b"}', "display_name"),
        (b'{"id": 5}', "id"),
        (b'{"id": "\\ud800"}', "id"),
        (b'{"id": "a", "metadata": {"n": NaN}}', "metadata.n"),
        (b'{"id": "a", "metadata": {"n": "\\u0000"}}', "metadata.n"),
    ],
)
def test_a_broken_body_is_named(body: bytes, field: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse_body(AssetInput, body)
    assert caught.value.members["field"] == field


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b'{"id": "a", "tier": 7}', 7),
        (b'{"id": "a", "password": "hunter2"}', None),
        (b'{"id": "a", "x": [1]}', None),
    ],
)
def test_the_value_is_named_unless_it_is_a_secret(body: bytes, value: object) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse_body(AssetInput, body)
    assert caught.value.members.get("value") == value
    assert "hunter2" not in json.dumps(caught.value.to_problem())


def test_numbers_stay_exact() -> None:
    asset = parse_body(
        AssetInput, b'{"id": "a", "metadata": {"n": 9007199254740993, "b": true, "t": "true"}}'
    )
    assert asset.metadata == {"n": 2**53 + 1, "b": True, "t": "true"}


def test_a_broken_rule_inside_a_list_says_which_element() -> None:
    items = [{"action": "upsert", "asset": {"id": f"a{n}" if n != 3 else " a"}} for n in range(5)]
    with pytest.raises(InvalidAsset) as caught:
        parse_body(Batch, json.dumps({"items": items}).encode())
    assert caught.value.members["item"] == "items[3]"
    assert caught.value.members["field"] == "id"


def test_a_batch_has_at_most_1000_items() -> None:
    item = {"action": "delete", "id": "a"}
    assert len(parse_body(Batch, json.dumps({"items": [item] * 1000}).encode()).items) == 1000
    with pytest.raises(InvalidRequest) as caught:
        parse_body(Batch, json.dumps({"items": [item] * 1001}).encode())
    assert caught.value.members["field"] == "items"


def test_a_body_is_read_to_its_limit() -> None:
    headers = {"Content-Type": "application/json; charset=utf-8"}
    half = b" " * (MAX_BODY // 2)
    assert anyio.run(read_body, request(headers, (half, half))) == half + half
    with pytest.raises(RequestTooLarge):
        anyio.run(read_body, request(headers, (half, half, b"x")))
    with pytest.raises(RequestTooLarge) as caught:
        anyio.run(read_body, request({**headers, "Content-Length": str(MAX_BODY + 1)}))
    assert caught.value.members == {"limit": MAX_BODY, "value": MAX_BODY + 1}


@pytest.mark.parametrize(
    "media_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""]
)
def test_what_a_form_can_send_is_no_body(media_type: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        anyio.run(read_body, request({"Content-Type": media_type}, (b"{}",)))
    assert caught.value.members["field"] == "Content-Type"


def test_an_id_that_ends_in_a_line_break_is_not_the_id_without_it() -> None:
    assert path_id(request(path="/assets/a", asset_id="a"), "asset_id") == "a"
    with pytest.raises(InvalidAsset):
        path_id(request(path="/assets/a\n", asset_id="a"), "asset_id")


@pytest.mark.parametrize("name", ["", "Main", "a b", "ä", "a" * 151, "-a", "a\n"])
def test_a_tenant_has_a_rule(name: str) -> None:
    with pytest.raises(InvalidRequest):
        tenant_of(request({"X-Airflow-Assets-Tenant": name}))
    assert tenant_of(request()) == "main"
    assert tenant_of(request({"X-Airflow-Assets-Tenant": "team-a_1"})) == "team-a_1"

"""The HTTP transports against a real server that misbehaves on demand; synchronous and asynchronous alike."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import time
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from types import SimpleNamespace

import jwt
import pytest

from airflow_assets.client import connection, exchange, get_async_client, get_client
from airflow_assets.client.http import close_connections
from airflow_assets.client.identity import acting_as
from airflow_assets.exceptions import (
    AssetCatalogError,
    AssetLocked,
    AssetNotFound,
    CatalogUnavailable,
    NotAuthenticated,
    NotPermitted,
)
from airflow_assets.schemas.assets import AssetInput, AssetUpdate
from airflow_assets.schemas.credentials import AUDIENCE, TENANT_HEADER
from airflow_assets.schemas.queries import AssetQuery
from tests.support.scripted_server import Reply, ScriptedServer

ASSET = {
    "id": "a", "type": "T", "namespace": None, "displayName": None, "description": None, "metadata": {}, "uri": None,
    "group": None, "tenantId": "main", "created": "2026-03-29T07:00:00.000000Z",
    "updated": "2026-03-29T07:00:00.000000Z", "deleted": False, "aliases": [],
}  # fmt: skip
OK = Reply(200, ASSET)
CREATED = Reply(201, ASSET)
TASK = SimpleNamespace(id="uuid-1", dag_id="d", run_id="r", task_id="t", map_index=-1, try_number=1)


class Blocking:
    """Makes the synchronous client look like the asynchronous one made blocking."""

    def __init__(self, **options):
        self.client = get_client(**options)

    def call(self, name, *args, **kwargs):
        return getattr(self.client, name)(*args, **kwargs)

    def listed(self, name, *args):
        return list(getattr(self.client, name)(*args))


class Loop(Blocking):
    def __init__(self, **options):
        self.client = get_async_client(**options)

    def call(self, name, *args, **kwargs):
        async def one():
            try:
                return await getattr(self.client, name)(*args, **kwargs)
            finally:
                await close_connections()

        return asyncio.run(one())

    def listed(self, name, *args):
        async def collect():
            try:
                return [item async for item in getattr(self.client, name)(*args)]
            finally:
                await close_connections()

        return asyncio.run(collect())


@pytest.fixture(params=[Blocking, Loop], ids=["sync", "async"])
def kind(request):
    return request.param


def login(server: ScriptedServer, **more):
    return {"api_url": server.url, "token": "tok", **more}


def problem(status: int, code: str, **members) -> Reply:
    document = {
        "type": f"urn:airflow-assets:problem:{code}",
        "title": "x",
        "status": status,
        "detail": "What happened.",
        **members,
    }
    return Reply(status, document, content_type="application/problem+json")


def test_what_is_sent(kind) -> None:
    with ScriptedServer(OK) as server:
        kind(**login(server, tenant="blue")).call("get_asset", "s3://b/k?x=1#%/ü😀", include_deleted=True)
    request = server.requests[0]
    assert request.method == "GET"
    assert request.target == (
        "/airflow_assets/api/v1/assets/s3%3A%2F%2Fb%2Fk%3Fx%3D1%23%25%2F%C3%BC%F0%9F%98%80?includeDeleted=true"
    )
    assert request.headers["authorization"] == "Bearer tok"
    assert request.headers[TENANT_HEADER.lower()] == "blue"
    assert request.headers["user-agent"].startswith("airflow-provider-assets/")


def test_a_query_travels_as_the_protocol_says(kind) -> None:
    query = AssetQuery(
        types=["A", "B"], metadata_query=[{"field": "n", "type": "IN", "value": [1, True, None, "ü"]}],
        created_from="2026-03-29T09:00:00+02:00", sort="-updated",
    )  # fmt: skip
    with ScriptedServer(Reply(200, {"items": [], "nextCursor": None})) as server:
        kind(**login(server)).call("search_assets", query)
    from urllib.parse import parse_qsl, urlsplit

    sent = parse_qsl(urlsplit(server.requests[0].target).query)
    assert sorted(sent) == [
        ("createdFrom", "2026-03-29T07:00:00.000000Z"),
        ("metadataQuery", '[{"field":"n","type":"IN","value":[1,true,null,"ü"]}]'),
        ("sort", "-updated"),
        ("types", "A"),
        ("types", "B"),
    ]


def test_only_what_was_given_is_sent_and_a_given_null_is(kind) -> None:
    with ScriptedServer(OK) as server:
        kind(**login(server)).call("update_asset", "a", AssetUpdate(namespace=None, metadata={"k": None}))
    assert server.requests[0].body == b'{"namespace":null,"metadata":{"k":null}}'


def test_an_iterator_follows_the_cursors(kind) -> None:
    pages = [
        Reply(200, {"items": [{**ASSET, "id": "a"}], "nextCursor": "c1"}),
        Reply(200, {"items": [], "nextCursor": "c2"}),
        Reply(200, {"items": [{**ASSET, "id": "b"}], "nextCursor": None}),
    ]
    with ScriptedServer(*pages) as server:
        found = kind(**login(server)).listed("iter_assets", AssetQuery(limit=1))
    assert [asset.id for asset in found] == ["a", "b"]
    assert [b"c1" in r.body or b"c2" in r.body for r in server.requests] == [False, True, True]


def test_no_content_is_none(kind) -> None:
    with ScriptedServer(Reply(204)) as server:
        assert kind(**login(server)).call("delete_asset", "a") is None


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (problem(404, "asset-not-found"), AssetNotFound),
        (problem(423, "asset-locked", until="x"), AssetLocked),
        (problem(403, "not-permitted"), NotPermitted),
        (problem(418, "from-the-future"), AssetCatalogError),
    ],
)
def test_a_problem_document_becomes_its_error_at_once(kind, reply, error) -> None:
    with ScriptedServer(reply) as server, pytest.raises(error, match="What happened") as raised:
        kind(**login(server)).call("get_asset", "a")
    assert type(raised.value) is error
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("reply", "error", "words"),
    [
        (
            Reply(404, "<html>nginx</html>", content_type="text/html"),
            AssetCatalogError,
            "answered 404: <html>nginx",
        ),
        (Reply(403, {"detail": "Forbidden"}), NotPermitted, "answered 403: Forbidden"),
        (Reply(500, "Internal", content_type="text/plain"), AssetCatalogError, "answered 500: Internal"),
        (Reply(307, None, {"Location": "https://h/x"}), AssetCatalogError, "redirected to https://h/x"),
        (Reply(200, {"unexpected": 1}), AssetCatalogError, "same version of airflow-provider-assets"),
        (Reply(200, "<html>login</html>", content_type="text/html"), AssetCatalogError, "cannot be read"),
    ],
)
def test_an_answer_that_is_not_the_catalogues_is_told_apart(kind, reply, error, words) -> None:
    with ScriptedServer(reply) as server, pytest.raises(error, match=words):
        kind(**login(server)).call("get_asset", "a")


TRANSIENT = [Reply(429), Reply(502), Reply(503), Reply(504), Reply(drop=True)]


@pytest.mark.parametrize("first", TRANSIENT, ids=lambda r: "drop" if r.drop else str(r.status))
def test_what_has_no_further_effect_is_repeated(kind, first) -> None:
    with ScriptedServer(first, first, OK) as server:
        assert kind(**login(server)).call("get_asset", "a").id == "a"
    assert len(server.requests) == 3


@pytest.mark.parametrize("first", [Reply(429), Reply(503, None, {"Retry-After": "0"})], ids=["429", "503"])
def test_a_refused_create_is_repeated(kind, first) -> None:
    with ScriptedServer(first, CREATED) as server:
        kind(**login(server)).call("create_asset", AssetInput(id="a", type="T"))
    assert len(server.requests) == 2


@pytest.mark.parametrize("first", [Reply(502), Reply(503), Reply(504), Reply(drop=True)])
def test_a_create_whose_fate_is_unknown_is_not_repeated(kind, first) -> None:
    with ScriptedServer(first, CREATED) as server, pytest.raises(CatalogUnavailable) as raised:
        kind(**login(server)).call("create_asset", AssetInput(id="a", type="T"))
    assert len(server.requests) == 1
    assert not first.drop or "may have been carried out" in str(raised.value)


def test_a_create_that_never_left_is_repeated(kind, monkeypatch) -> None:
    """Nobody listens at first; the server comes up while the client waits."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    attempts = threading.Event()
    judge = exchange.Exchange.judge

    def watched(self, outcome, *args, **kwargs):
        attempts.set()
        return judge(self, outcome, *args, **kwargs)

    monkeypatch.setattr(exchange.Exchange, "judge", watched)
    result = []
    client = kind(api_url=f"http://127.0.0.1:{port}", token="t")
    caller = threading.Thread(
        target=lambda: result.append(client.call("create_asset", AssetInput(id="a", type="T")))
    )
    caller.start()
    assert attempts.wait(10)
    with ScriptedServer(CREATED, port=port):
        caller.join(20)
    assert result[0].id == "a"


@pytest.mark.parametrize("spelling", ["seconds", "date"])
def test_retry_after_is_honoured(kind, spelling) -> None:
    moment = datetime.now(timezone.utc) + timedelta(seconds=2)
    after = "1" if spelling == "seconds" else format_datetime(moment, usegmt=True)
    with ScriptedServer(Reply(503, None, {"Retry-After": after}), OK) as server:
        start = time.monotonic()
        kind(**login(server)).call("get_asset", "a")
    assert 0.9 <= time.monotonic() - start < 30


def test_patience_ends(kind, monkeypatch) -> None:
    monkeypatch.setenv("AIRFLOW__AIRFLOW_ASSETS__CLIENT_PATIENCE", "1")
    with ScriptedServer(Reply(503, None, {"Retry-After": "3600"})) as server:
        start = time.monotonic()
        with pytest.raises(CatalogUnavailable):
            kind(**login(server)).call("get_asset", "a")
    assert time.monotonic() - start < 30
    assert len(server.requests) == 1


def test_an_unreachable_server_names_address_origin_and_way_out(kind, monkeypatch) -> None:
    monkeypatch.setenv("AIRFLOW__AIRFLOW_ASSETS__CLIENT_PATIENCE", "1")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with pytest.raises(CatalogUnavailable) as raised:
        kind(api_url=f"http://127.0.0.1:{port}", token="t").call("get_asset", "a")
    message = str(raised.value)
    assert f"127.0.0.1:{port}" in message
    assert "the argument api_url" in message
    assert "[airflow_assets] api_url" in message


def test_pauses_grow_and_are_spread() -> None:
    from airflow_assets.client.address import Address
    from airflow_assets.client.exchange import Answer, Exchange
    from airflow_assets.schemas.operations import OPERATIONS

    def pauses() -> list[float]:
        one = Exchange(OPERATIONS["get_asset"], "a", None, patience=1000)
        return [
            one.judge(Answer(503, {}, b""), Address("u", "o"), "", renewable=False) or 0 for _ in range(12)
        ]

    first, second = pauses(), pauses()
    assert first != second
    for seen in (first, second):
        for number, pause in enumerate(seen):
            longest = min(exchange.LONGEST_PAUSE, exchange.FIRST_PAUSE * 2**number)
            assert longest / 2 <= pause <= longest


def managed(monkeypatch, server, secret="k" * 43) -> None:
    import json

    extra = json.dumps({"secret": secret})
    monkeypatch.setenv(
        "AIRFLOW_CONN_AIRFLOW_ASSETS_DEFAULT", json.dumps({"conn_type": "airflow-assets", "extra": extra})
    )
    monkeypatch.setenv("AIRFLOW__AIRFLOW_ASSETS__API_URL", server.url)
    # As in every task: no database.
    monkeypatch.setenv("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", "airflow-db-not-allowed:///")


def test_a_task_needs_nothing_but_the_managed_connection(kind, monkeypatch) -> None:
    with ScriptedServer(OK) as server, acting_as(TASK):
        managed(monkeypatch, server)
        kind().call("get_asset", "a")
    said = jwt.decode(server.requests[0].token, "k" * 43, algorithms=["HS256"], audience=AUDIENCE)
    assert said["sub"] == "ti:uuid-1"


def test_a_rotated_secret_is_read_again_once(kind, monkeypatch) -> None:
    with ScriptedServer(problem(401, "not-authenticated"), OK) as server, acting_as(TASK):
        managed(monkeypatch, server, "old" * 15)
        connection.store.get("airflow_assets_default")
        managed(monkeypatch, server, "new" * 15)
        later = time.monotonic() + connection.REREAD_SECONDS + 1
        monkeypatch.setattr(connection.time, "monotonic", lambda: later)
        kind().call("get_asset", "a")
    jwt.decode(server.requests[0].token, "old" * 15, algorithms=["HS256"], audience=AUDIENCE)
    jwt.decode(server.requests[1].token, "new" * 15, algorithms=["HS256"], audience=AUDIENCE)


def test_when_secrets_differ_the_error_says_where_each_side_looked(kind, monkeypatch) -> None:
    refusal = problem(401, "not-authenticated", detail="It looked in MetastoreBackend.", hint="Compare them.")
    with ScriptedServer(refusal) as server, acting_as(TASK):
        managed(monkeypatch, server)
        with pytest.raises(NotAuthenticated) as raised:
            kind().call("get_asset", "a")
    message = str(raised.value)
    assert "the environment variable AIRFLOW_CONN_AIRFLOW_ASSETS_DEFAULT" in message
    assert "It looked in MetastoreBackend." in message
    assert "k" * 43 not in message
    assert len(server.requests) == 2


def test_clocks_that_differ_are_mentioned(kind, monkeypatch) -> None:
    from airflow_assets.client.exchange import Answer
    from airflow_assets.client.failures import _skew

    date = format_datetime(datetime.now(timezone.utc) - timedelta(seconds=90), usegmt=True)
    assert -92 < _skew(Answer(401, {"date": date}, b"")) < -88
    assert _skew(Answer(401, {}, b"")) == 0


def user_token(lifetime: float = 3600) -> str:
    return jwt.encode(
        {"exp": int(time.time() + lifetime), "n": os.urandom(4).hex()}, "k" * 32, algorithm="HS256"
    )


def test_a_login_is_exchanged_once_and_again_when_its_token_is_refused(kind) -> None:
    first, second = user_token(), user_token()
    replies = [
        Reply(201, {"access_token": first}), OK, OK,
        Reply(401, {"detail": "Token expired"}), Reply(201, {"access_token": second}), OK,
    ]  # fmt: skip
    with ScriptedServer(*replies) as server:
        client = kind(api_url=server.url, username="ann", password="pw")
        for _ in range(3):
            client.call("get_asset", "a")
    assert [r.target.startswith("/auth/token") for r in server.requests] == [
        True,
        False,
        False,
        False,
        True,
        False,
    ]
    assert server.requests[0].body == b'{"username":"ann","password":"pw"}'
    assert [r.token for r in server.requests if "authorization" in r.headers] == [first, first, first, second]


def test_a_wrong_login_is_said_at_once(kind) -> None:
    with (
        ScriptedServer(Reply(401, {"detail": "no"})) as server,
        pytest.raises(NotAuthenticated, match="'ann' of the arguments"),
    ):
        kind(api_url=server.url, username="ann", password="pw").call("get_asset", "a")
    assert len(server.requests) == 1


def test_an_overloaded_login_is_tried_again_even_for_a_create(kind) -> None:
    replies = [Reply(drop=True), Reply(201, {"access_token": user_token()}), CREATED]
    with ScriptedServer(*replies) as server:
        kind(api_url=server.url, username="ann", password="pw").call(
            "create_asset", AssetInput(id="a", type="T")
        )
    assert len(server.requests) == 3


def test_a_given_token_that_is_refused_is_not_tried_twice(kind) -> None:
    with (
        ScriptedServer(Reply(401, {"detail": "Invalid token"})) as server,
        pytest.raises(NotAuthenticated, match="Invalid token"),
    ):
        kind(**login(server)).call("get_asset", "a")
    assert len(server.requests) == 1


def test_connections_are_reused_between_clients_and_threads() -> None:
    with ScriptedServer(OK) as server:
        for _ in range(5):
            get_client(**login(server)).get_asset("a")
    assert len({r.connection for r in server.requests}) == 1


def test_a_forked_child_has_connections_of_its_own() -> None:
    with ScriptedServer(OK) as server:
        client = get_client(**login(server))
        client.get_asset("a")
        child = os.fork()
        if child == 0:
            code = 1
            try:
                code = 0 if client.get_asset("a").id == "a" else 1
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        client.get_asset("a")
    connections = [r.connection for r in server.requests]
    assert connections[0] == connections[2] != connections[1]

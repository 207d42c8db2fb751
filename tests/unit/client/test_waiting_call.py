"""Waiting over HTTP, blocking or not: longer than an answer may otherwise take, and through an outage."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

import pytest

from airflow_assets import config
from airflow_assets.exceptions import CatalogUnavailable
from airflow_assets.schemas.waiting import EventWait
from tests.support.scripted_server import Reply, ScriptedServer
from tests.unit.client.test_http import Blocking, Loop

NOTHING = Reply(200, {"cursor": 9, "event": None})
WAIT = EventWait(after=7, timeout=25)


@pytest.fixture(params=[Blocking, Loop], ids=["sync", "async"])
def kind(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.mark.parametrize(
    "outage",
    [
        Reply(drop=True),
        Reply(502, "proxy", content_type="text/html"),
        Reply(503, "full", headers={"Retry-After": "0"}, content_type="text/plain"),
        Reply(504, "late", content_type="text/html"),
    ],
    ids=["reset", "502", "503", "504"],
)
def test_it_asks_again_from_the_same_place(kind: Any, outage: Reply) -> None:
    with ScriptedServer(outage, outage, NOTHING) as server:
        seen = kind(api_url=server.url, token="t").call("wait_events", WAIT)
        assert (seen.cursor, seen.event) == (9, None)
        assert [json.loads(one.body) for one in server.requests] == [{"after": 7, "timeout": 25.0}] * 3


def test_a_server_that_comes_back_on_its_port(kind: Any) -> None:
    with ScriptedServer(NOTHING) as first:
        port = int(first.url.rpartition(":")[2])
    back = ScriptedServer(NOTHING, port=port)
    starting = threading.Timer(1.0, back.__enter__)
    starting.start()
    try:
        assert kind(api_url=back.url, token="t", patience=20).call("wait_events", WAIT).cursor == 9
    finally:
        starting.join()
        back.__exit__()


def test_the_wait_itself_is_neither_silence_nor_impatience(
    kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer after 1.5 s, where one may take 1 s and the whole call too, if it does not ask to wait."""
    monkeypatch.setattr(config, "client_timeout", lambda: 1)
    for timeout, answered in ((2.0, True), (0.0, False)):
        with ScriptedServer(NOTHING) as server:
            answer = server.answer
            monkeypatch.setattr(
                server, "answer", lambda handler, answer=answer: (time.sleep(1.5), answer(handler))
            )
            client = kind(api_url=server.url, token="t", patience=1.0)
            wait = WAIT.model_copy(update={"timeout": timeout})
            if answered:
                assert client.call("wait_events", wait).cursor == 9
                continue
            with pytest.raises(CatalogUnavailable):
                client.call("wait_events", wait)

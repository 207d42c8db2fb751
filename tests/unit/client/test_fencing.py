"""Fencing numbers on their way from the code that holds a lock to the server."""

from __future__ import annotations

import asyncio

import pytest

from airflow_assets.client import get_async_client, get_client
from airflow_assets.client.fencing import current_tokens, fenced
from airflow_assets.client.http import close_connections
from airflow_assets.exceptions import InvalidRequest
from airflow_assets.schemas.assets import AssetUpdate
from airflow_assets.schemas.credentials import FENCING_HEADER
from airflow_assets.schemas.fencing import fencing_header, read_fencing_header
from tests.support.scripted_server import Reply, ScriptedServer

TOKENS = {"größe 😀": 7, "b": 2**53 + 1}
ASSET = {
    "id": "b", "type": "T", "namespace": None, "displayName": None, "description": None, "metadata": {}, "uri": None,
    "group": None, "tenantId": "main", "created": "2026-03-29T07:00:00.000000Z",
    "updated": "2026-03-29T07:00:00.000000Z", "deleted": False, "aliases": [],
}  # fmt: skip


def test_they_come_back_as_they_were() -> None:
    text = fencing_header(TOKENS)
    assert text.isascii()
    assert read_fencing_header(text) == TOKENS
    assert read_fencing_header(text.rstrip("=")) == TOKENS
    assert read_fencing_header(None) == read_fencing_header("") == {}


@pytest.mark.parametrize("text", ["x", "größe", "W10=", "eyJhIjp0cnVlfQ==", "eyJhIjoiMSJ9", "eyJhIjox"])
def test_what_is_no_object_of_numbers_is_refused(text) -> None:
    with pytest.raises(InvalidRequest, match=FENCING_HEADER):
        read_fencing_header(text)


def test_the_inner_block_counts_and_each_ends() -> None:
    with fenced({"a": 1, "b": 1}):
        with fenced({"b": 2}):
            assert current_tokens() == {"a": 1, "b": 2}
        assert current_tokens() == {"a": 1, "b": 1}
    assert current_tokens() == {}


def test_both_transports_send_them() -> None:
    async def update(url: str) -> None:
        client = get_async_client(api_url=url, token="t")
        try:
            await client.update_asset("b", AssetUpdate(metadata={}))
        finally:
            await close_connections()

    with ScriptedServer(Reply(200, ASSET)) as server:
        with fenced(TOKENS):
            get_client(api_url=server.url, token="t").update_asset("b", AssetUpdate(metadata={}))
            asyncio.run(update(server.url))
        get_client(api_url=server.url, token="t").update_asset("b", AssetUpdate(metadata={}))
    sent = [request.headers.get(FENCING_HEADER.lower()) for request in server.requests]
    assert [read_fencing_header(text) for text in sent] == [TOKENS, TOKENS, {}]

"""Pages: every asset once, in order, in both directions, whatever lies next to a page's end; bad cursors are refused."""

from __future__ import annotations

import base64
import itertools
import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_assets.catalog import cursors, search
from airflow_assets.catalog.engine import read, write
from airflow_assets.exceptions import InvalidCursor, InvalidQuery
from airflow_assets.schemas.queries import AssetQuery, Sort
from tests.support.catalog_rows import CALLER, NOON, add_assets, ids
from tests.support.json_values import busy_machine

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from airflow_assets.catalog.service import CatalogService


@pytest.fixture
def assets(service: CatalogService) -> list[dict[str, Any]]:
    """Ids that tie in their indexed part, times that tie, some deleted."""
    made: list[dict[str, Any]] = [
        {
            "id": ("long" * 100 if n % 4 == 0 else "") + f"{(n * 7) % 40:02}",
            "created": NOON + timedelta(seconds=n // 10),
            "updated": NOON + timedelta(microseconds=n // 3),
            "deleted": n % 9 == 0,
            "metadata": {"even": n % 2 == 0, "n": n},
        }
        for n in range(40)
    ]
    with write(service.engine) as conn:
        pks = add_assets(conn, made)
    return [{**asset, "pk": pks[asset["id"]]} for asset in made]


def walk(engine: Engine, **query: Any) -> list[list[str]]:
    pages, cursor = [], None
    while True:
        with read(engine) as conn:
            page = search.search(conn, CALLER, AssetQuery(cursor=cursor, **query))
        pages.append(ids(page.items))
        cursor = page.next_cursor
        if cursor is None:
            return pages


@pytest.mark.parametrize("include_deleted", [False, True])
@pytest.mark.parametrize("where", ["all", "equality", "range"])
def test_a_walk_meets_every_asset_once_in_order(
    service: CatalogService, assets: list[dict[str, Any]], include_deleted: bool, where: str
) -> None:
    conditions: Any = {
        "all": [],
        "equality": [{"field": "even", "type": "EQUAL_TO", "value": True}],
        "range": [{"field": "n", "type": "LESS_THAN", "value": 30}],
    }[where]
    kept = [
        asset
        for asset in assets
        if (include_deleted or not asset["deleted"])
        and (where != "equality" or asset["metadata"]["even"])
        and (where != "range" or asset["metadata"]["n"] < 30)
    ]
    for sort, limit in itertools.product(Sort, [1, 7, 40]):
        by = sort.value.removeprefix("-")
        expected = sorted(
            kept,
            key=lambda asset: (asset["id"].encode()[:255] if by == "id" else asset[by], asset["pk"]),
            reverse=sort.value.startswith("-"),
        )
        pages = walk(
            service.engine, sort=sort, limit=limit, include_deleted=include_deleted, metadata_query=conditions
        )
        assert [one for page in pages for one in page] == [asset["id"] for asset in expected]
        assert all(len(page) == limit for page in pages[:-1])


def test_a_walk_is_steady_while_others_write(service: CatalogService, assets: list[dict[str, Any]]) -> None:
    with read(service.engine) as conn:
        first = search.search(conn, CALLER, AssetQuery(limit=10))
    with write(service.engine) as conn:
        add_assets(conn, [{"id": "!before"}, {"id": "zzz after"}])
    with read(service.engine) as conn:
        rest = search.search(conn, CALLER, AssetQuery(limit=100, cursor=first.next_cursor))
    seen = ids(first.items) + ids(rest.items)
    assert "!before" not in seen
    assert seen[-1] == "zzz after"
    assert len(seen) == len(set(seen)) == sum(not asset["deleted"] for asset in assets) + 1


def _forged(content: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")


BAD = [
    "", "!", "%%%", "a", "Zm9v", "é", "x" * 100_000, _forged(None), _forged({}), _forged([]), _forged(["assets:id"]),
    _forged(["assets:-id", "YQ==", 1]), _forged(["assets:id", "YQ==", 1, 2]), _forged(["assets:id", "?", 1]),
    _forged(["assets:id", "YQ==", -1]), _forged(["assets:id", "YQ==", 1 << 63]), _forged(["assets:id", "YQ==", 1.5]),
    _forged(["assets:id", "YQ==", True]), _forged(["assets:id", "YQ==", "1"]), _forged(["assets:id", 7, 1]),
    _forged(["assets:id", ["YQ=="], 1]), _forged("[" * 5_000), base64.urlsafe_b64encode(b"[" * 8_000).decode(),
    cursors.encode("assets:updated", [NOON, 1]),
]  # fmt: skip


@pytest.mark.parametrize("cursor", BAD, ids=range(len(BAD)))
def test_a_cursor_that_is_not_ours_is_refused(service: CatalogService, cursor: str) -> None:
    with (
        read(service.engine) as conn,
        pytest.raises(InvalidCursor, match="not one of this listing") as caught,
    ):
        search.search(conn, CALLER, AssetQuery(cursor=cursor))
    assert caught.value.status == 400


@pytest.mark.parametrize("at", ["2026-13-01T00:00:00.000000Z", "2026-01-01", "0001-01-01T00:00:00+14:00", ""])
def test_a_time_that_is_none_is_refused(service: CatalogService, at: str) -> None:
    with read(service.engine) as conn, pytest.raises(InvalidCursor):
        search.search(conn, CALLER, AssetQuery(sort=Sort.UPDATED, cursor=_forged(["assets:updated", at, 1])))


@busy_machine
@given(st.text(max_size=60))
def test_any_text_as_cursor_is_read_or_refused(text: str) -> None:
    try:
        decoded = cursors.decode("assets:id", text, [bytes, int])
    except InvalidCursor:
        return
    assert decoded is not None
    assert [type(value) for value in decoded] == [bytes, int]


@busy_machine
@given(
    st.binary(max_size=255),
    st.integers(0, 2**63 - 1),
    st.datetimes(timezones=st.just(NOON.tzinfo)),
    st.text(st.characters(exclude_categories=["C", "Z"])),
)
def test_a_cursor_carries_its_values(raw: bytes, number: int, time: Any, text: str) -> None:
    values = (raw, number, time, text)
    assert cursors.decode("x", cursors.encode("x", values), [bytes, int, type(time), str]) == values


@pytest.mark.parametrize("limit", [0, -1, 1_001, True, "x", 1.5])
def test_a_page_has_1_to_1000_items(limit: Any) -> None:
    with pytest.raises(InvalidQuery, match="1 to 1,000"):
        AssetQuery(limit=limit)

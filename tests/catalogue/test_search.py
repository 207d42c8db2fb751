"""Finding assets: what a filter means, who sees what, and how an id leads to its asset."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from airflow_assets.catalog import search
from airflow_assets.catalog.engine import read, write
from airflow_assets.exceptions import AssetNotFound, InvalidQuery
from airflow_assets.schemas.queries import AssetQuery
from tests.support.ageless import ageless
from tests.support.catalog_rows import (
    CALLER,
    NOON,
    TABLE,
    add_alias,
    add_assets,
    caller,
    counted_statements,
    ids,
)

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from airflow_assets.catalog.service import CatalogService
    from airflow_assets.schemas.actors import Caller

ODD_IDS = [
    "a%b",
    "a_b",
    "axb",
    "Foo",
    "foo",
    "größe",
    "gr\u00f6\u00dfe2",
    "s3://b/k?x=1#f",
    "e\N{GRINNING FACE}",
]


@pytest.fixture
def engine(service: CatalogService) -> Engine:
    """An empty catalogue."""
    return service.engine


def found(engine: Engine, by: Caller = CALLER, **query: Any) -> list[str]:
    with read(engine) as conn:
        return ids(search.search(conn, by, AssetQuery(**query)).items)


def given(engine: Engine, *assets: dict[str, Any]) -> dict[str, int]:
    with write(engine) as conn:
        return add_assets(conn, assets)


def test_a_found_asset_is_the_stored_one(engine: Engine) -> None:
    given(
        engine,
        {
            "id": "a", "type": "T", "namespace": "n", "display_name": "D", "description": "text", "uri": "s3://b/k",
            "asset_group": "g", "metadata": {"n": None, "big": 2**53 + 1, "one": 1.0}, "created": NOON,
            "updated": NOON + timedelta(hours=1),
        },
    )  # fmt: skip
    with read(engine) as conn:
        (item,) = search.search(conn, CALLER, AssetQuery()).items
    assert item.freshness is not None
    assert ageless(item).to_json() == {
        "id": "a", "type": "T", "namespace": "n", "displayName": "D", "description": "text", "uri": "s3://b/k",
        "group": "g", "metadata": {"n": None, "big": 2**53 + 1, "one": 1.0}, "tenantId": "main",
        "created": "2026-03-01T12:00:00.000000Z", "updated": "2026-03-01T13:00:00.000000Z", "deleted": False,
        "aliases": [], "freshness": None, "lock": None,
    }  # fmt: skip


def test_filters_are_exact_and_must_all_hold(engine: Engine) -> None:
    given(
        engine,
        {"id": "a", "type": "T", "namespace": "n"},
        {"id": "b", "type": "t", "namespace": "n"},
        {"id": "c", "type": "T", "namespace": "n.m"},
        {"id": "d", "type": "T", "tenant": "other", "namespace": "n"},
    )
    assert found(engine, types=["T"]) == ["a", "c"]
    assert found(engine, types=["T", "t"], namespace="n") == ["a", "b"]
    assert found(engine, namespace="n", types=["T"]) == ["a"]
    assert found(engine, types=[]) == []
    assert found(engine, caller(tenant="other")) == ["d"]


def test_ids_find_present_and_former_names(engine: Engine) -> None:
    pks = given(engine, *({"id": one} for one in ODD_IDS))
    with write(engine) as conn:
        add_alias(conn, "was foo", pks["foo"])
    for one in ODD_IDS:
        assert found(engine, ids=[one]) == [one]
    assert found(engine, ids=["was foo", "foo", "nothing"]) == ["foo"]
    assert found(engine, ids=[]) == []
    with pytest.raises(InvalidQuery, match="at most 1,000"):
        found(engine, ids=[str(n) for n in range(1_001)])


@pytest.mark.parametrize(
    ("q", "expected"),
    [
        ("a%b", ["a%b"]),
        ("A_B", ["a_b"]),
        ("\\", ["back"]),
        ("foo", ["Foo", "foo"]),
        ("GRÖ", ["größe", "größe2"]),
        ("Größe", ["größe", "größe2"]),
        ("éCLAIR", ["described", "named"]),
        ("ÉCLAIR DESC", ["described"]),
        ("ΣΊΣΥΦΟΣ", ["greek"]),
        ("\N{GRINNING FACE}", ["e\N{GRINNING FACE}"]),
        ("?x=1#", ["s3://b/k?x=1#f"]),
        ("", None),
    ],
)
def test_free_text_is_literal_and_without_case(engine: Engine, q: str, expected: list[str] | None) -> None:
    given(
        engine,
        *({"id": one} for one in ODD_IDS),
        {"id": "back", "display_name": "C:\\temp"},
        {"id": "named", "display_name": "An Éclair"},
        {"id": "described", "description": "the éclair description"},
        {"id": "greek", "description": "σίσυφοσ"},
    )
    assert found(engine, q=q) == (expected if expected is not None else found(engine))


@pytest.mark.parametrize("q", ["nul\0", "half\ud800", "x" * 1_501])
def test_text_that_nothing_can_equal_is_refused(engine: Engine, q: str) -> None:
    with pytest.raises(InvalidQuery, match="The q to look for"):
        found(engine, q=q)


def test_times_include_their_begin_and_exclude_their_end(engine: Engine) -> None:
    given(
        engine,
        *(
            {"id": str(n), "created": NOON + timedelta(microseconds=n), "updated": NOON + timedelta(hours=n)}
            for n in range(4)
        ),
    )
    at = NOON + timedelta(microseconds=1)
    assert found(engine, created_from=at, created_to=at + timedelta(microseconds=2)) == ["1", "2"]
    assert found(engine, updated_from=NOON + timedelta(hours=3)) == ["3"]
    assert found(engine, updated_to=NOON) == []


def test_deleted_assets_are_found_only_when_asked_for(engine: Engine) -> None:
    given(engine, {"id": "a"}, {"id": "b", "deleted": True}, {"id": "c"})
    assert found(engine) == ["a", "c"]
    assert found(engine, include_deleted=True) == ["a", "b", "c"]
    assert found(engine, include_deleted=True, sort="-id", limit=2) == ["c", "b"]
    assert found(engine, include_deleted=True, ids=["b"]) == ["b"]


def test_closed_namespaces_do_not_exist(engine: Engine) -> None:
    namespaces = [None, "a", "a.b", "a.b.c", "a.b_other", "a.b-x", "a.bc", "z"]
    given(engine, *({"id": str(namespace), "namespace": namespace} for namespace in namespaces))
    assert set(found(engine, caller("a.b"))) == {"None", "a", "a.b_other", "a.b-x", "a.bc", "z"}
    assert set(found(engine, caller("a", "z"))) == {"None"}
    assert found(engine, caller("a.b"), namespace="a.b.c") == []
    assert found(engine, caller("a.b"), ids=["a.b"]) == []
    with read(engine) as conn, pytest.raises(AssetNotFound):
        search.get(conn, caller("a.b"), "a.b.c")


def test_get_follows_former_names_and_lists_them(engine: Engine) -> None:
    pks = given(engine, {"id": "new"}, {"id": "gone", "deleted": True}, {"id": "taken"})
    with write(engine) as conn:
        add_alias(conn, "old", pks["new"])
        add_alias(conn, "older", pks["new"])
        add_alias(conn, "taken", pks["new"])
    with read(engine) as conn:
        assert search.get(conn, CALLER, "old").id == "new"
        assert set(search.get(conn, CALLER, "new").aliases) == {"old", "older", "taken"}
        assert search.get(conn, CALLER, "taken").id == "taken"
        assert search.get(conn, CALLER, "gone", include_deleted=True).deleted is True
        with pytest.raises(AssetNotFound, match="has been deleted"):
            search.get(conn, CALLER, "gone")
        with pytest.raises(AssetNotFound, match="There is no asset 'NEW'"):
            search.get(conn, CALLER, "NEW")
        with pytest.raises(AssetNotFound):
            search.get(conn, caller(tenant="other"), "new")


@pytest.mark.parametrize("size", [3, 300])
def test_a_page_is_few_statements_at_any_size(engine: Engine, size: int) -> None:
    given(engine, *({"id": f"{n:04}", "type": TABLE, "metadata": {"n": n, "t": "x"}} for n in range(size)))
    queries: list[dict[str, Any]] = [
        {},
        {"limit": 1},
        {"ids": ["0001", "0002"]},
        {"q": "00", "include_deleted": True},
        {"metadata_query": [{"field": "n", "type": "GREATER_THAN", "value": 1}, {"field": "t", "type": "EQUAL_TO", "value": "x"}]},
        {"metadata_query": [{"field": "t", "type": "REGEX", "value": "x"}, {"field": "n", "type": "EXISTS"}]},
    ]  # fmt: skip
    for query in queries:
        with counted_statements(engine) as statements:
            assert found(engine, **query)
        assert len(statements) <= 4, query
    with counted_statements(engine) as statements, read(engine) as conn:
        search.get(conn, CALLER, "0001")
    assert len(statements) <= 2

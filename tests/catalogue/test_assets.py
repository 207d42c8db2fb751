"""Writes to single assets, on every database."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select

from airflow_assets.catalog import tables
from airflow_assets.catalog.log import read_after
from airflow_assets.catalog.service import CatalogService
from airflow_assets.exceptions import (
    AssetAlreadyExists,
    AssetNotFound,
    InvalidAsset,
    NamespaceNotAllowed,
)
from airflow_assets.schemas.actors import Caller, Source, SourceKind
from airflow_assets.schemas.assets import AssetInput, AssetUpdate, Rename
from airflow_assets.schemas.operations import GetOptions
from airflow_assets.schemas.queries import Batch, BatchItem, EventQuery, HistoryQuery
from airflow_assets.schemas.rules import EXTERNAL_TYPE
from tests.support.ageless import ageless

if TYPE_CHECKING:
    from airflow_assets.schemas.events import Event

CALLER = Caller(source=Source(kind=SourceKind.API, user="ada"))
DELETED_TOO = GetOptions(include_deleted=True)
TABLE = "airflow_assets.types.Table"


def events(service: CatalogService) -> list[Event]:
    with service.engine.connect() as conn:
        return read_after(conn, "main", 0, 10_000)


def kinds(service: CatalogService) -> list[tuple[str, str]]:
    return [(event.event.value, event.asset.id) for event in events(service)]


def test_created_asset_is_read_back_as_written(service: CatalogService) -> None:
    wanted = AssetInput(
        id="a/b?c#d%e@f:g \U0001f980",
        type=TABLE,
        namespace="team.a",
        display_name="Ärger",
        description="# Markdown\n",
        metadata={"big": 2**53 + 1, "float": 1.5, "true": True, "null": None, "list": [1, {"x": None}]},
        uri="s3://user:pw@b/k?a=",
        group="g",
    )
    made = service.create_asset(CALLER, wanted)
    assert ageless(service.get_asset(CALLER, wanted.id)) == made
    assert made.metadata == wanted.metadata
    assert isinstance(made.metadata["true"], bool)
    assert made.uri == "s3://user:***@b/k?a="
    assert (made.created, made.deleted, made.tenant_id) == (made.updated, False, "main")
    [event] = events(service)
    assert (event.event, event.depth, event.suppressed) == ("CREATED", 0, None)
    assert event.asset.model_dump() == made.model_dump(
        exclude={"deleted", "aliases", "uri", "group", "lock", "freshness"}
    )
    assert event.source == CALLER.source
    assert {"type", "namespace", "displayName", "metadata.big", "metadata.null"} <= set(event.changed)


def test_creating_twice_is_a_conflict(service: CatalogService) -> None:
    service.create_asset(CALLER, AssetInput(id="a", type="T"))
    with pytest.raises(AssetAlreadyExists, match="'a' exists"):
        service.create_asset(CALLER, AssetInput(id="a", type="T"))
    assert kinds(service) == [("CREATED", "a")]


def test_new_asset_needs_a_type(service: CatalogService) -> None:
    for write in (service.create_asset, service.upsert_asset):
        with pytest.raises(InvalidAsset, match="has no type"):
            write(CALLER, AssetInput(id="a"))
    assert kinds(service) == []


def test_upsert_merges_and_tells_what_changed(service: CatalogService) -> None:
    first = service.upsert_asset(
        CALLER, AssetInput(id="a", type=TABLE, namespace="n", metadata={"owner": "x", "tags": ["p"]})
    )
    second = service.upsert_asset(
        CALLER, AssetInput(id="a", description="d", metadata={"tags": ["q", "p"], "owner": None, "tier": 1})
    )
    assert (first.created, second.created) == (True, False)
    assert second.asset.metadata == {"tags": ["p", "q"], "tier": 1}
    assert (second.asset.namespace, second.asset.type, second.asset.description) == ("n", TABLE, "d")
    assert second.asset.created == first.asset.created
    assert second.asset.updated > first.asset.updated
    assert events(service)[1].changed == [
        "description",
        "metadata.owner",
        "metadata.tags",
        "metadata.tier",
    ]
    change = service.list_history(CALLER, HistoryQuery(asset_id="a")).items[0]
    assert change.diff == {
        "description": (None, "d"),
        "metadata.owner": ("x", None),
        "metadata.tags": (["p"], ["p", "q"]),
        "metadata.tier": (None, 1),
    }
    assert change.source.user == "ada"


def test_upsert_without_a_change_moves_updated(service: CatalogService) -> None:
    same = AssetInput(id="a", type=TABLE, metadata={"n": 1, "gone": None})
    seen = [service.upsert_asset(CALLER, same).asset for _ in range(3)]
    assert seen[0].updated < seen[1].updated < seen[2].updated
    assert [event.changed for event in events(service)[1:]] == [[], []]
    assert len(service.list_events(CALLER, EventQuery(only_changes=True)).items) == 1


def test_placeholder_never_replaces_a_real_type(service: CatalogService) -> None:
    service.upsert_asset(CALLER, AssetInput(id="a", type=EXTERNAL_TYPE))
    assert service.upsert_asset(CALLER, AssetInput(id="a", type="T")).asset.type == "T"
    assert service.upsert_asset(CALLER, AssetInput(id="a", type=EXTERNAL_TYPE)).asset.type == "T"
    assert service.update_asset(CALLER, "a", AssetUpdate(type=EXTERNAL_TYPE)).type == "T"


def test_update_clears_a_namespace_only_when_null_is_given(service: CatalogService) -> None:
    service.create_asset(CALLER, AssetInput(id="a", type="T", namespace="n"))
    assert service.update_asset(CALLER, "a", AssetUpdate(type="U")).namespace == "n"
    assert service.upsert_asset(CALLER, AssetInput(id="a", namespace=None)).asset.namespace == "n"
    assert service.update_asset(CALLER, "a", AssetUpdate(namespace=None)).namespace is None


def test_delete_hides_and_upsert_revives(service: CatalogService) -> None:
    first = service.create_asset(CALLER, AssetInput(id="a", type="T", metadata={"k": 1}))
    service.delete_asset(CALLER, "a")
    with pytest.raises(AssetNotFound):
        service.get_asset(CALLER, "a")
    with pytest.raises(AssetNotFound):
        service.delete_asset(CALLER, "a")
    with pytest.raises(AssetNotFound):
        service.update_asset(CALLER, "a", AssetUpdate(type="U"))
    assert service.get_asset(CALLER, "a", DELETED_TOO).deleted
    again = service.upsert_asset(CALLER, AssetInput(id="a", metadata={"l": 2}))
    assert not again.created
    assert again.asset.created == first.created
    assert again.asset.metadata == {"k": 1, "l": 2}
    assert [kind for kind, _ in kinds(service)] == ["CREATED", "DELETED", "UPDATED"]
    assert events(service)[2].changed == ["deleted", "metadata.l"]


def test_creating_a_deleted_asset_begins_a_new_life(service: CatalogService) -> None:
    first = service.create_asset(
        CALLER, AssetInput(id="a", type="T", namespace="n", metadata={"k": 1, "l": 1})
    )
    service.delete_asset(CALLER, "a")
    again = service.create_asset(CALLER, AssetInput(id="a", type="U", metadata={"l": 1}))
    assert again.created > first.created
    assert (again.type, again.namespace, again.metadata, again.deleted) == ("U", None, {"l": 1}, False)
    history = service.list_history(CALLER, HistoryQuery(asset_id="a")).items
    assert [change.event.value for change in history] == ["CREATED", "DELETED", "CREATED"]
    with service.engine.connect() as conn:
        assert conn.execute(select(tables.metadata_value.c.field)).scalars().all() == ["l"]


def test_rename_keeps_history_and_leaves_an_alias(service: CatalogService) -> None:
    made = service.create_asset(CALLER, AssetInput(id="a", type="T", metadata={"k": 1}))
    service.rename_asset(CALLER, Rename(old_id="a", new_id="b"))
    renamed = service.rename_asset(CALLER, Rename(old_id="a", new_id="c"))
    assert (renamed.id, renamed.aliases, renamed.created) == ("c", ["a", "b"], made.created)
    for former in ("a", "b", "c"):
        assert service.get_asset(CALLER, former).id == "c"
    assert service.upsert_asset(CALLER, AssetInput(id="a", description="through an alias")).asset.id == "c"
    assert service.update_asset(CALLER, "b", AssetUpdate(display_name="B")).id == "c"
    assert len(service.list_history(CALLER, HistoryQuery(asset_id="b")).items) == 5
    assert events(service)[1].changed == ["id"]
    with service.engine.connect() as conn:
        assert conn.execute(select(tables.metadata_value.c.id_sort)).scalars().all() == [b"c"]
        assert len(conn.execute(select(tables.asset.c.pk)).all()) == 1


def test_rename_back_and_forth(service: CatalogService) -> None:
    service.create_asset(CALLER, AssetInput(id="a", type="T"))
    for old, new in (("a", "b"), ("b", "a"), ("a", "b")):
        assert service.rename_asset(CALLER, Rename(old_id=old, new_id=new)).aliases == [old]


def test_ids_that_are_or_were_taken(service: CatalogService) -> None:
    for asset_id in ("a", "b", "dead"):
        service.create_asset(CALLER, AssetInput(id=asset_id, type="T"))
    service.delete_asset(CALLER, "dead")
    service.rename_asset(CALLER, Rename(old_id="a", new_id="c"))
    for new_id, reason in (("b", "exists"), ("dead", "deleted asset")):
        with pytest.raises(AssetAlreadyExists, match=reason):
            service.rename_asset(CALLER, Rename(old_id="c", new_id=new_id))
    with pytest.raises(AssetAlreadyExists, match="former id"):
        service.rename_asset(CALLER, Rename(old_id="b", new_id="a"))
    with pytest.raises(AssetAlreadyExists, match="former id of the asset 'c'"):
        service.create_asset(CALLER, AssetInput(id="a", type="T"))
    with pytest.raises(AssetNotFound):
        service.rename_asset(CALLER, Rename(old_id="nobody", new_id="x"))
    service.delete_asset(CALLER, "c")
    again = service.create_asset(CALLER, AssetInput(id="a", type="T"))
    assert ageless(service.get_asset(CALLER, "a")) == again
    assert service.get_asset(CALLER, "c", DELETED_TOO).aliases == []


CRAB = "\U0001f980"
NFC, NFD = "á", unicodedata.normalize("NFD", "á")
LONG = [CRAB * 1499 + last for last in (CRAB, "\U0001f981")]
DISTINCT = ["Foo", "foo", "FOO", "foo ".strip() + "x", "straße", "strasse", "i", "ı", "é", "e", *LONG]


def test_ids_are_exact(service: CatalogService) -> None:
    for asset_id in DISTINCT:
        service.create_asset(CALLER, AssetInput(id=asset_id, type="T", metadata={"id": asset_id}))
    for asset_id in DISTINCT:
        found = service.get_asset(CALLER, asset_id)
        assert (found.id, found.metadata) == (asset_id, {"id": asset_id})
    service.create_asset(CALLER, AssetInput(id=NFD, type="T"))
    with pytest.raises(AssetAlreadyExists):
        service.create_asset(CALLER, AssetInput(id=NFC, type="T"))
    assert service.get_asset(CALLER, NFD).id == NFC


def test_types_and_namespaces_compare_exactly(service: CatalogService) -> None:
    for asset_id, asset_type in (("1", "TABLE"), ("2", "table"), ("3", "tablé")):
        service.create_asset(CALLER, AssetInput(id=asset_id, type=asset_type))
    for wanted in ("TABLE", "table", "tablé"):
        found = service.list_events(CALLER, EventQuery(asset_type=wanted)).items
        assert [event.asset.type for event in found] == [wanted]


def test_hidden_namespaces_do_not_exist(service: CatalogService) -> None:
    closed = CALLER.model_copy(update={"hidden_namespaces": ("a",)})
    for asset_id, namespace in (("in", "a"), ("below", "a.b"), ("beside", "a_b"), ("none", None)):
        service.create_asset(CALLER, AssetInput(id=asset_id, type="T", namespace=namespace))
    for asset_id in ("in", "below"):
        with pytest.raises(AssetNotFound):
            service.update_asset(closed, asset_id, AssetUpdate(type="U"))
        with pytest.raises(AssetNotFound):
            service.delete_asset(closed, asset_id)
        with pytest.raises(NamespaceNotAllowed):
            service.upsert_asset(closed, AssetInput(id=asset_id, type="U"))
    with pytest.raises(NamespaceNotAllowed, match=r"a\.b"):
        service.update_asset(closed, "none", AssetUpdate(namespace="a.b"))
    with pytest.raises(NamespaceNotAllowed):
        service.create_asset(closed, AssetInput(id="new", type="T", namespace="a"))
    assert [e.asset.id for e in service.list_events(closed, EventQuery()).items] == ["beside", "none"]
    hidden = next(event for event in events(service) if event.asset.id == "in")
    assert service.get_event(CALLER, hidden.id) == hidden
    with pytest.raises(Exception, match="no event"):
        service.get_event(closed, hidden.id)


def test_tenants_do_not_meet(service: CatalogService) -> None:
    other = CALLER.model_copy(update={"tenant": "other"})
    service.create_asset(CALLER, AssetInput(id="a", type="T"))
    service.create_asset(other, AssetInput(id="a", type="U"))
    assert (service.get_asset(CALLER, "a").type, service.get_asset(other, "a").type) == ("T", "U")
    assert len(service.list_events(other, EventQuery()).items) == 1


def test_batch_keeps_what_is_good(service: CatalogService) -> None:
    service.create_asset(CALLER, AssetInput(id="old", type="T"))
    result = service.batch(
        CALLER,
        Batch(
            items=[
                BatchItem(action="create", asset=AssetInput(id="new", type="T")),
                BatchItem(action="create", asset=AssetInput(id="old", type="T")),
                BatchItem(action="upsert", asset=AssetInput(id="untyped")),
                BatchItem(action="upsert", asset=AssetInput(id="new", description="d")),
                BatchItem(action="update", id="new", changes=AssetUpdate(metadata={"k": 1})),
                BatchItem(action="delete", id="old"),
                BatchItem(action="delete", id="old"),
                BatchItem(action="update", id="new"),
            ]
        ),
    )
    assert [item.status for item in result.items] == [201, 409, 422, 200, 200, 204, 404, 422]
    assert [item.id for item in result.items] == ["new", "old", "untyped", "new", "new", "old", "old", "new"]
    assert result.items[1].problem["type"].endswith("asset-already-exists")
    assert kinds(service)[1:] == [
        ("CREATED", "new"),
        ("UPDATED", "new"),
        ("UPDATED", "new"),
        ("DELETED", "old"),
    ]
    new = service.get_asset(CALLER, "new")
    assert (new.description, new.metadata) == ("d", {"k": 1})


def test_merged_metadata_obeys_the_limits(service: CatalogService) -> None:
    half = {f"k{n}": 1 for n in range(300)}
    service.create_asset(CALLER, AssetInput(id="a", type="T", metadata=half))
    with pytest.raises(InvalidAsset, match="600 keys"):
        service.upsert_asset(CALLER, AssetInput(id="a", metadata={f"l{n}": 1 for n in range(300)}))
    assert service.get_asset(CALLER, "a").metadata == half


def test_commit_is_announced_once(service: CatalogService) -> None:
    calls: list[int] = []
    watched = CatalogService(service.engine, on_commit=lambda: calls.append(len(events(service))))
    watched.create_asset(CALLER, AssetInput(id="a", type="T"))
    with pytest.raises(AssetAlreadyExists):
        watched.create_asset(CALLER, AssetInput(id="a", type="T"))
    assert calls == [1]


def test_events_are_numbered_without_gaps_and_named_in_order(service: CatalogService) -> None:
    batch = Batch(
        items=[BatchItem(action="upsert", asset=AssetInput(id=f"a{n}", type="T")) for n in range(1000)]
    )
    assert {item.status for item in service.batch(CALLER, batch).items} == {201}
    assert {item.status for item in service.batch(CALLER, batch).items} == {200}
    log = events(service)
    assert [event.seq for event in log] == list(range(log[0].seq, log[0].seq + 2000))
    assert [event.id for event in log] == sorted(event.id for event in log)

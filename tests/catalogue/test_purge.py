"""Purge: what goes and what stays, by every switch and filter, on three databases."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import insert, select, update

from airflow_assets.catalog import purge as purge_module
from airflow_assets.catalog import tables
from airflow_assets.catalog.engine import db_now
from airflow_assets.exceptions import AssetNotFound, InvalidCursor, InvalidQuery
from airflow_assets.schemas.assets import AssetInput, AssetRef
from airflow_assets.schemas.lineage import Bundle, TaskRun, TaskRunRecord, TaskState
from airflow_assets.schemas.metadata_query import MetadataCondition, Operator
from airflow_assets.schemas.purge import PURGED, Purge, PurgeResult
from airflow_assets.schemas.queries import (
    AssetQuery,
    DependencyQuery,
    EventQuery,
    HistoryQuery,
    LineageQuery,
    UsageQuery,
)
from tests.support.ageless import ageless
from tests.support.catalog_log import add_events, add_lineage, add_reader, count
from tests.support.catalog_rows import CALLER, NOON, add_alias, add_assets, caller, ids

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

    from airflow_assets.catalog.service import CatalogService
    from airflow_assets.schemas.actors import Caller

DAY = timedelta(days=1)
SWITCHES = ("purge_assets", "purge_asset_usages", "purge_asset_lineages", "purge_asset_events")
FUTURE = NOON.replace(year=2200)


def purge(service: CatalogService, end: Any = FUTURE, by: Caller = CALLER, **given: Any) -> PurgeResult:
    """Purge to the end; the switches that are not given are off."""
    body = Purge(end_date=end, **{**dict.fromkeys(SWITCHES, False), **given})
    done: PurgeResult | None = None
    for _ in range(1_000):
        step = service.purge(by, body)
        done = step.after(done)
        if step.next_cursor is None:
            return done
        body = body.model_copy(update={"cursor": step.next_cursor})
    raise AssertionError("a purge without end")


def counts(done: PurgeResult) -> tuple[int | None, ...]:
    return tuple(getattr(done, name) for name in PURGED)


def rows(engine: Engine) -> tuple[int, ...]:
    """How many assets, usages, lineage events and events there are."""
    with engine.connect() as conn:
        return tuple(count(conn, t) for t in (tables.asset, tables.usage, tables.lineage, tables.event))


@pytest.fixture
def filled(service: CatalogService, engine: Engine) -> CatalogService:
    """Ten assets and ten of everything of the log (20 usages), a second apart from noon on."""
    with engine.begin() as conn:
        pks = add_assets(conn, [{"id": f"a{n}", "namespace": "ns", "metadata": {"n": n}} for n in range(10)])
        add_events(conn, 10, asset_pk=pks["a0"], asset_id="a0", namespace="ns")
        add_lineage(conn, [(("a0", "ns", pks["a0"]), ("a1", "ns", pks["a1"]))] * 10)
    return service


@pytest.mark.parametrize("on", range(16))
def test_every_combination_of_switches_purges_what_it_names(
    filled: CatalogService, engine: Engine, on: int
) -> None:
    switches = {name: bool(on >> n & 1) for n, name in enumerate(SWITCHES)}
    before = rows(engine)
    end = NOON + timedelta(seconds=4)  # inclusive: five of ten
    expected = tuple(
        of if is_on else None for of, is_on in zip((5, 10, 5, 5), switches.values(), strict=True)
    )
    tried = purge(filled, end, dry_run=True, **switches)
    assert counts(tried) == expected
    assert rows(engine) == before
    assert counts(purge(filled, end, **switches)) == expected
    deleted_events = 5 if switches["purge_assets"] else 0  # DELETED, of the five that were not deleted
    left = tuple(was - (gone or 0) for was, gone in zip(before, expected, strict=True))
    with engine.connect() as conn:
        shells = conn.execute(select(tables.lineage.c.seq).where(tables.lineage.c.bundle < 0)).all()
    assert len(shells) == (
        5 if switches["purge_asset_lineages"] and not switches["purge_asset_usages"] else 0
    )
    assert rows(engine) == (left[0], left[1], left[2] + len(shells), left[3] + deleted_events)
    assert len(filled.list_lineage(CALLER, LineageQuery()).items) == left[2]
    assert len(filled.list_usages(CALLER, UsageQuery()).items) == left[1], (
        "a usage outlives its lineage event"
    )
    again = purge(filled, end, **switches)
    assert counts(again) == tuple(None if one is None else 0 for one in expected)


def test_usages_that_went_later_take_the_shells_with_them(filled: CatalogService, engine: Engine) -> None:
    purge(filled, purge_asset_lineages=True)
    assert rows(engine)[1:3] == (20, 10)
    states = {one.state for one in filled.list_usages(CALLER, UsageQuery()).items}
    assert states == {TaskState.SUCCESS}
    assert counts(purge(filled, purge_asset_usages=True)) == (None, 20, None, None)
    assert rows(engine)[1:3] == (0, 0)


@pytest.mark.parametrize(
    ("filters", "switch", "field"),
    [
        ({"asset_id": "a"}, "purge_asset_lineages", "asset_id"),
        ({"asset_type": ["T"]}, "purge_asset_usages", "asset_type"),
        ({"asset_type": ["T"]}, "purge_asset_lineages", "asset_type"),
        ({"metadata_query": [{"field": "k", "type": "EXISTS"}]}, "purge_asset_usages", "metadata_query"),
        ({"metadata_query": [{"field": "k", "type": "EXISTS"}]}, "purge_asset_lineages", "metadata_query"),
        ({"metadata_query": [{"field": "k", "type": "EXISTS"}]}, "purge_asset_events", "metadata_query"),
    ],
)
def test_what_cannot_be_expressed_is_refused_naming_the_switch(
    filters: dict[str, Any], switch: str, field: str
) -> None:
    with pytest.raises(InvalidQuery, match=switch) as refused:
        Purge(
            end_date=NOON, **{**dict.fromkeys(SWITCHES, False), "purge_assets": True, switch: True}, **filters
        )
    assert (refused.value.members["switch"], refused.value.members["field"]) == (switch, field)
    Purge(end_date=NOON, **{**dict.fromkeys(SWITCHES, False), "purge_assets": True}, **filters)


NAMESPACES = ["a.b", "a.b.c", "a.b.c.d", "a.b_other", "a.bc", "a.b-c", "a", "a_b", "axb", None, "a.b0"]


def test_a_namespace_covers_itself_and_its_dotted_children(service: CatalogService, engine: Engine) -> None:
    with engine.begin() as conn:
        pks = add_assets(conn, [{"id": str(name), "namespace": name} for name in NAMESPACES])
        for name in NAMESPACES:
            add_events(conn, 1, asset_pk=pks[str(name)], asset_id=str(name), namespace=name)
            add_lineage(conn, [((str(name), name, pks[str(name)]),) * 2])
        add_lineage(conn, [(("a.b", "a.b", pks["a.b"]), ("a", "a", pks["a"]))])  # of both: stays
    everything = dict.fromkeys(SWITCHES, True)
    assert counts(purge(service, namespace="a.b", dry_run=True, **everything)) == (3, 7, 3, 3)
    assert counts(purge(service, namespace="a.b", **everything)) == (3, 7, 3, 3)
    assert ids(service.query_assets(CALLER, AssetQuery()).items) == sorted(
        str(name) for name in NAMESPACES if name not in {"a.b", "a.b.c", "a.b.c.d"}
    )
    kept = [one for one in service.list_lineage(CALLER, LineageQuery()).items if len(one.inputs) == 1]
    assert {one.inputs[0].id for one in kept} > {"a.b_other", "a.bc", "a.b-c"}
    assert any(one.outputs[0].id == "a" and one.inputs[0].id == "a.b" for one in kept)
    # "_" is a letter like any other, not a wildcard
    assert counts(purge(service, namespace="a_b", purge_assets=True)) == (1, None, None, None)
    assert service.get_asset(CALLER, "axb").id == "axb"


def test_an_asset_is_chosen_by_id_former_id_type_and_metadata(
    service: CatalogService, engine: Engine
) -> None:
    with engine.begin() as conn:
        pks = add_assets(
            conn,
            [
                {"id": "t", "type": "T", "metadata": {"tier": 1}},
                {"id": "u", "type": "U", "metadata": {"tier": "1", "note": "old stock"}},
                {"id": "v", "type": "V"},
                {"id": "w", "type": "W"},
                {"id": "gone", "type": "W", "deleted": True},
            ],
        )
        add_alias(conn, "former v", pks["v"])
        for name, pk in pks.items():
            add_events(conn, 2, asset_pk=pk, asset_id=name)
            add_lineage(conn, [((name, None, pk), (name, None, pk))])
    one = MetadataCondition(field="tier", type=Operator.EQUAL_TO, value=1)
    assert counts(purge(service, purge_assets=True, metadata_query=[one])) == (1, None, None, None)
    regex = MetadataCondition(field="note", type=Operator.REGEX, value="^old")
    assert counts(purge(service, purge_assets=True, metadata_query=[regex])) == (1, None, None, None)
    by_id = {"purge_assets": True, "purge_asset_usages": True, "purge_asset_events": True}
    assert counts(purge(service, asset_id="former v", **by_id)) == (1, 2, None, 2)
    assert counts(purge(service, asset_id="never was", **by_id)) == (0, 0, None, 0)
    assert counts(purge(service, asset_type=["W", "X"], purge_assets=True)) == (2, None, None, None)
    assert service.query_assets(CALLER, AssetQuery(include_deleted=True)).items == []


def test_locked_assets_stay(filled: CatalogService, engine: Engine) -> None:
    with engine.begin() as conn:
        now = db_now(conn)
        for name, until in (("a3", now + DAY), ("a4", now - DAY)):
            conn.execute(update(tables.asset).where(tables.asset.c.id == name).values(lock_until=until))
    tried = purge(filled, purge_assets=True, dry_run=True)
    done = purge(filled, purge_assets=True)
    assert (tried.purged_assets_count, tried.locked_assets_count) == (9, 1)
    assert (done.purged_assets_count, done.locked_assets_count) == (9, 1)
    assert ids(filled.query_assets(CALLER, AssetQuery()).items) == ["a3"]


def test_what_the_caller_may_not_see_stays(service: CatalogService, engine: Engine) -> None:
    with engine.begin() as conn:
        pks = add_assets(conn, [{"id": "open"}, {"id": "closed", "namespace": "secret.one"}])
        pks |= add_assets(conn, [{"id": "foreign", "tenant": "other"}])
        for name, namespace in (("open", None), ("closed", "secret.one")):
            add_events(conn, 1, asset_pk=pks[name], namespace=namespace)
            add_lineage(conn, [((name, namespace, pks[name]), ("open", None, pks["open"]))])
        add_events(conn, 1, asset_pk=pks["foreign"], tenant="other")
        add_lineage(conn, [(("foreign", None, pks["foreign"]),) * 2], tenant="other")
    everything = dict.fromkeys(SWITCHES, True)
    assert counts(purge(service, by=caller("secret"), **everything)) == (1, 3, 1, 1)
    assert counts(purge(service, by=caller(tenant="other"), **everything)) == (1, 2, 1, 1)
    assert service.get_asset(CALLER, "closed").id == "closed"


def test_a_purged_asset_leaves_its_log_and_its_id(service: CatalogService, engine: Engine) -> None:
    made = service.create_asset(CALLER, AssetInput(id="old", type="T", metadata={"k": [1]}))
    service.create_asset(CALLER, AssetInput(id="other", type="T"))
    run = TaskRun(dag_id="d", run_id="r", task_id="t", try_number=1)
    bundle = Bundle(inputs=[AssetRef(id="other")], outputs=[AssetInput(id="old", type="T")])
    record = TaskRunRecord(task=run, state=TaskState.SUCCESS, bundles=[bundle])
    service.record_task_run(CALLER, record)
    assert counts(purge(service, asset_id="old", purge_assets=True)) == (1, None, None, None)
    with pytest.raises(AssetNotFound):
        service.get_asset(CALLER, "old", None)
    kinds = [one.event.value for one in service.list_events(CALLER, EventQuery(asset_id="old")).items]
    assert kinds == ["CREATED", "UPDATED", "DELETED"]
    assert [one.event.value for one in service.list_history(CALLER, HistoryQuery(asset_id="old")).items] == [
        "DELETED", "UPDATED", "CREATED",
    ]  # fmt: skip
    assert [one.asset_id for one in service.list_usages(CALLER, UsageQuery(asset_id="old")).items] == ["old"]
    assert len(service.list_lineage(CALLER, LineageQuery(asset_id="old")).items) == 1
    assert service.dependencies(CALLER, DependencyQuery(asset_id="other")).edges == []
    assert service.record_task_run(CALLER, record).duplicate, "and nothing is recorded twice"

    again = service.create_asset(CALLER, AssetInput(id="old", type="T"))
    assert again.created > made.created
    assert again.metadata == {}
    with engine.connect() as conn:
        numbers = conn.scalars(select(tables.event.c.asset_pk).distinct()).all()
        assert len(numbers) == 3, "a purged asset's number is never given again"
    assert len(service.list_events(CALLER, EventQuery(asset_id="old")).items) == 4

    purge(service, purge_asset_events=True, purge_asset_usages=True)
    with engine.connect() as conn:
        assert count(conn, tables.purged_asset) == 0, "a name goes with the last of its log"


def test_a_young_lineage_event_is_not_recorded_again(service: CatalogService) -> None:
    run = TaskRun(dag_id="d", run_id="r", task_id="t", try_number=1)
    bundle = Bundle(outputs=[AssetInput(id="new", type="T")])
    record = TaskRunRecord(task=run, state=TaskState.SUCCESS, bundles=[bundle])
    service.record_task_run(CALLER, record)
    done = purge(service, purge_asset_usages=True, purge_asset_lineages=True)
    assert counts(done) == (None, 1, 1, None)
    assert service.list_lineage(CALLER, LineageQuery()).items == []
    assert service.record_task_run(CALLER, record).duplicate


def test_what_a_reader_has_yet_to_read_stays(filled: CatalogService, engine: Engine) -> None:
    with engine.begin() as conn:
        now = db_now(conn)
        add_reader(conn, "dag", "follows_a", 4, now)
        add_reader(conn, "dag", "level", 20, NOON)
        add_reader(conn, "follower", "asset_event", 0, now)  # its position is one of Airflow's events
    both = {"purge_asset_events": True, "purge_asset_lineages": True}
    tried = purge(filled, dry_run=True, **both)
    done = purge(filled, **both)
    assert counts(tried) == counts(done) == (None, None, 10, 4)
    assert (done.kept_for_readers_count, [one.name for one in done.readers]) == (6, ["follows_a"])
    assert [one.seq for one in filled.list_events(CALLER, EventQuery()).items] == list(range(5, 11))
    with engine.begin() as conn:
        conn.execute(update(tables.consumer).values(seq=20))
    assert counts(purge(filled, **both)) == (None, None, 0, 6)


def test_a_shipper_keeps_lineage_and_a_sensor_keeps_events(filled: CatalogService, engine: Engine) -> None:
    with engine.begin() as conn:
        now = db_now(conn)
        add_reader(conn, "shipper", "main/ship/files", 15, now)
        add_reader(conn, "sensor", "0190a0b0-0000-7000-8000-000000000000", 7, now)
        add_reader(conn, "something new", "x", 3, now)
    done = purge(filled, purge_asset_events=True, purge_asset_lineages=True)
    assert counts(done) == (None, None, 0, 3)
    with engine.begin() as conn:
        conn.execute(tables.consumer.delete().where(tables.consumer.c.kind == "something new"))
    done = purge(filled, purge_asset_events=True, purge_asset_lineages=True)
    assert counts(done) == (None, None, 5, 4)
    assert {(one.kind, one.seq) for one in done.readers} == {("shipper", 15), ("sensor", 7)}


def test_a_reader_that_is_idle_is_reported_and_holds_nothing_back(
    filled: CatalogService, engine: Engine
) -> None:
    with engine.begin() as conn:
        now = db_now(conn)
        add_reader(conn, "dag", "idle", 4, now - 8 * DAY)
        add_reader(conn, "dag", "slow", 6, now - 6 * DAY)
    done = purge(filled, purge_asset_events=True)
    assert (done.purged_asset_events_count, [one.name for one in done.idle_readers]) == (6, ["idle"])
    assert [one.name for one in done.readers] == ["slow"]


def test_a_reader_that_was_silent_with_the_log_is_not_idle(filled: CatalogService, engine: Engine) -> None:
    with engine.begin() as conn:
        now = db_now(conn)
        add_reader(conn, "dag", "patient", 20, now - 30 * DAY)
        (fresh,) = add_events(conn, 1, start=now - timedelta(seconds=1))
    done = purge(filled, purge_asset_events=True)
    assert (done.purged_asset_events_count, done.kept_for_readers_count, done.idle_readers) == (10, 1, [])
    assert [one.seq for one in filled.list_events(CALLER, EventQuery()).items] == [fresh]


def test_an_end_in_the_future_is_the_moment_of_the_first_step(
    filled: CatalogService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(purge_module, "STEP_SECONDS", 0.0)
    body = Purge(end_date=FUTURE, purge_asset_events=True, limit=1)
    first = filled.purge(CALLER, body)
    late = filled.create_asset(CALLER, AssetInput(id="late", type="T"))
    while first.next_cursor:
        first = filled.purge(CALLER, body.model_copy(update={"cursor": first.next_cursor}))
    assert ageless(filled.get_asset(CALLER, "late")) == ageless(late)
    assert ids([one.asset for one in filled.list_events(CALLER, EventQuery()).items]).count("late") == 1


@pytest.mark.parametrize("limit", [1, 3, 1_000])
def test_steps_of_any_size_add_up(
    filled: CatalogService, engine: Engine, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    monkeypatch.setattr(purge_module, "STEP_SECONDS", 0.0 if limit == 3 else 1.0)
    everything = dict.fromkeys(SWITCHES, True)
    assert counts(purge(filled, limit=limit, dry_run=True, **everything)) == (10, 20, 10, 10)
    assert counts(purge(filled, limit=limit, **everything)) == (10, 20, 10, 10)
    assert rows(engine) == (0, 0, 0, 10), "the ten DELETED events are newer than the purge"


def test_a_cursor_of_another_kind_is_refused(service: CatalogService) -> None:
    other = service.query_assets(CALLER, AssetQuery())
    assert other.next_cursor is None
    with pytest.raises(InvalidCursor):
        service.purge(CALLER, Purge(end_date=NOON, cursor="bm90IG9uZQ"))


def test_firings_go_with_all_events_only(filled: CatalogService, engine: Engine) -> None:
    with engine.begin() as conn:
        _add_firing(conn)
    purge(filled, namespace="ns", purge_asset_events=True)
    purge(filled, purge_asset_events=True, dry_run=True)
    with engine.connect() as conn:
        assert count(conn, tables.firing) == 1
    purge(filled, purge_asset_events=True)
    with engine.connect() as conn:
        assert count(conn, tables.firing) == 0


def _add_firing(conn: Connection) -> None:
    known = {
        "seq": 5, "firing_id": "0190a0b0-0000-7000-8000-000000000001", "tenant": "main", "kind": "script",
        "poll_key": "k" * 64, "created": NOON, "repeats": False, "payload": "{}",
    }  # fmt: skip
    columns = {column.name: column for column in tables.firing.c}
    row = {name: value for name, value in known.items() if name in columns}
    lacking = [n for n, c in columns.items() if n not in row and not c.nullable]
    assert not lacking, f"give the new columns of firing: {lacking}"
    conn.execute(insert(tables.firing).values(row))

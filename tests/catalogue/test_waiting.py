"""Waiting for events on every database: the first that matches, once, with one statement for all who wait."""

from __future__ import annotations

import random
import uuid
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import event as sa_event
from sqlalchemy import select, update

from airflow_assets.airflow_bridge import event_waits
from airflow_assets.airflow_bridge.event_waits import EventLook, EventWaiter
from airflow_assets.catalog import tables, waits
from airflow_assets.catalog.log import last_seq, read_after
from airflow_assets.schemas.actors import Caller, Source, SourceKind
from airflow_assets.schemas.assets import AssetInput, Rename
from airflow_assets.schemas.events import EventFilter
from airflow_assets.schemas.matching import event_matches
from airflow_assets.schemas.queries import Batch, BatchItem
from airflow_assets.schemas.waiting import EventWait

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Engine

    from airflow_assets.catalog.service import CatalogService
    from airflow_assets.schemas.events import Event

CALLER = Caller(source=Source(kind=SourceKind.CLI))


def put(service: CatalogService, asset_id: str, n: int = 0, caller: Caller = CALLER, **members: Any) -> None:
    service.upsert_asset(caller, AssetInput(id=asset_id, type="T", metadata={"n": n}, **members))


def put_many(service: CatalogService, ids: list[str], **members: Any) -> None:
    items = [BatchItem(action="upsert", asset=AssetInput(id=one, type="T", **members)) for one in ids]
    service.batch(CALLER, Batch(items=items))


def end(engine: Engine) -> int:
    with engine.connect() as conn:
        return last_seq(conn)


def count(statements: list[str]) -> int:
    return len([one for one in statements if not one.startswith(("BEGIN", "COMMIT", "ROLLBACK"))])


@pytest.fixture
def statements(engine: Engine) -> Iterator[list[str]]:
    seen: list[str] = []

    def note(_conn: Any, _cursor: Any, statement: str, *_: Any) -> None:
        seen.append(statement)

    sa_event.listen(engine, "before_cursor_execute", note)
    yield seen
    sa_event.remove(engine, "before_cursor_execute", note)


class TestLooking:
    """What one look finds."""

    def test_the_first_that_matches_after_the_place(self, service: CatalogService) -> None:
        for n in range(5):
            put(service, "a", n, namespace="x")
            put(service, "b", n, namespace="y")
        wait = EventWait(filter=EventFilter(namespace="y"), after=0)
        seen = []
        while (found := service.wait_events(CALLER, wait)).event is not None:
            seen.append(found.event.asset.metadata["n"])
            assert found.cursor == found.event.seq
            wait = wait.model_copy(update={"after": found.cursor})
        assert seen == list(range(5))
        assert found.cursor == wait.after

    def test_without_a_place_it_begins_now_or_at_a_time(self, service: CatalogService) -> None:
        put(service, "a", 1)
        put(service, "a", 2)
        assert service.wait_events(CALLER, EventWait()).event is None
        with service.engine.connect() as conn:
            first, second = read_after(conn, "main", 0, 5)
        at = EventWait(since=second.event_time)
        found = service.wait_events(CALLER, at)
        assert found.event is not None
        assert found.event.seq >= first.seq
        late = EventWait(since=second.event_time + timedelta(hours=1))
        assert service.wait_events(CALLER, late).cursor == second.seq

    def test_a_metadata_query_reads_on_and_remembers_how_far(
        self, service: CatalogService, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(waits, "_PAGE", 3)
        monkeypatch.setattr(waits, "_PAGES", 2)
        put_many(service, [f"a{n:02}" for n in range(10)])
        put(service, "wanted", 7)
        query = [{"field": "n", "type": "EQUAL_TO", "value": 7}]
        wait = EventWait(filter=EventFilter(metadata_query=query), after=0)
        first = service.wait_events(CALLER, wait)
        assert first.event is None
        second = service.wait_events(CALLER, wait.model_copy(update={"after": first.cursor}))
        assert second.event is not None
        assert second.event.asset.id == "wanted"

    def test_what_is_hidden_of_another_tenant_or_imported_is_no_event(
        self, service: CatalogService, engine: Engine
    ) -> None:
        other = CALLER.model_copy(update={"tenant": "other"})
        put(service, "theirs", caller=other)
        put(service, "closed", namespace="fin.books")
        put(service, "old")
        with engine.begin() as conn:
            conn.execute(
                update(tables.event).where(tables.event.c.payload.like('%"old"%')).values(suppressed="import")
            )
        eyes = CALLER.model_copy(update={"hidden_namespaces": ("fin",)})
        assert service.wait_events(eyes, EventWait(after=0)).event is None
        look, waiter = EventLook(lambda: engine), EventWaiter(eyes, EventFilter(), 0)
        assert look([waiter]) == []
        assert waiter.cursor == end(engine)


class TestKeptPlaces:
    """Where a sensor is, kept by its task instance."""

    def test_an_event_between_two_looks_is_neither_missed_nor_seen_twice(
        self, service: CatalogService, engine: Engine
    ) -> None:
        ti = uuid.uuid4()
        put(service, "before")
        wait = EventWait(filter=EventFilter(asset_id="wanted"), keep_for=ti, resume=True)
        assert service.wait_events(CALLER, wait).event is None
        put(service, "other")
        assert service.wait_events(CALLER, wait).event is None
        assert place(engine, ti) == end(engine)
        put(service, "wanted", 1)
        put(service, "wanted", 2)
        first = service.wait_events(CALLER, wait)
        again = service.wait_events(
            CALLER, wait
        )  # the answer got lost: the same request finds the same event
        assert first.event is not None
        assert first == again
        assert first.event.asset.metadata["n"] == 1
        assert place(engine, ti) == first.event.seq - 1

    def test_the_first_look_fixes_the_place_whatever_later_ones_say(
        self, service: CatalogService, engine: Engine
    ) -> None:
        put(service, "a", 1)
        ti, wanted = uuid.uuid4(), EventFilter(asset_id="b")
        service.wait_events(CALLER, EventWait(filter=wanted, keep_for=ti, resume=True, after=0))
        put(service, "b", 1)
        late = EventWait(filter=wanted, keep_for=ti, resume=True, after=10**9)
        assert service.wait_events(CALLER, late).event is not None

    def test_a_place_never_moves_back_and_none_is_made(self, service: CatalogService, engine: Engine) -> None:
        ti = uuid.uuid4()
        with engine.begin() as conn:
            waits.advance(conn, [str(ti)], 5)
        assert place(engine, ti) is None
        service.wait_events(CALLER, EventWait(keep_for=ti, resume=True, after=7))
        with engine.begin() as conn:
            waits.advance(conn, [str(ti)], 9)
            waits.advance(conn, [str(ti)], 3)
        assert place(engine, ti) == 9


class TestLookingForAll:
    """The look-up of the hub."""

    def test_one_statement_for_five_hundred_and_the_places_of_all_kept_by_one(
        self, service: CatalogService, engine: Engine, statements: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ids = [uuid.uuid4() for _ in range(500)]
        put(service, "a")
        for ti in ids[-3:]:
            service.wait_events(CALLER, EventWait(keep_for=ti, resume=True))
        look = EventLook(lambda: engine)
        waiters = [EventWaiter(CALLER, EventFilter(asset_id=f"w{n}"), end(engine), str(ti)) for n, ti in enumerate(ids)]  # fmt: skip
        assert look(waiters) == []
        statements.clear()
        assert look(waiters) == []
        assert count(statements) == 1
        put_many(service, [f"w{n}" for n in range(100)])
        found = look(waiters)
        assert [(w.filter.asset_id, e.asset.id) for w, e in found] == [(f"w{n}", f"w{n}") for n in range(100)]
        monkeypatch.setattr(event_waits, "KEEP_EVERY", 0.0)
        statements.clear()
        left = [waiter for waiter in waiters if waiter not in dict(found)]
        assert look(left) == []
        assert count(statements) == 2
        assert [place(engine, ti) for ti in ids[-3:]] == [end(engine)] * 3

    def test_it_finds_exactly_what_the_filters_mean(
        self, service: CatalogService, engine: Engine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Against the plain meaning: each waiter gets the first event after its cursor that matches."""
        monkeypatch.setattr(event_waits, "MAX_RECENT", 20)
        monkeypatch.setattr(event_waits, "PAGE", 7)
        chance = random.Random(4711)  # noqa: S311
        spaces = [None, "x", "x.y", "z"]
        look = EventLook(lambda: engine)
        open_waits: list[EventWaiter] = []
        wanted_after: dict[EventWaiter, int] = {}
        got: dict[EventWaiter, Event] = {}
        for _ in range(12):
            for _ in range(chance.randrange(30)):
                put(service, f"a{chance.randrange(6)}", chance.randrange(4), namespace=chance.choice(spaces))
            for _ in range(15):
                waiter = EventWaiter(CALLER, _some_filter(chance, spaces), chance.randint(0, end(engine)))
                wanted_after[waiter] = waiter.cursor
                open_waits.append(waiter)
            for waiter, found in look(open_waits):
                got[waiter] = found
                open_waits.remove(waiter)
        with engine.connect() as conn:
            log = read_after(conn, "main", 0, 100_000)
        for waiter, after in wanted_after.items():
            meant = [e.seq for e in log if e.seq > after and event_matches(waiter.filter, e)]
            assert (got[waiter].seq if waiter in got else None) == (meant[0] if meant else None)
        assert all(waiter.cursor == end(engine) for waiter in open_waits)
        assert len(got) > 50
        assert len(open_waits) > 5

    def test_a_renamed_asset_is_found_by_its_former_id(self, service: CatalogService, engine: Engine) -> None:
        put(service, "before")
        look, waiter = (
            EventLook(lambda: engine),
            EventWaiter(CALLER, EventFilter(asset_id="before"), end(engine)),
        )
        look([waiter])
        service.rename_asset(CALLER, Rename(old_id="before", new_id="after"))
        waiter.cursor = end(engine)
        put(service, "after", 5)
        assert [found.asset.metadata["n"] for _, found in look([waiter])] == [5]

    def test_an_error_in_the_middle_loses_nothing(
        self, service: CatalogService, engine: Engine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(event_waits, "PAGE", 2)
        look, waiter = EventLook(lambda: engine), EventWaiter(CALLER, EventFilter(asset_id="a0"), end(engine))
        look([waiter])
        put_many(service, [f"a{n}" for n in range(5)])
        read_page, pages = look._read_page, []

        def breaks(conn: Any, recent: Any) -> bool:
            pages.append(1)
            if len(pages) == 2:
                raise RuntimeError("the database went away")
            return bool(read_page(conn, recent))

        monkeypatch.setattr(look, "_read_page", breaks)
        with pytest.raises(RuntimeError):
            look([waiter])
        assert [found.asset.id for _, found in look([waiter])] == ["a0"]


def _some_filter(chance: random.Random, spaces: list[str | None]) -> EventFilter:
    members: dict[str, Any] = {
        "asset_id": f"a{chance.randrange(8)}",
        "namespace": chance.choice(spaces[1:]),
        "asset_type": chance.choice(["T", "U"]),
        "events": chance.sample(["CREATED", "UPDATED", "DELETED"], 2),
        "metadata_query": [{"field": "n", "type": "GREATER_THAN", "value": chance.randrange(4)}],
        "only_changes": True,
    }
    return EventFilter(**{name: members[name] for name in chance.sample(list(members), chance.randrange(4))})


def place(engine: Engine, ti: uuid.UUID) -> int | None:
    consumer = tables.consumer.c
    with engine.connect() as conn:
        found: int | None = conn.execute(
            select(consumer.seq).where(consumer.kind == "sensor", consumer.name == str(ti))
        ).scalar()
    return found

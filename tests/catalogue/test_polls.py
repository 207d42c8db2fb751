"""What polled schedules remember, and when they fire."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import select, update

from airflow_assets.catalog import tables
from airflow_assets.catalog.firings import read_firings_after
from airflow_assets.catalog.log import last_seq, read_after
from airflow_assets.exceptions import InvalidRequest, NotFound
from airflow_assets.schemas.assets import AssetInput
from airflow_assets.schemas.base import iso
from airflow_assets.schemas.polls import (
    CheckReport,
    CheckResult,
    Firing,
    PollKind,
    PollRef,
    ScriptPoll,
    poll_key,
)
from airflow_assets.schemas.rules import DEFAULT_TENANT
from tests.support.catalog_polls import report_same
from tests.support.catalog_writers import CALLER, together

if TYPE_CHECKING:
    from airflow_assets.catalog.service import CatalogService

TABLE = "airflow_assets.types.Table"


def script(name: str = "a", *, edge: bool = True) -> ScriptPoll:
    return ScriptPoll(definition_key=poll_key(PollKind.SCRIPT, {"script": name, "edge": edge}), edge=edge)


def report(service: CatalogService, poll: ScriptPoll, **found: Any) -> CheckResult:
    """Make the next check of a poll, whenever it is due."""
    number = service.next_check(CALLER, PollRef(poll=poll)).number
    return service.report_check(CALLER, CheckReport(poll=poll, number=number, **found))


def firings(service: CatalogService) -> list[Firing]:
    with service.engine.connect() as conn:
        return read_firings_after(conn, DEFAULT_TENANT, 0, 1_000)


def test_a_script_fires_at_each_transition_and_remembers_it_in_the_database(service: CatalogService) -> None:
    poll = script()
    fired = [report(service, poll, matched=found, payload={"n": n, "timestamp": "1999"}).firing_id is not None
             for n, found in enumerate([False, True, True, False, True])]  # fmt: skip
    assert fired == [False, True, False, False, True]
    told = [(one.payload["n"], one.payload["timestamp"]) for one in firings(service)]
    assert told == [(n, iso(one.created)) for n, one in zip((1, 4), firings(service), strict=True)]
    assert {one.repeats for one in firings(service)} == {False}


def test_without_edge_it_fires_at_every_match(service: CatalogService) -> None:
    poll = script(edge=False)
    assert all(report(service, poll, matched=True, payload={}).firing_id for _ in range(3))
    assert {one.repeats for one in firings(service)} == {True}


def test_an_error_fires_nothing_and_leaves_the_memory(service: CatalogService) -> None:
    poll = script()
    assert report(service, poll, matched=True, payload={}).firing_id
    failed = report(service, poll, error="no container engine")
    assert failed.accepted
    assert failed.firing_id is None
    with service.engine.connect() as conn:
        assert conn.execute(select(tables.poll.c.error)).scalar_one() == "no container engine"
    assert report(service, poll, matched=True, payload={}).firing_id is None, (
        "it had matched before the error"
    )
    assert len(firings(service)) == 1


def test_a_report_that_says_nothing_is_refused(service: CatalogService) -> None:
    with pytest.raises(InvalidRequest, match="neither whether it matched"):
        report(service, script())


def test_one_number_is_heard_once_and_its_repeat_gets_the_same_answer(service: CatalogService) -> None:
    poll = script()
    first = CheckReport(poll=poll, number=0, matched=True, payload={})
    done = service.report_check(CALLER, first)
    again = service.report_check(CALLER, first)
    assert (done.accepted, again.accepted) == (True, False)
    assert again.firing_id == done.firing_id
    assert again.number == done.number == 1
    late = service.report_check(CALLER, CheckReport(poll=poll, number=7, matched=True))
    assert (late.accepted, late.number, late.firing_id) == (False, 1, None)
    assert len(firings(service)) == 1


def test_the_next_check_is_due_one_interval_later_whatever_a_check_took(service: CatalogService) -> None:
    poll = script()
    assert service.next_check(CALLER, PollRef(poll=poll)).wait == 0
    assert report(service, poll, matched=False).wait == pytest.approx(60, abs=5)
    assert service.next_check(CALLER, PollRef(poll=poll)).wait == pytest.approx(60, abs=5)
    move_due(service, timedelta(seconds=-70))  # the check took 10 s
    assert report(service, poll, matched=False).wait == pytest.approx(50, abs=5)
    move_due(service, -timedelta(days=1))  # nobody polled for a day: no check is made up for
    assert service.next_check(CALLER, PollRef(poll=poll)).wait == 0
    assert report(service, poll, matched=False).wait == pytest.approx(60, abs=5)


def move_due(service: CatalogService, by: timedelta) -> None:
    with service.engine.begin() as conn:
        due = conn.execute(select(tables.poll.c.due)).scalar_one()
        conn.execute(update(tables.poll).values(due=due + by))


def test_what_nobody_has_polled_for_a_year_is_forgotten(service: CatalogService) -> None:
    kept, gone = script("kept"), script("gone")
    for poll in (kept, gone):
        report(service, poll, matched=True, payload={})
    with service.engine.begin() as conn:
        checked = conn.execute(select(tables.poll.c.checked)).scalars().first()
        assert checked is not None
        for poll, days in ((kept, 300), (gone, 400)):
            this = tables.poll.c.poll_key == poll.key
            conn.execute(update(tables.poll).where(this).values(checked=checked - timedelta(days=days)))
    report(service, script("new"), matched=False)
    with service.engine.connect() as conn:
        keys = set(conn.scalars(select(tables.poll.c.poll_key)))
    assert keys == {kept.key, script("new").key}


def test_processes_that_report_the_same_check_fire_once(service: CatalogService) -> None:
    url = service.engine.url.render_as_string(hide_password=False)
    poll = script()
    answers = together(url, [(report_same, (poll.key, [True, False, True])) for _ in range(3)])
    assert [sum(accepted) for accepted in zip(*answers, strict=True)] == [1, 1, 1]
    assert len(firings(service)) == 2


def test_firings_and_events_share_one_order(service: CatalogService) -> None:
    poll = script(edge=False)
    for number in range(3):
        service.upsert_asset(CALLER, AssetInput(id=f"a{number}", type=TABLE))
        report(service, poll, matched=True, payload={})
    with service.engine.connect() as conn:
        events = [one.seq for one in read_after(conn, DEFAULT_TENANT, 0, 10)]
        fired = [one.seq for one in read_firings_after(conn, DEFAULT_TENANT, 0, 10)]
        assert last_seq(conn) == 6
    assert (events, fired) == ([1, 3, 5], [2, 4, 6])


def test_a_firing_is_found_by_its_id(service: CatalogService) -> None:
    done = report(service, script(), matched=True, payload={"exitCode": 1})
    assert done.firing_id is not None
    found = service.get_firing(CALLER, done.firing_id)
    assert found.payload == {"exitCode": 1, "timestamp": iso(found.created)}
    with pytest.raises(NotFound):
        service.get_firing(CALLER, "00000000-0000-0000-0000-000000000000")

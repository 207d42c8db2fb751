"""The loop of a polled schedule in the triggerer, on a real catalogue."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import select

from airflow_assets.catalog import tables
from airflow_assets.catalog.firings import read_firings_after
from airflow_assets.exceptions import CatalogUnavailable
from airflow_assets.schemas.polls import PollKind, ScriptPoll, poll_key
from airflow_assets.triggers import FreshnessTrigger, polled
from airflow_assets.triggers.freshness_poll import FreshnessWatch
from airflow_assets.triggers.polled import Finding, PolledTrigger
from tests.support.local_catalog import catalog

if TYPE_CHECKING:
    from collections.abc import Callable

    from airflow_assets.catalog.service import CatalogService
    from airflow_assets.schemas.polls import Firing

__all__ = ["catalog"]
POLL = ScriptPoll(definition_key=poll_key(PollKind.SCRIPT, {}), interval="PT1S")


class Scripted(PolledTrigger):
    """Finds one thing after the other, then nothing new."""

    def __init__(self, *found: Finding | Exception) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.found = list(found)
        self.checks = 0

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return "Scripted", {}

    @property
    def poll(self) -> ScriptPoll:
        return POLL

    async def check(self) -> Finding:
        self.checks += 1
        found = self.found.pop(0) if len(self.found) > 1 else self.found[0]
        if isinstance(found, Exception):
            raise found
        return found


@pytest.fixture(autouse=True)
def no_spread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polled, "SPREAD", 0.0)


def run_until(condition: Callable[[], object], *triggers: PolledTrigger) -> None:
    """Run triggers as the triggerer does, until the condition holds; they yield nothing."""

    async def consume(trigger: PolledTrigger) -> None:
        async for event in trigger.run():
            raise AssertionError(f"a polled schedule yielded {event}")

    async def main() -> None:
        tasks = [asyncio.create_task(consume(trigger)) for trigger in triggers]
        async with asyncio.timeout(60) if hasattr(asyncio, "timeout") else contextlib.nullcontext():
            while not condition():
                assert not any(task.done() for task in tasks), [task for task in tasks if task.done()]
                await asyncio.sleep(0.05)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(main())


def firings(service: CatalogService) -> list[Firing]:
    with service.engine.connect() as conn:
        return read_firings_after(conn, "main", 0, 100)


def numbers(service: CatalogService) -> int:
    with service.engine.connect() as conn:
        return conn.execute(select(tables.poll.c.number)).scalar() or 0


def test_it_polls_at_its_interval_and_never_yields(catalog: CatalogService) -> None:
    found = [
        Finding(matched=matched, payload={"n": n}) for n, matched in enumerate([False, True, True, False])
    ]
    trigger = Scripted(*found)
    run_until(lambda: numbers(catalog) >= 4, trigger)
    assert [one.payload["n"] for one in firings(catalog)] == [1]


def test_a_restarted_trigger_goes_on_where_the_one_before_ended(catalog: CatalogService) -> None:
    run_until(lambda: numbers(catalog) >= 1, Scripted(Finding(matched=True, payload={})))
    run_until(lambda: numbers(catalog) >= 2, Scripted(Finding(matched=True, payload={})))
    assert len(firings(catalog)) == 1
    run_until(lambda: numbers(catalog) >= 3, Scripted(Finding(matched=False)))
    run_until(lambda: numbers(catalog) >= 4, Scripted(Finding(matched=True, payload={})))
    assert len(firings(catalog)) == 2


def test_two_triggerers_fire_once(catalog: CatalogService) -> None:
    both = [Scripted(Finding(matched=True, payload={}), Finding(matched=False)) for _ in range(2)]
    run_until(lambda: numbers(catalog) >= 3 and all(one.checks >= 3 for one in both), *both)
    assert len(firings(catalog)) == 1


def test_a_check_that_fails_is_reported_and_fires_nothing(catalog: CatalogService) -> None:
    trigger = Scripted(
        Finding(matched=True, payload={}), ValueError("broken"), Finding(matched=True, payload={})
    )
    errors: set[str | None] = set()

    def seen() -> bool:
        with catalog.engine.connect() as conn:
            errors.add(conn.execute(select(tables.poll.c.error)).scalar())
        return numbers(catalog) >= 3

    run_until(seen, trigger)
    assert "ValueError: broken" in errors
    assert len(firings(catalog)) == 1


def test_it_survives_a_server_that_is_away_and_reports_anew(
    catalog: CatalogService, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = catalog.report_check
    answers = iter([CatalogUnavailable("down"), None, CatalogUnavailable("lost"), None])

    def report(*arguments: Any) -> Any:
        problem = next(answers, None)
        if problem is None:
            return whole(*arguments)
        if "lost" in str(problem):
            whole(*arguments)  # the report arrived, its answer did not
        raise problem

    monkeypatch.setattr(catalog, "report_check", report)
    monkeypatch.setattr(polled, "LONGEST_PAUSE", 0.2)
    momentary = Scripted(
        Finding(matched=True, payload={"n": 1}),
        Finding(matched=False),
        Finding(matched=True, payload={"n": 2}),
        Finding(matched=False),
    )
    run_until(lambda: numbers(catalog) >= 5, momentary)
    assert [one.payload["n"] for one in firings(catalog)] == [1, 2], "one lost, or one doubled"


def test_a_freshness_watch_is_made_again_from_its_arguments() -> None:
    trigger = FreshnessTrigger(
        "P1D", timezone="Europe/Paris", namespace="sales", interval="PT5M", mode="transitions"
    )
    watch = trigger._watch()
    path, arguments = watch.serialize()
    assert path == "airflow_assets.triggers.freshness_poll.FreshnessWatch"
    again = FreshnessWatch(**arguments)
    assert again.poll == trigger.poll()
    assert again.poll.key == trigger.poll().key

"""Firings of polled schedules become runs: which, how many, and what holds them back; on every database."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from airflow.sdk import AssetOrTimeSchedule
from airflow.serialization.encoders import encode_asset_like
from sqlalchemy import select, update

from airflow_assets.airflow_bridge.dispatcher import Dispatcher
from airflow_assets.catalog import tables
from airflow_assets.exceptions import AssetCatalogError, NotPermitted
from airflow_assets.schemas.actors import Caller, Source, SourceKind
from airflow_assets.schemas.polls import CheckReport, PollRef
from airflow_assets.schemas.queries import Batch
from airflow_assets.schemas.subscription import PolledSubscription
from airflow_assets.triggers import EventTrigger, FreshnessTrigger, any_of
from tests.support.airflow_database import CALLER, AirflowDatabase
from tests.support.dispatching import dispatch, follow

CLASS = "airflow_assets.triggers.freshness_poll.FreshnessWatch"


def grow_old(db: AirflowDatabase, *asset_ids: str) -> None:
    with db.engine.begin() as conn:
        asset = tables.asset
        then = conn.execute(select(asset.c.updated).limit(1)).scalar_one() - timedelta(days=3)
        conn.execute(update(asset).where(asset.c.id.in_(asset_ids)).values(updated=then))


def check(db: AirflowDatabase, trigger: FreshnessTrigger, caller: Caller = CALLER) -> str | None:
    """Make the next check, as the triggerer does; return the firing."""
    poll = trigger.poll()
    number = db.service.next_check(caller, PollRef(poll=poll)).number
    return db.service.report_check(caller, CheckReport(poll=poll, number=number)).firing_id


def states(db: AirflowDatabase, dag_id: str) -> list[list[tuple[str, str]]]:
    return [[(one["id"], one["state"]) for one in told["payload"]["assets"]] for told in db.payloads(dag_id)]


def test_one_run_for_all_stale_assets_of_a_check_on_every_dag(
    db: AirflowDatabase, dispatcher: Dispatcher
) -> None:
    trigger = FreshnessTrigger("PT6H", namespace="one", allow_concurrent=True, id="mine")
    first = follow(db, "one", trigger.as_schedule())
    second = follow(db, "one_more", any_of(EventTrigger(namespace="one"), trigger, cron="@daily"))
    dispatch(dispatcher)
    for name in ("a", "b", "c"):
        db.upsert(name, namespace="one", n=1)
    grow_old(db, "a", "b")
    fired = [check(db, trigger), check(db, trigger)]
    dispatch(dispatcher)
    assert [found.run_id for found in db.runs(first)] == [f"freshness__{one}" for one in fired]
    assert states(db, first) == [[("a", "STALE"), ("b", "STALE")]] * 2
    assert [told["triggerId"] for told in db.payloads(first)] == ["mine", "mine"]
    kinds = [found.run_id.partition("__")[0] for found in db.runs(second)]
    assert kinds == ["asset_event"] * 3 + ["freshness"] * 2, "events and firings in one order"
    again = Dispatcher(db.engine)
    dispatch(again)
    again.close()
    assert db.count(first) == 2


def test_while_a_run_is_active_repeats_are_passed_over_and_transitions_wait(
    db: AirflowDatabase, dispatcher: Dispatcher
) -> None:
    repeat = FreshnessTrigger("PT6H", namespace="busy")
    changes = FreshnessTrigger("PT6H", namespace="busy", mode="transitions")
    follow(db, "repeats", repeat.as_schedule())
    follow(db, "changes", changes.as_schedule())
    dispatch(dispatcher)
    db.upsert("x", namespace="busy")
    grow_old(db, "x")
    for _ in range(3):
        check(db, repeat)
    check(db, changes)
    db.upsert("x", namespace="busy")
    check(db, changes)
    dispatch(dispatcher)
    assert (db.count("repeats"), db.count("changes")) == (1, 1)
    for dag_id in ("repeats", "changes"):
        db.set_runs(dag_id, "queued", "success")
    dispatch(dispatcher)
    assert states(db, "changes") == [[("x", "STALE")], [("x", "RECOVERED")]]
    assert db.count("repeats") == 1, "what was passed over is over"
    grow_old(db, "x")
    check(db, repeat)
    dispatch(dispatcher)
    assert db.count("repeats") == 2


def test_when_and_stop_after(db: AirflowDatabase, dispatcher: Dispatcher) -> None:
    shared: dict[str, Any] = {"namespace": "gate", "allow_concurrent": True}
    many = FreshnessTrigger("PT6H", when="{{ assets | length > 1 }}", **shared)
    once = FreshnessTrigger("PT6H", stop_after=["failed"], **shared)
    assert many.poll().key == once.poll().key, "one poll serves both"
    follow(db, "many", many.as_schedule())
    follow(db, "once", once.as_schedule())
    dispatch(dispatcher)
    db.upsert("p", namespace="gate")
    db.upsert("q", namespace="gate")
    grow_old(db, "p")
    check(db, many)
    dispatch(dispatcher)
    assert (db.count("many"), db.count("once")) == (0, 1)
    db.set_runs("once", "queued", "failed")
    grow_old(db, "q")
    check(db, once)
    dispatch(dispatcher)
    assert (db.count("many"), db.count("once")) == (1, 1)
    assert states(db, "many") == [[("p", "STALE"), ("q", "STALE")]]


def test_250_assets_fit_and_are_fetched_in_the_run(db: AirflowDatabase, dispatcher: Dispatcher) -> None:
    trigger = FreshnessTrigger("PT6H", namespace="many_assets")
    dag_id = follow(db, "many_assets", trigger.as_schedule())
    dispatch(dispatcher)
    names = [f"large {n:03}" for n in range(250)]
    items = [
        {"action": "create", "asset": {"id": name, "type": "t", "namespace": "many_assets",
                                       "metadata": {"text": "x" * 200}}}
        for name in names
    ]  # fmt: skip
    db.service.batch(CALLER, Batch.model_validate({"items": items}))
    grow_old(db, *names)
    firing = check(db, trigger)
    assert firing is not None
    dispatch(dispatcher)
    [told] = db.payloads(dag_id)
    assert told["payload"] is None
    found = db.service.get_firing(CALLER, told["firingId"]).payload["assets"]
    assert [one["id"] for one in found] == names


def test_a_trigger_reports_only_what_it_watches(db: AirflowDatabase) -> None:
    from airflow.models.asset import AssetModel, AssetWatcherModel
    from airflow.models.trigger import Trigger

    own, other = FreshnessTrigger("PT6H", namespace="own"), FreshnessTrigger("PT7H", namespace="own")
    marker = own.as_schedule()
    follow(db, "own", marker)

    def watch(session: Any) -> int:
        trigger = Trigger(CLASS, {"poll": {}})
        session.add(trigger)
        session.flush()
        asset_id = session.scalars(select(AssetModel.id).where(AssetModel.uri == marker.uri)).one()
        found = session.scalars(
            select(AssetWatcherModel).where(AssetWatcherModel.asset_id == asset_id)
        ).first()
        if found is None:
            session.add(AssetWatcherModel(name="w", asset_id=asset_id, trigger_id=trigger.id))
            return int(trigger.id)
        return int(found.trigger_id)

    caller = Caller(source=Source(kind=SourceKind.TRIGGER, user=f"trigger:{db.in_session(watch)}"))
    assert check(db, own, caller) is None
    with pytest.raises(NotPermitted, match="does not watch"):
        check(db, other, caller)
    stranger = Caller(source=Source(kind=SourceKind.TRIGGER, user="trigger:999999"))
    with pytest.raises(NotPermitted, match="does not watch"):
        check(db, own, stranger)


def test_the_marker_reads_well_and_its_watcher_is_stable() -> None:
    trigger = FreshnessTrigger(
        "PT6H", namespace="sales", asset_type="airflow_assets.types.Table", per_asset=True
    )
    marker = trigger.as_schedule()
    assert marker.name.startswith("stale Table assets in sales (PT6H, their own) #")
    assert marker.uri.startswith("x-airflow-assets://freshness/")
    assert marker.group == "airflow_assets.freshness"
    assert PolledSubscription.from_extra(marker.extra) == trigger.subscription()
    encoded = encode_asset_like(marker)
    assert encoded == encode_asset_like(FreshnessTrigger("PT360M", namespace="sales",
        asset_type="airflow_assets.types.Table", per_asset=True).as_schedule())  # fmt: skip
    [watcher] = encoded["watchers"]
    assert watcher["trigger"]["classpath"] == CLASS
    assert isinstance(any_of(trigger, cron="@daily"), AssetOrTimeSchedule)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({}, "Nothing says when an asset is stale"),
        ({"max_staleness": "PT6H", "deadline": "07:00"}, "either max_staleness or deadline"),
        ({"max_staleness": "6 hours"}, "not a duration"),
        ({"max_staleness": "PT6H", "interval": "PT0.5S"}, "between one second"),
        ({"max_staleness": "PT6H", "interval": "P1M"}, "between one second"),
        ({"max_staleness": "PT6H", "mode": "once"}, "mode"),
        ({"max_staleness": "PT6H", "timezone": "Paris"}, "not a time zone"),
        ({"max_staleness": "PT6H", "when": "{{ assets"}, "cannot be read"),
        ({"max_staleness": "PT6H", "stop_after": ["SUCCESS"]}, "queued, running, success, failed"),
        ({"max_staleness": "PT6H", "namespace": "Sales"}, "lower case"),
    ],
)
def test_a_broken_rule_is_told_at_definition(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(AssetCatalogError) as caught:
        FreshnessTrigger(**arguments)
    assert says in str(caught.value)
    assert "test_polled_schedules.py" in str(caught.value.hint)

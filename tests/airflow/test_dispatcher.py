"""Events of the log become runs: which, how many, in what order, and what holds them back; on every database."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, Asset
from sqlalchemy import select, update

from airflow_assets.airflow_bridge.dispatcher import Dispatcher
from airflow_assets.airflow_bridge.positions import read_positions
from airflow_assets.catalog import tables
from airflow_assets.schemas.actors import Caller, Source, SourceKind
from airflow_assets.triggers import EventTrigger, any_of
from tests.support.dispatching import dispatch, follow

if TYPE_CHECKING:
    from tests.support.airflow_database import AirflowDatabase


def numbers(db: AirflowDatabase, dag_id: str) -> list[int]:
    return [payload["asset"]["metadata"]["n"] for payload in db.payloads(dag_id)]


def test_each_event_starts_one_run_in_order_with_its_payload(
    db: AirflowDatabase, dispatcher: Dispatcher
) -> None:
    dag_id = follow(db, "each", EventTrigger(namespace="each").as_schedule())
    dispatch(dispatcher)
    for n in range(45):
        db.upsert(f"asset {n % 3}", namespace="each", n=n)
        db.upsert(f"other {n % 3}", namespace="elsewhere", n=n)
    by_small_pages = Dispatcher(db.engine, page=20, batch=6)
    dispatch(by_small_pages)
    by_small_pages.close()
    dispatch(dispatcher)
    assert numbers(db, dag_id) == list(range(45))
    first = db.runs(dag_id)[0]
    payload = first.extra["airflow_assets"]
    assert first.run_id == f"asset_event__{payload['eventId']}"
    assert first.state == "queued"
    assert payload["asset"]["event"] == "CREATED"
    assert {"id", "type", "namespace", "displayName", "description", "metadata", "tenantId", "created", "updated",
            "event", "eventTime"} == set(payload["asset"])  # fmt: skip


def test_dispatching_again_from_an_old_position_makes_no_run_twice(
    db: AirflowDatabase, dispatcher: Dispatcher
) -> None:
    dag_id = follow(db, "again", EventTrigger(namespace="again").as_schedule())
    dispatch(dispatcher)
    for n in range(12):
        db.upsert("one", namespace="again", n=n)
    dispatch(dispatcher)
    consumer = tables.consumer
    with db.engine.begin() as conn:
        conn.execute(update(consumer).where(consumer.c.name == dag_id).values(seq=0))
    second = Dispatcher(db.engine)
    dispatch(second)
    second.close()
    assert numbers(db, dag_id) == list(range(12))


def test_two_dispatchers_at_once_make_each_run_once(db: AirflowDatabase) -> None:
    import threading

    dag_id = follow(db, "both", EventTrigger(namespace="both").as_schedule())
    rivals = [Dispatcher(db.engine, batch=7) for _ in range(2)]
    for rival in rivals:
        dispatch(rival)
    for n in range(60):
        db.upsert("one", namespace="both", n=n)
    threads = [threading.Thread(target=dispatch, args=(rival,)) for rival in rivals]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    dispatch(rivals[0])
    for rival in rivals:
        rival.close()
    assert numbers(db, dag_id) == list(range(60))


def test_a_new_subscription_starts_when_its_dag_was_parsed(
    db: AirflowDatabase, dispatcher: Dispatcher
) -> None:
    db.upsert("one", namespace="start", n=0)
    dag_id = follow(db, "start", EventTrigger(namespace="start").as_schedule())
    db.upsert("one", namespace="start", n=1)
    dispatch(dispatcher)
    assert numbers(db, dag_id) == [1]


def test_no_more_than_max_pending_runs_are_queued_and_none_is_lost(
    db: AirflowDatabase, dispatcher: Dispatcher
) -> None:
    full = follow(db, "full", EventTrigger(namespace="pending", max_pending=20).as_schedule(), paused=True)
    free = follow(db, "free", EventTrigger(namespace="pending", max_pending=10_000).as_schedule())
    dispatch(dispatcher)
    for n in range(100):
        db.upsert("one", namespace="pending", n=n)
    most = 0
    for _ in range(30):
        dispatch(dispatcher)
        most = max(most, db.count(full, "queued"))
        if not db.set_runs(full, "queued", "success", limit=15):
            break
    assert most == 20
    assert numbers(db, full) == list(range(100))
    assert numbers(db, free) == list(range(100))
    assert db.count(free, "queued") == 100


def test_without_concurrency_the_next_run_waits_for_the_one_before(
    db: AirflowDatabase, dispatcher: Dispatcher
) -> None:
    dag_id = follow(db, "single", EventTrigger(namespace="single", allow_concurrent=False).as_schedule())
    dispatch(dispatcher)
    for n in range(3):
        db.upsert("one", namespace="single", n=n)
    for done in range(3):
        dispatch(dispatcher)
        assert numbers(db, dag_id) == list(range(done + 1))
        db.set_runs(dag_id, "queued", "running")
        dispatch(dispatcher)
        assert len(numbers(db, dag_id)) == done + 1
        db.set_runs(dag_id, "running", "success")


@pytest.mark.parametrize(("on_pause", "expected"), [("keep", [0, 1, 2]), ("skip", [0, 2])])
def test_events_of_a_paused_dag(
    db: AirflowDatabase, dispatcher: Dispatcher, on_pause: str, expected: list[int]
) -> None:
    dag_id = follow(db, f"pause_{on_pause}", EventTrigger(namespace="pause", on_pause=on_pause).as_schedule())
    dispatch(dispatcher)
    db.upsert("one", namespace="pause", n=0)
    dispatch(dispatcher)
    db.set_dag(dag_id, is_paused=True)
    dispatch(dispatcher)
    db.upsert("one", namespace="pause", n=1)
    dispatch(dispatcher)
    dispatcher = Dispatcher(db.engine)  # what was passed over stays so after a restart
    db.set_dag(dag_id, is_paused=False)
    db.upsert("one", namespace="pause", n=2)
    dispatch(dispatcher)
    dispatcher.close()
    assert numbers(db, dag_id) == expected


def test_filters_choose(db: AirflowDatabase, dispatcher: Dispatcher) -> None:
    triggers = {
        "by_id": EventTrigger(asset_id="chosen"),
        "by_type": EventTrigger(namespace="choice", asset_type="table"),
        "by_other_type": EventTrigger(namespace="choice", asset_type="tab"),
        "by_kind": EventTrigger(namespace="choice", events=["DELETED"]),
        "by_metadata": EventTrigger(
            namespace="choice", metadata_query=[{"field": "n", "type": "GREATER_THAN", "value": 1}]
        ),
        "by_when": EventTrigger(
            namespace="choice", when="{{ asset.metadata.n is even and event != 'DELETED' }}"
        ),
        "by_change": EventTrigger(namespace="choice", only_changes=True, events=["UPDATED"]),
    }
    for dag_id, trigger in triggers.items():
        follow(db, dag_id, trigger.as_schedule())
    dispatch(dispatcher)
    for n in (0, 1, 2, 2):
        db.upsert("chosen", namespace="choice", n=n)
    db.upsert("left", namespace="choice", n=9)
    db.service.delete_asset(Caller(source=Source(kind=SourceKind.CLI)), "left")
    dispatch(dispatcher)
    found = {dag_id: numbers(db, dag_id) for dag_id in triggers}
    assert found == {
        "by_id": [0, 1, 2, 2],
        "by_type": [0, 1, 2, 2, 9, 9],
        "by_other_type": [],
        "by_kind": [9],
        "by_metadata": [2, 2, 9, 9],
        "by_when": [0, 2, 2],
        "by_change": [1, 2],
    }


def test_a_renamed_asset_is_followed_under_its_former_id(db: AirflowDatabase, dispatcher: Dispatcher) -> None:
    from airflow_assets.schemas.assets import Rename

    db.upsert("before", namespace="rename", n=0)
    dag_id = follow(db, "renamed", EventTrigger(asset_id="before").as_schedule())
    dispatch(dispatcher)
    db.service.rename_asset(
        Caller(source=Source(kind=SourceKind.CLI)), Rename(old_id="before", new_id="after")
    )
    db.upsert("after", namespace="rename", n=1)
    dispatch(dispatcher)
    assert numbers(db, dag_id)[-1] == 1


def test_a_condition_that_fails_or_never_ends_counts_as_false(
    db: AirflowDatabase, dispatcher: Dispatcher, caplog: pytest.LogCaptureFixture
) -> None:
    endless = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"
    broken = follow(
        db, "broken", EventTrigger(namespace="when", when="{{ asset.nothing.there }}").as_schedule()
    )
    slow = follow(db, "slow", EventTrigger(namespace="when", when=endless).as_schedule())
    fine = follow(db, "fine", EventTrigger(namespace="when", when="{{ asset.metadata.n > 0 }}").as_schedule())
    dispatch(dispatcher)
    for n in (0, 1):
        db.upsert("one", namespace="when", n=n)
    with caplog.at_level(logging.WARNING):
        dispatch(dispatcher)
    assert (numbers(db, broken), numbers(db, slow), numbers(db, fine)) == ([], [], [1])
    assert sum("counts as false" in record.message for record in caplog.records) == 2


def test_stop_after_ends_a_trigger_until_it_is_changed(db: AirflowDatabase, dispatcher: Dispatcher) -> None:
    dag_id = follow(db, "stop", EventTrigger(namespace="stop", stop_after=["failed"]).as_schedule())
    dispatch(dispatcher)
    db.upsert("one", namespace="stop", n=0)
    dispatch(dispatcher)
    db.set_runs(dag_id, "queued", "failed")
    for n in (1, 2):
        db.upsert("one", namespace="stop", n=n)
        dispatch(dispatcher)
    assert numbers(db, dag_id) == [0]
    follow(db, dag_id, EventTrigger(namespace="stop", stop_after=["failed"], id="again").as_schedule())
    db.upsert("one", namespace="stop", n=3)
    dispatch(dispatcher)
    assert numbers(db, dag_id) == [0, 3]


def test_a_changed_filter_loses_no_event(db: AirflowDatabase, dispatcher: Dispatcher) -> None:
    dag_id = follow(db, "changing", EventTrigger(namespace="change", max_pending=1).as_schedule())
    dispatch(dispatcher)
    for n in range(4):
        db.upsert("one", namespace="change", n=n)
    dispatch(dispatcher)
    assert numbers(db, dag_id) == [0]
    follow(db, dag_id, EventTrigger(namespace="change", max_pending=100).as_schedule())
    dispatch(dispatcher)
    assert numbers(db, dag_id) == [0, 1, 2, 3]


def test_two_dags_with_one_filter_each_get_their_run(db: AirflowDatabase, dispatcher: Dispatcher) -> None:
    trigger = EventTrigger(namespace="same")
    dags = [follow(db, name, trigger.as_schedule()) for name in ("first", "second")]
    dispatch(dispatcher)
    db.upsert("one", namespace="same", n=1)
    dispatch(dispatcher)
    assert [numbers(db, dag_id) for dag_id in dags] == [[1], [1]]
    assert len({run.asset_id for dag_id in dags for run in db.runs(dag_id)}) == 1


def test_an_event_that_several_triggers_match_starts_one_run(
    db: AirflowDatabase, dispatcher: Dispatcher
) -> None:
    schedule = any_of(
        EventTrigger(namespace="several", events=["DELETED"], id="gone"),
        EventTrigger(namespace="several", events=["CREATED"], id="new"),
        EventTrigger(namespace="several", id="any"),
        cron="0 0 1 1 *",
    )
    dag_id = follow(
        db, "several", schedule, start_date=datetime(2026, 1, 1, tzinfo=timezone.utc), catchup=False
    )
    dispatch(dispatcher)
    db.upsert("brand new", namespace="several", n=0)
    db.upsert("brand new", namespace="several", n=1)
    dispatch(dispatcher)
    told = [(payload["triggerId"], payload["triggerIds"]) for payload in db.payloads(dag_id)]
    assert told == [("new", ["new", "any"]), ("any", ["any"])]


def test_a_list_and_a_native_asset_beside_a_trigger_do_not_hold_it_back(
    db: AirflowDatabase, dispatcher: Dispatcher
) -> None:
    trigger = EventTrigger(namespace="beside").as_schedule()
    dags = [
        follow(db, "listed", [trigger, Asset("some_table")]),
        follow(db, "either", Asset("some_table") | trigger),
    ]
    dispatch(dispatcher)
    db.upsert("one", namespace="beside", n=1)
    dispatch(dispatcher)
    assert [numbers(db, dag_id) for dag_id in dags] == [[1], [1]]


def test_a_removed_dag_gets_no_run_and_a_returning_one_all(
    db: AirflowDatabase, dispatcher: Dispatcher
) -> None:
    dag_id = follow(db, "leaving", EventTrigger(namespace="leave").as_schedule())
    dispatch(dispatcher)
    db.set_dag(dag_id, is_stale=True)
    dispatch(dispatcher)
    db.upsert("one", namespace="leave", n=0)
    dispatch(dispatcher)
    assert numbers(db, dag_id) == []
    db.set_dag(dag_id, is_stale=False)
    dispatch(dispatcher)
    assert numbers(db, dag_id) == [0]


def test_a_dag_that_is_long_gone_starts_anew(db: AirflowDatabase, dispatcher: Dispatcher) -> None:
    dag_id = follow(db, "gone", EventTrigger(namespace="gone").as_schedule())
    dispatch(dispatcher)
    db.set_dag(dag_id, is_stale=True)
    dispatch(dispatcher)
    consumer, event = tables.consumer, tables.event
    with db.engine.begin() as conn:
        old = (datetime.now(timezone.utc) - timedelta(hours=2)).isoformat()
        conn.execute(
            update(consumer).where(consumer.c.name == dag_id).values(state=f'{{"gone_since": "{old}"}}')
        )
    db.upsert("one", namespace="gone", n=0)
    with db.engine.begin() as conn:  # written an hour ago
        seq = conn.execute(select(event.c.seq).order_by(event.c.seq.desc()).limit(1)).scalar_one()
        conn.execute(
            update(event)
            .where(event.c.seq == seq)
            .values(created=datetime.now(timezone.utc) - timedelta(hours=1))
        )
    dispatch(dispatcher)
    with db.engine.connect() as conn:
        assert dag_id not in read_positions(conn)
    db.set_dag(dag_id, is_stale=False)
    dispatch(dispatcher)
    db.upsert("one", namespace="gone", n=1)
    dispatch(dispatcher)
    assert numbers(db, dag_id) == [1]


def test_a_dag_whose_file_is_broken_waits(db: AirflowDatabase, dispatcher: Dispatcher) -> None:
    dag_id = follow(db, "import_error", EventTrigger(namespace="import").as_schedule())
    dispatch(dispatcher)
    db.set_dag(dag_id, has_import_errors=True)
    db.upsert("one", namespace="import", n=0)
    dispatch(dispatcher)
    assert numbers(db, dag_id) == []
    db.set_dag(dag_id, has_import_errors=False)
    dispatch(dispatcher)
    assert numbers(db, dag_id) == [0]


def test_a_dag_that_cannot_get_a_run_holds_back_no_other(
    db: AirflowDatabase, dispatcher: Dispatcher, caplog: pytest.LogCaptureFixture
) -> None:
    from airflow.models.dag_version import DagVersion

    schedule = EventTrigger(namespace="unfit").as_schedule()
    unfit, fit = follow(db, "unfit", schedule), follow(db, "fit", schedule)
    unserialized = follow(db, "unserialized", schedule)
    dispatch(dispatcher)
    db.in_session(
        lambda session: session.execute(
            DagVersion.__table__.delete().where(DagVersion.dag_id == unserialized)
        )
    )
    with DAG(unfit, schedule=schedule, params={"needed": 1}) as dag:
        EmptyOperator(task_id="only")
    dag.params["needed"] = 2
    db.put_dag(dag)
    _require_parameter(db, unfit)
    db.upsert("one", namespace="unfit", n=0)
    dispatch(dispatcher)
    assert numbers(db, fit) == [0]
    assert (numbers(db, unfit), numbers(db, unserialized)) == ([], [])
    assert any(unfit in record.message and "wait" in record.message for record in caplog.records)
    follow(db, unserialized, schedule)
    dispatch(dispatcher)
    assert numbers(db, unserialized) == [0]


def _require_parameter(db: AirflowDatabase, dag_id: str) -> None:
    """Make the stored Dag one that no run can be made of: its parameter breaks its own schema."""
    from airflow.models.serialized_dag import SerializedDagModel

    def work(session: Any) -> None:
        row = session.scalar(
            select(SerializedDagModel)
            .where(SerializedDagModel.dag_id == dag_id)
            .order_by(SerializedDagModel.created_at.desc())
            .limit(1)
        )
        data = row.data
        data["dag"]["params"][0][1]["schema"] = {"type": "string"}
        row._data = data
        row.dag_hash = "0" * 32
        session.execute(
            update(SerializedDagModel)
            .where(SerializedDagModel.id == row.id)
            .values(_data=data, dag_hash="0" * 32)
        )

    db.in_session(work)


def written_by(run_row: Any, dag_id: str) -> Caller:
    """A task of this run as writer."""
    return Caller(
        source=Source(
            kind=SourceKind.TASK, dag_id=dag_id, run_id=run_row.run_id, task_id="only", map_index=-1
        )
    )


@pytest.mark.parametrize("hops", [["a"], ["a", "b"]], ids=["A-A", "A-B-A"])
def test_loops_stop_at_the_limit_with_one_warning(
    db: AirflowDatabase, dispatcher: Dispatcher, caplog: pytest.LogCaptureFixture, hops: list[str]
) -> None:
    names = [f"loop_{len(hops)}_{hop}" for hop in hops]
    for name in names:
        follow(db, name, EventTrigger(asset_id=name).as_schedule())
    dispatch(dispatcher)
    db.upsert(names[0], namespace="loop", n=0)
    seen: dict[str, int] = dict.fromkeys(names, 0)
    with caplog.at_level(logging.WARNING):
        for _ in range(30):
            dispatch(dispatcher)
            for place, name in enumerate(names):
                for made in db.runs(name)[seen[name] :]:
                    seen[name] += 1
                    target = names[(place + 1) % len(names)]
                    db.upsert(target, caller=written_by(made, name), namespace="loop", n=seen[name])
        db.upsert(
            names[0], caller=written_by(db.runs(names[20 % len(names)])[-1], names[0]), namespace="loop", n=99
        )
        dispatch(dispatcher)
    assert sum(seen.values()) == 21  # depths 0 to 20
    event = tables.event.c
    with db.engine.connect() as conn:
        suppressed = conn.execute(
            select(event.depth).where(event.suppressed == "loop", event.payload.like(f"%{names[0][:6]}%"))
        ).scalars()
        assert set(suppressed) == {21}
    warnings = [record for record in caplog.records if "looks like a loop" in record.message]
    assert len(warnings) <= len(names)
    assert warnings


def test_a_payload_over_16_kib_is_left_in_the_catalogue(db: AirflowDatabase, dispatcher: Dispatcher) -> None:
    dag_id = follow(db, "large", EventTrigger(namespace="large").as_schedule())
    dispatch(dispatcher)
    db.upsert("big", namespace="large", n=0, text="x" * 20_000)
    dispatch(dispatcher)
    payload = db.payloads(dag_id)[0]
    assert payload["asset"] is None
    event = db.service.get_event(Caller(source=Source(kind=SourceKind.CLI)), payload["eventId"])
    assert event.asset.metadata["text"] == "x" * 20_000


def test_replay_starts_one_more_run_for_each_replay_id(db: AirflowDatabase, dispatcher: Dispatcher) -> None:
    from airflow_assets.exceptions import NotFound
    from airflow_assets.schemas.events import Replay

    caller = Caller(source=Source(kind=SourceKind.CLI))
    dag_id = follow(db, "replayed", EventTrigger(namespace="replay").as_schedule())
    follow(db, "bystander", EventTrigger(namespace="other").as_schedule())
    dispatch(dispatcher)
    db.upsert("one", namespace="replay", n=7)
    dispatch(dispatcher)
    event_id = db.payloads(dag_id)[0]["eventId"]
    answers = [
        db.service.replay_event(caller, Replay(event_id=event_id, replay_id=replay_id, dag_id=wanted)).runs
        for replay_id, wanted in (("r1", None), ("r1", None), ("r2", dag_id))
    ]
    assert [[(run.dag_id, run.created) for run in runs] for runs in answers] == [
        [(dag_id, True)], [(dag_id, False)], [(dag_id, True)],
    ]  # fmt: skip
    assert numbers(db, dag_id) == [7, 7, 7]
    assert answers[0][0].run_id == f"asset_event__{event_id}__replay_r1"
    with pytest.raises(NotFound, match="does not follow"):
        db.service.replay_event(caller, Replay(event_id=event_id, replay_id="r3", dag_id="bystander"))


def test_a_teams_dags_follow_only_their_team(
    db: AirflowDatabase, dispatcher: Dispatcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow.models.team import Team
    from airflow.models.team import dag_bundle_team_association_table as of_bundle

    from tests.support.airflow_database import BUNDLE

    dag_id = follow(db, "of_team", EventTrigger(namespace="team").as_schedule())
    monkeypatch.setenv("AIRFLOW__CORE__MULTI_TEAM", "True")
    db.in_session(
        lambda session: (
            session.add(Team(name="red")),
            session.flush(),
            session.execute(of_bundle.insert().values(dag_bundle_name=BUNDLE, team_name="red")),
        )
    )
    dispatch(dispatcher)
    db.upsert("one", namespace="team", n=0)  # by nobody's Dag
    for n, writer in ((1, "of_team"), (2, "unknown")):
        source = Source(kind=SourceKind.TASK, dag_id=writer, run_id="manual", task_id="t")
        db.upsert("one", caller=Caller(source=source), namespace="team", n=n)
    dispatch(dispatcher)
    assert numbers(db, dag_id) == [1]
    monkeypatch.setenv("AIRFLOW__CORE__MULTI_TEAM", "False")
    db.upsert("one", namespace="team", n=3)
    dispatch(dispatcher)
    assert numbers(db, dag_id) == [1, 3]

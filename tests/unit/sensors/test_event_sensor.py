"""The event sensor and its trigger on the real catalogue in process; tests/airflow shows them in Airflow."""

from __future__ import annotations

import asyncio
import uuid
from datetime import datetime, timedelta, timezone
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from airflow.sdk import DAG
from airflow.sdk.exceptions import (
    AirflowRescheduleException,
    AirflowSensorTimeout,
    AirflowSkipException,
    TaskDeferred,
)

from airflow_assets import sensors
from airflow_assets.client import get_client
from airflow_assets.exceptions import AssetCatalogError, CatalogUnavailable, InvalidAsset, InvalidRequest
from airflow_assets.operators import Set
from airflow_assets.schemas.assets import AssetInput
from airflow_assets.sensors import AssetEventSensor
from airflow_assets.sensors.event import place_of
from airflow_assets.triggers import waiting
from airflow_assets.triggers.waiting import EventWaitTrigger

if TYPE_CHECKING:
    from airflow_assets.catalog.service import CatalogService


class Try:
    """One try of a sensor: a new operator object for each poke, as after a reschedule."""

    def __init__(self, **arguments: Any) -> None:
        self.arguments = arguments
        self.ti = SimpleNamespace(id=uuid.uuid4(), get_first_reschedule_date=lambda _: None)
        self.run_after = datetime.now(timezone.utc)

    def execute(self) -> Any:
        sensor = AssetEventSensor(task_id="wait", **self.arguments)
        return sensor.execute({"ti": self.ti, "dag_run": SimpleNamespace(run_after=self.run_after)})


def put(n: int, asset_id: str = "a", **members: Any) -> None:
    get_client().upsert_asset(AssetInput(id=asset_id, type="T", metadata={"n": n}, **members))


def number(payload: Any) -> int:
    return int(payload["metadata"]["n"])


def test_the_short_name_is_the_same_class() -> None:
    assert sensors.EventTrigger is AssetEventSensor
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        sensors.Nothing  # noqa: B018


def test_the_connection_may_come_from_the_default_arguments_of_a_dag() -> None:
    with DAG("d", schedule=None, default_args={"conn_id": "mine", "tenant": "two"}):
        tasks = [
            Set(task_id="set", asset_id="a", asset_type="T"),
            AssetEventSensor(task_id="wait", asset_id="a"),
        ]
    assert {(task.conn_id, task.tenant) for task in tasks} == {("mine", "two")}


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"since": "yesterday"}, InvalidRequest, "since='yesterday'"),
        ({"since": -1}, InvalidRequest, "since=-1"),
        ({"since": True}, InvalidRequest, "since=True"),
        ({"events": "CREATED"}, InvalidRequest, "not a list"),
        ({"events": ["GONE"]}, InvalidRequest, "GONE"),
        ({"asset_id": ""}, InvalidAsset, "id is empty"),
        ({"asset_id": "a\0b"}, InvalidAsset, "cannot be printed"),
        ({"metadata_query": [{"field": "n", "type": "LIKE", "value": 1}]}, InvalidRequest, "LIKE"),
        ({"namespace": "{{ params.there }}", "events": ["{{ params.what }}"]}, None, ""),
    ],
)
def test_constants_are_checked_at_definition(
    arguments: dict[str, Any], error: type[AssetCatalogError] | None, text: str
) -> None:
    if error is None:
        AssetEventSensor(task_id="wait", **arguments)
        return
    with pytest.raises(error, match=text):
        AssetEventSensor(task_id="wait", **arguments)


def test_places() -> None:
    assert [place_of(one) for one in ("run", "task", "beginning", "17", 17, 0)] == [
        "run",
        "task",
        0,
        17,
        17,
        0,
    ]


def test_each_poke_of_a_try_goes_on_where_the_last_ended(catalog: CatalogService) -> None:
    put(0)
    one = Try(asset_id="a", since="task", mode="reschedule")
    for _ in range(2):
        with pytest.raises(AirflowRescheduleException):
            one.execute()
    put(1)
    put(2)
    found = one.execute()
    assert (number(found), found["event"], found["id"]) == (1, "UPDATED", "a")
    assert {"eventId", "eventTime", "cursor", "tenantId", "displayName"} < set(found)
    retry = Try(asset_id="a", since="task", mode="reschedule")
    with pytest.raises(AirflowRescheduleException):
        retry.execute()
    assert number(Try(asset_id="a", since=str(found["cursor"])).execute()) == 2
    assert number(Try(asset_id="a", since="beginning").execute()) == 0


def test_since_the_runs_begin(catalog: CatalogService) -> None:
    put(0)
    one = Try(asset_id="a", mode="reschedule")
    one.run_after = datetime.now(timezone.utc) + timedelta(seconds=1)
    with pytest.raises(AirflowRescheduleException):
        one.execute()
    early = Try(asset_id="a")
    early.run_after -= timedelta(hours=1)
    assert number(early.execute()) == 0


def test_it_defers_after_one_poke_and_the_trigger_goes_on(catalog: CatalogService) -> None:
    put(0)
    one = Try(asset_id="a", since="task", deferrable=True, timeout=77)
    with pytest.raises(TaskDeferred) as deferred:
        one.execute()
    assert deferred.value.timeout == timedelta(seconds=77)
    path, arguments = deferred.value.trigger.serialize()
    assert path == "airflow_assets.triggers.waiting.EventWaitTrigger"
    put(1)
    put(2)
    for _ in range(2):  # started again by another triggerer it finds the same
        event = asyncio.run(fired(EventWaitTrigger(**arguments)))
        assert number(event) == 1
    sensor = AssetEventSensor(task_id="wait", **one.arguments)
    assert sensor.resumed({}, event) == event


async def fired(trigger: EventWaitTrigger) -> Any:
    return (await anext(trigger.run())).payload


@pytest.mark.parametrize("mode", ["poke", "reschedule"])
def test_time_out_and_soft_fail_are_airflows(catalog: CatalogService, mode: str) -> None:
    late = {"asset_id": "none", "timeout": 0, "mode": mode, "poke_interval": 0}
    with pytest.raises(AirflowSensorTimeout):
        Try(**late).execute()
    with pytest.raises(AirflowSkipException):
        Try(**late, soft_fail=True).execute()


def test_a_first_poke_that_fails(catalog: CatalogService, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: Any) -> None:
        raise CatalogUnavailable("away")

    monkeypatch.setattr(catalog, "wait_events", away)
    wait = {"asset_id": "a", "deferrable": True}
    with pytest.raises(CatalogUnavailable):
        Try(**wait).execute()
    with pytest.raises(AirflowSkipException):
        Try(**wait, never_fail=True).execute()
    with pytest.raises(AirflowRescheduleException):  # nothing is known yet, so there is nothing to wait from
        Try(**wait, silent_fail=True).execute()


def test_a_trigger_outlives_an_outage(
    catalog: CatalogService, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    put(1)
    original, failures = catalog.wait_events, []

    def flaky(*args: Any) -> Any:
        if len(failures) < 3:
            failures.append(1)
            raise CatalogUnavailable("away")
        return original(*args)

    monkeypatch.setattr(catalog, "wait_events", flaky)
    monkeypatch.setattr(waiting, "LONGEST_PAUSE", 0.01)
    with caplog.at_level("WARNING"):
        assert number(asyncio.run(fired(EventWaitTrigger(wanted={}, cursor=0)))) == 1
    assert caplog.text.count("Still waiting for an event after number 0: away") == 3


def test_the_default_is_airflows_option(monkeypatch: pytest.MonkeyPatch) -> None:
    assert AssetEventSensor(task_id="wait").deferrable is False
    monkeypatch.setenv("AIRFLOW__OPERATORS__DEFAULT_DEFERRABLE", "True")
    assert AssetEventSensor(task_id="wait").deferrable is True
    assert AssetEventSensor(task_id="wait", deferrable=False).deferrable is False

"""The mistakes of a first Dag get an answer that names the way out and, where Airflow would hide it, the line."""

from __future__ import annotations

import importlib
import inspect
from typing import TYPE_CHECKING, Any

import pytest
from airflow.sdk import DAG

from airflow_assets.exceptions import AssetCatalogError, InvalidQuery, InvalidRequest
from airflow_assets.get_provider_info import get_provider_info
from airflow_assets.macros import assets
from airflow_assets.operators import Set
from airflow_assets.triggers import EventTrigger, FreshnessTrigger, any_of
from airflow_assets.types import Table

if TYPE_CHECKING:
    from collections.abc import Callable


def line() -> int:
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"events": ["UPDATE"]}, "Use CREATED, UPDATED, DELETED, USED."),
        ({"asset_type": Table}, "Write its name: 'airflow_assets.types.Table'."),
        ({"metadata_query": [{"owner": "x"}]}, "conditions with field, type and value"),
    ],
)
def test_a_wrong_trigger_names_the_users_line(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(AssetCatalogError) as caught:
        EventTrigger(**arguments)
    here = line() - 1
    assert says in str(caught.value)
    assert f"It is at {__file__}:{here}." in str(caught.value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: EventTrigger(asset_id="a") | EventTrigger(asset_id="b"),
        lambda: EventTrigger(asset_id="a") & EventTrigger(asset_id="b"),
    ],
)
def test_a_trigger_is_not_a_schedule_yet(make: Callable[[], object]) -> None:
    with pytest.raises(InvalidRequest, match=r"Call \.as_schedule\(\)"):
        make()


@pytest.mark.parametrize(
    "trigger", [EventTrigger(asset_id="a"), FreshnessTrigger(namespace="n", max_staleness="PT1H")]
)
def test_a_trigger_alone_is_a_schedule(trigger: Any) -> None:
    marker = trigger.as_schedule()
    assert DAG("d", schedule=trigger).timetable == DAG("d", schedule=[marker]).timetable
    assert list(trigger) == [marker]
    assert marker in trigger


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"cron": "nonsense"}, "five fields"),
        ({"cron": 5}, "five fields"),
        ({"cron": "@daily", "timezone": "Moon"}, "tz database"),
    ],
)
def test_any_of_refuses_what_is_no_time(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidRequest, match=says):
        any_of(EventTrigger(asset_id="a"), **arguments)


@pytest.mark.parametrize("cron", ["@daily", "0 6 * * *"])
def test_any_of_takes_times(cron: str) -> None:
    DAG("d", schedule=any_of(EventTrigger(asset_id="a"), cron=cron, timezone="Europe/Berlin"))


def test_a_condition_without_a_value_is_refused() -> None:
    with pytest.raises(InvalidQuery, match="has no value"):
        EventTrigger(metadata_query=[{"field": "owner", "type": "EQUAL_TO"}])
    EventTrigger(metadata_query=[{"field": "owner", "type": "EQUAL_TO", "value": None}])
    EventTrigger(metadata_query=[{"field": "owner", "type": "EXISTS"}])


def test_any_of_takes_triggers() -> None:
    marker: Any = EventTrigger(asset_id="a").as_schedule()
    with pytest.raises(InvalidRequest, match="without as_schedule"):
        any_of(marker)


def test_a_class_is_no_type() -> None:
    kind: Any = Table
    with pytest.raises(InvalidRequest, match=r"airflow_assets\.types\.Table"):
        Set(task_id="t", asset_id="a", asset_type=kind)


def test_the_metadata_of_a_template_call_is_a_map() -> None:
    wrong: Any = [{"field": "owner"}]
    with pytest.raises(InvalidRequest, match="takes a map"):
        assets(metadata=wrong)


def test_airflow_finds_the_module_where_it_looks_for_example_dags() -> None:
    distribution = get_provider_info()["package-name"]
    assert importlib.import_module(distribution.replace("-", "_"))

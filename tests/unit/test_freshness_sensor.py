"""The freshness sensor without an Airflow: what is checked when, one poke, and what its trigger carries on."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from airflow_assets import sensors
from airflow_assets.client import get_client
from airflow_assets.exceptions import AssetCatalogError, CatalogUnavailable
from airflow_assets.schemas.assets import AssetInput
from airflow_assets.sensors import AssetFreshnessSensor
from airflow_assets.triggers.freshness_wait import FreshnessWait
from tests.support.local_catalog import catalog

if TYPE_CHECKING:
    from airflow_assets.catalog.service import CatalogService

__all__ = ["catalog"]


def sensor(**arguments: Any) -> AssetFreshnessSensor:
    return AssetFreshnessSensor(task_id="wait", **arguments)


def test_the_contracts_name_is_the_same_class() -> None:
    assert sensors.FreshnessTrigger is AssetFreshnessSensor


@pytest.mark.parametrize(
    "arguments",
    [{}, {"max_staleness": "6 hours"}, {"max_staleness": "PT6H", "namespace": "Sales"}, {"deadline": "7 am"}],
)
def test_constants_are_checked_when_the_dag_is_parsed(arguments: dict[str, Any]) -> None:
    with pytest.raises(AssetCatalogError):
        sensor(**arguments)
    sensor(**{**arguments, "max_staleness": "{{ params.limit }}"})


def test_a_poke_returns_all_that_is_stale(catalog: CatalogService) -> None:
    for name in ("a", "b"):
        get_client().create_asset(AssetInput(id=name, type="T", namespace="n"))
    assert not sensor(max_staleness=timedelta(hours=1), namespace="n").poke({})
    found = sensor(max_staleness="PT0.000001S", namespace="n").poke({})
    assert found
    assert [one["id"] for one in found.xcom_value["assets"]] == ["a", "b"]


def test_the_trigger_goes_on_looking_through_an_outage(
    catalog: CatalogService, monkeypatch: pytest.MonkeyPatch
) -> None:
    get_client().create_asset(AssetInput(id="a", type="T"))
    waiting = sensor(deadline="07:00", timezone="Europe/Paris", window="PT0.000001S", poke_interval=0.01)
    trigger = waiting.make_trigger({})
    path, arguments = trigger.serialize()
    assert path == "airflow_assets.triggers.freshness_wait.FreshnessWait"
    again = FreshnessWait(**arguments)
    whole = catalog.check_freshness
    looks: list[bool] = []

    def look(*given: Any) -> Any:
        looks.append(True)
        if len(looks) == 1:
            raise CatalogUnavailable("away")
        if len(looks) == 2:
            report = whole(*given)
            return report.model_copy(update={"assets": []})
        check = given[1].model_copy(update={"expectation": waiting_for_nothing()})
        return whole(given[0], check)

    monkeypatch.setattr(catalog, "check_freshness", look)

    async def first() -> Any:
        return await again.run().__anext__()

    event = asyncio.run(first())
    assert [one["id"] for one in event.payload["assets"]] == ["a"]
    assert len(looks) == 3


def waiting_for_nothing() -> Any:
    from airflow_assets.schemas.expectations import Expectation

    return Expectation(max_staleness="PT0.000001S")

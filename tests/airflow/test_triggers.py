"""What an event trigger is in a Dag's schedule: a plain native asset, equal for equal triggers."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from airflow.sdk import DAG, Asset, AssetAlias, AssetOrTimeSchedule
from airflow.serialization.encoders import encode_asset_like
from airflow.serialization.serialized_objects import DagSerialization

from airflow_assets.exceptions import AssetCatalogError, InvalidRequest
from airflow_assets.schemas.subscription import Subscription
from airflow_assets.triggers import EventTrigger, any_of

FULL: dict[str, Any] = {
    "asset_id": "analytics.orders",
    "namespace": "sales",
    "asset_type": "airflow_assets.types.Table",
    "events": ["UPDATED", "CREATED"],
    "metadata_query": [{"field": "tier", "type": "EQUAL_TO", "value": 1}],
    "when": "{{ asset.metadata.rows > 0 }}",
    "stop_after": ["failed"],
    "allow_concurrent": False,
    "only_changes": True,
    "on_pause": "skip",
    "max_pending": 7,
    "id": "orders",
}


def test_the_marker_reads_well_and_carries_everything() -> None:
    marker = EventTrigger(**FULL).as_schedule()
    assert marker.name.startswith("events of analytics.orders in sales (CREATED, UPDATED) #")
    assert marker.uri == f"x-airflow-assets://event/{EventTrigger(**FULL).subscription().digest}"
    assert marker.name.endswith(marker.uri[len("x-airflow-assets://event/") :][:12])
    assert marker.group == "airflow_assets.event"
    assert Subscription.from_extra(marker.extra) == EventTrigger(**FULL).subscription()


def test_equal_triggers_are_one_marker_and_any_difference_makes_another() -> None:
    whole = EventTrigger(**FULL).as_schedule()
    assert EventTrigger(**{**FULL, "events": ("CREATED", "UPDATED", "CREATED")}).as_schedule() == whole
    uris = {EventTrigger(**{k: v for k, v in FULL.items() if k != left}).as_schedule().uri for left in FULL}
    assert len(uris | {whole.uri}) == len(FULL) + 1


@pytest.mark.parametrize("asset_id", ["größe", "x" * 1_500, "\N{GRINNING FACE}" * 1_500, "a#b?c/d%e"])
def test_names_are_ascii_and_short(asset_id: str) -> None:
    name = EventTrigger(asset_id=asset_id).as_schedule().name
    assert name.isascii()
    assert len(name) <= 250


def test_airflow_serializes_a_plain_asset() -> None:
    marker = EventTrigger(**FULL).as_schedule()
    plain = Asset(name=marker.name, uri=marker.uri, group=marker.group, extra=marker.extra)
    assert encode_asset_like(marker) == encode_asset_like(plain)
    both = marker | Asset("other")
    assert encode_asset_like(both) == encode_asset_like(plain | Asset("other"))
    once, twice = (json.dumps(DagSerialization.to_dict(DAG("d", schedule=_schedule()))) for _ in range(2))
    assert once == twice
    assert "airflow_assets.triggers" not in once


def _schedule() -> Any:
    return any_of(EventTrigger(**FULL), EventTrigger(namespace="other"), cron="@daily")


@pytest.mark.parametrize(
    "join",
    [
        lambda marker: marker & Asset("a"),
        lambda marker: Asset("a") & marker,
        lambda marker: marker & marker,
        lambda marker: (marker | Asset("a")) & Asset("b"),
        lambda marker: (Asset("a") | marker) & Asset("b"),
        lambda marker: marker & AssetAlias("a"),
    ],
)
def test_and_is_refused_with_the_way_out(join: Any) -> None:
    with pytest.raises(InvalidRequest, match="any_of"):
        join(EventTrigger(namespace="sales").as_schedule())


def test_any_of_numbers_its_triggers() -> None:
    schedule = any_of(
        EventTrigger(namespace="a"), EventTrigger(namespace="b", id="mine"), EventTrigger(namespace="a")
    )
    found = [Subscription.from_extra(marker.extra) for marker in schedule.objects]
    assert [(one.position, one.trigger_id) for one in found] == [
        (1, "trigger_1"),
        (2, "mine"),
        (3, "trigger_3"),
    ]
    assert isinstance(_schedule(), AssetOrTimeSchedule)
    assert any_of(EventTrigger(namespace="a")) == EventTrigger(namespace="a").as_schedule()


def test_any_of_refuses_what_cannot_be_told_apart() -> None:
    with pytest.raises(InvalidRequest, match="at least one"):
        any_of()
    with pytest.raises(InvalidRequest, match="'same'"):
        any_of(EventTrigger(namespace="a", id="same"), EventTrigger(namespace="b", id="same"))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"events": "CREATED"}, "not a list"),
        ({"events": []}, "not a list"),
        ({"events": ["MADE"]}, "CREATED, UPDATED, DELETED, USED"),
        ({"namespace": "Sales"}, "lower case"),
        ({"asset_id": " a"}, "white space"),
        ({"metadata_query": [{"field": "a", "type": "LIKE", "value": 1}]}, "EQUAL_TO"),
        ({"metadata_query": [{"field": "a", "type": "REGEX", "value": "("}]}, "RE2"),
        ({"when": "{{ asset.id"}, "cannot be read"),
        ({"stop_after": ["SUCCESS"]}, "queued, running, success, failed"),
        ({"on_pause": "drop"}, "'keep'"),
        ({"max_pending": 0}, "from 1"),
        ({"id": ""}, "trigger id"),
    ],
)
def test_a_broken_rule_is_told_at_definition(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(AssetCatalogError) as caught:
        EventTrigger(**arguments)
    assert says in str(caught.value)


def test_a_dag_file_loads_nothing_of_the_server() -> None:
    code = """
import sys
from airflow.sdk import DAG
before = set(sys.modules)
from airflow_assets.triggers import EventTrigger, FreshnessTrigger, any_of
DAG("d", schedule=any_of(EventTrigger(namespace="a"), EventTrigger(asset_id="b"), FreshnessTrigger("PT6H")))
loaded = {name.split(".")[0] for name in set(sys.modules) - before}
ours = {name for name in sys.modules if name.startswith("airflow_assets.")}
print(sorted(loaded & {"sqlalchemy", "alembic", "fastapi", "starlette", "httpx", "openlineage"}))
print(sorted(name for name in ours if name.split(".")[1] in {"catalog", "airflow_bridge", "api", "client"}))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout.splitlines()[-2:] == ["[]", "[]"]

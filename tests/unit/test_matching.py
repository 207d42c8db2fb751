"""Which events a filter wants. (That metadata conditions mean the same as in SQL: tests/catalogue/test_metadata_query.)"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from airflow_assets.schemas.actors import Source, SourceKind
from airflow_assets.schemas.events import Event, EventAsset, EventFilter
from airflow_assets.schemas.matching import event_matches, same_value
from tests.support.catalog_rows import NOON
from tests.support.json_values import busy_machine, json_values


def event(**given_members: Any) -> Event:
    members: dict[str, Any] = {
        "id": "a",
        "type": "T",
        "namespace": "n",
        "metadata": {"tier": 2},
        **given_members,
    }
    kind, changed = members.pop("event", "UPDATED"), members.pop("changed", ["metadata.tier"])
    asset = EventAsset(
        display_name=None, description=None, tenant_id="main", created=NOON, updated=NOON, **members
    )
    return Event(
        seq=1,
        id="x",
        event=kind,
        event_time=NOON,
        asset=asset,
        source=Source(kind=SourceKind.API),
        changed=changed,
        depth=0,
    )


@pytest.mark.parametrize(
    ("wanted", "of", "matches"),
    [
        ({}, {}, True),
        ({"asset_id": "a"}, {}, True),
        ({"asset_id": "A"}, {}, False),
        ({"namespace": "n"}, {}, True),
        ({"namespace": "n"}, {"namespace": "n.m"}, False),
        ({"namespace": "n"}, {"namespace": None}, False),
        ({"asset_type": "T"}, {"type": "t"}, False),
        ({"events": ["CREATED", "UPDATED"]}, {}, True),
        ({"events": ["CREATED"]}, {}, False),
        ({"events": []}, {}, False),
        ({"only_changes": True}, {}, True),
        ({"only_changes": True}, {"changed": []}, False),
        ({"only_changes": True}, {"changed": [], "event": "USED"}, True),
        ({"metadata_query": [{"field": "tier", "type": "EQUAL_TO", "value": 2.0}]}, {}, True),
        ({"metadata_query": [{"field": "tier", "type": "EQUAL_TO", "value": "2"}]}, {}, False),
        ({"asset_id": "a", "events": ["UPDATED"], "namespace": "other"}, {}, False),
    ],
)
def test_every_member_must_hold(wanted: dict[str, Any], of: dict[str, Any], matches: bool) -> None:
    assert event_matches(EventFilter.model_validate(wanted), event(**of)) is matches


def test_a_filter_goes_on_after_a_rename() -> None:
    present = {"old": "new", "older": "new"}

    def resolve(asset_id: str) -> str:
        return present.get(asset_id, asset_id)

    for wanted in ("old", "older", "new"):
        for named in ("old", "new"):
            assert event_matches(EventFilter(asset_id=wanted), event(id=named), resolve=resolve)
    assert not event_matches(EventFilter(asset_id="other"), event(id="new"), resolve=resolve)
    assert not event_matches(EventFilter(asset_id="old"), event(id="new"))


@busy_machine
@given(left=json_values, right=json_values)
def test_equality_is_an_equivalence_that_the_stored_hash_shares(left: Any, right: Any) -> None:
    from airflow_assets.catalog.values import equal

    assert same_value(left, left)
    assert same_value(left, right) == same_value(right, left) == equal(left, right)

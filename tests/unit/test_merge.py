"""The rules of an upsert as a table, and what must hold for any metadata."""

from __future__ import annotations

import copy
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_assets.catalog.merge import diff, merge_asset, merge_metadata
from airflow_assets.catalog.states import AssetState
from airflow_assets.catalog.values import equal
from airflow_assets.exceptions import InvalidAsset
from airflow_assets.schemas.assets import AssetInput, AssetUpdate
from airflow_assets.schemas.rules import EXTERNAL_TYPE

NOON = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
LATER = NOON + timedelta(hours=1)
KEYS = st.sampled_from(["a", "b", "c"])
SCALARS = st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["x", "y"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
METADATA = st.dictionaries(KEYS, VALUES, max_size=3)


def state(**members: Any) -> AssetState:
    given = {
        "key": b"k" * 32,
        "pk": 1,
        "tenant": "main",
        "id": "a",
        "type": "T",
        "namespace": "n",
        "display_name": "A",
        "description": "d",
        "metadata": {"k": 1},
        "uri": "u",
        "group": "g",
        "created": NOON,
        "updated": NOON,
        "deleted": False,
    }
    return AssetState(**{**given, **members})


@pytest.mark.parametrize(
    ("stored", "incoming", "merged"),
    [
        ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ({"a": 1}, {"a": 2}, {"a": 2}),
        ({"a": 1}, {"a": "1"}, {"a": "1"}),
        ({"a": 1}, {"a": None}, {}),
        ({}, {"a": None}, {}),
        ({"a": 1}, {}, {"a": 1}),
        ({"a": {"x": 1, "y": 2}}, {"a": {"x": 3, "z": 4}}, {"a": {"x": 3, "y": 2, "z": 4}}),
        ({"a": {"x": 1}}, {"a": {"x": None, "y": None}}, {"a": {"x": 1}}),
        ({"a": {"x": {"y": [1]}}}, {"a": {"x": {"y": [2]}}}, {"a": {"x": {"y": [1, 2]}}}),
        ({"a": {"x": 1}}, {"a": 1}, {"a": 1}),
        ({"a": 1}, {"a": {"x": None}}, {"a": {"x": None}}),
        ({"a": [3, 1]}, {"a": [1, 2, 2]}, {"a": [3, 1, 2]}),
        ({"a": [1, 1]}, {"a": [1]}, {"a": [1, 1]}),
        ({"a": [1]}, {"a": [True, "1", 1.0]}, {"a": [1, True, "1"]}),
        ({"a": [{"x": 1, "y": 2}]}, {"a": [{"y": 2, "x": 1}]}, {"a": [{"x": 1, "y": 2}]}),
        ({"a": [1]}, {"a": {"x": 1}}, {"a": {"x": 1}}),
        ({"a": None}, {"a": 1}, {"a": 1}),
    ],
)
def test_metadata(stored: dict[str, Any], incoming: dict[str, Any], merged: dict[str, Any]) -> None:
    result = merge_metadata(stored, incoming)
    assert equal(result, merged)
    assert repr(result) == repr(merged)


@given(METADATA, METADATA)
def test_writing_the_same_again_changes_nothing(stored: dict[str, Any], incoming: dict[str, Any]) -> None:
    before = copy.deepcopy((stored, incoming))
    once = merge_metadata(stored, incoming)
    assert equal(merge_metadata(once, incoming), once)
    assert (stored, incoming) == before


@given(METADATA)
def test_nothing_merged_is_nothing_changed(stored: dict[str, Any]) -> None:
    assert merge_metadata(stored, {}) == stored


@given(METADATA, METADATA)
def test_the_diff_tells_exactly_the_keys_that_differ(old: dict[str, Any], new: dict[str, Any]) -> None:
    found = diff(state(metadata=old), state(metadata=new))
    for key in "abc":
        same = (key in old) == (key in new) and equal(old.get(key), new.get(key))
        assert (f"metadata.{key}" in found) != same
        if not same:
            assert found[f"metadata.{key}"] == [old.get(key), new.get(key)]


@pytest.mark.parametrize(
    ("stored", "incoming", "kept"),
    [("T", None, "T"), ("T", "U", "U"), ("T", EXTERNAL_TYPE, "T"), (EXTERNAL_TYPE, "T", "T")],
)
def test_type(stored: str, incoming: str | None, kept: str) -> None:
    assert merge_asset(state(type=stored), AssetInput(id="a", type=incoming), LATER).type == kept


def test_what_is_left_out_stays() -> None:
    for incoming in (AssetInput(id="a"), AssetUpdate()):
        merged = merge_asset(state(), incoming, LATER)
        assert merged == state(updated=LATER)


def test_what_is_given_replaces() -> None:
    members = {"namespace": "m", "display_name": "B", "description": "e", "uri": "v", "group": "h"}
    merged = merge_asset(state(deleted=True), AssetUpdate(**members), LATER)
    assert merged == state(**members, updated=LATER)


@pytest.mark.parametrize(
    ("incoming", "clears", "left"),
    [
        (AssetUpdate(namespace=None), True, None),
        (AssetUpdate(), True, "n"),
        (AssetInput(id="a", namespace=None), False, "n"),
    ],
)
def test_namespace_null(incoming: AssetInput | AssetUpdate, clears: bool, left: str | None) -> None:
    assert merge_asset(state(), incoming, LATER, clears_namespace=clears).namespace == left


def test_merging_does_not_lift_the_limits() -> None:
    text = "x" * 200_000
    with pytest.raises(InvalidAsset, match=r"262,144 are allowed"):
        merge_asset(state(metadata={"a": text}), AssetInput(id="a", metadata={"b": text}), LATER)


def test_diff_of_a_new_asset_has_what_is_set() -> None:
    found = diff(None, state(description=None, metadata={"k": None}))
    assert found == {
        "id": [None, "a"],
        "type": [None, "T"],
        "namespace": [None, "n"],
        "displayName": [None, "A"],
        "uri": [None, "u"],
        "group": [None, "g"],
        "metadata.k": [None, None],
    }


def test_diff_is_empty_for_times_alone_and_for_equal_numbers() -> None:
    assert diff(state(), state(updated=LATER, metadata={"k": 1.0})) == {}
    assert diff(state(), state(metadata={"k": True})) == {"metadata.k": [1, True]}
    assert diff(state(), state(deleted=True)) == {"deleted": [False, True]}

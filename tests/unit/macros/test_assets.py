from __future__ import annotations

import pytest

import airflow_assets
from airflow_assets import macros
from airflow_assets.client import get_client
from airflow_assets.exceptions import InvalidAsset, InvalidQuery
from airflow_assets.schemas.assets import AssetInput
from airflow_assets.schemas.queries import Batch, BatchItem

FIELDS = ["id", "namespace", "type", "displayName", "description", "metadata", "tenantId", "created", "updated", "deleted"]  # fmt: skip


def add(*ids: str, type: str = "T", **members) -> None:  # noqa: A002
    for asset_id in ids:
        get_client().create_asset(AssetInput(id=asset_id, type=type, **members))


def ids(**arguments) -> list[str]:
    return [asset["id"] for asset in airflow_assets.assets(**arguments)]


def test_the_contracts_fields_in_order_of_id(catalog) -> None:
    add("b", "a", metadata={"k": 1}, namespace="n", display_name="D", description="x")
    found = airflow_assets.assets()
    assert [list(asset) for asset in found] == [FIELDS, FIELDS]
    assert [asset["id"] for asset in found] == ["a", "b"]
    assert found[0]["tenantId"] == "main"
    assert found[0]["deleted"] is False
    assert found[0]["updated"].endswith("Z")


def test_each_argument_compares_exactly_and_all_must_hold(catalog) -> None:
    add("a", namespace="n", metadata={"n": 1, "b": True, "z": None})
    add("b", namespace="n.c", metadata={"n": "1", "b": "true"})
    add("c", type="t")
    assert ids(id="a") == ["a"]
    assert ids(id="A") == []
    assert ids(type="T") == ["a", "b"]
    assert ids(type="t") == ["c"]
    assert ids(namespace="n") == ["a"]
    assert ids(metadata={"n": 1}) == ["a"]
    assert ids(metadata={"n": "1"}) == ["b"]
    assert ids(metadata={"n": 1, "b": True}) == ["a"]
    assert ids(metadata={"n": 1, "b": "true"}) == []
    assert ids(metadata={"z": None}) == ["a"]
    assert ids(metadata={}) == ["a", "b", "c"]


def test_no_match_is_an_empty_list_and_a_deleted_asset_is_no_match(catalog) -> None:
    add("a")
    get_client().delete_asset("a")
    assert airflow_assets.assets() == []
    assert ids(id="a") == []


def test_the_limit_is_exact_and_its_error_names_it(catalog) -> None:
    def fill(first: int, last: int) -> None:
        items = [
            BatchItem(action="create", asset=AssetInput(id=f"a{i:05}", type="T")) for i in range(first, last)
        ]
        assert {item.status for item in get_client().batch(Batch(items=items)).items} == {201}

    fill(0, macros.MAX_ASSETS)
    assert len(airflow_assets.assets()) == macros.MAX_ASSETS
    fill(macros.MAX_ASSETS, macros.MAX_ASSETS + 1)
    with pytest.raises(InvalidQuery, match="more than 1,000 assets"):
        airflow_assets.assets()


@pytest.mark.parametrize("arguments", [{"id": ""}, {"type": ""}, {"namespace": "No"}])
def test_an_argument_that_breaks_a_rule_is_refused(catalog, arguments) -> None:
    with pytest.raises(InvalidAsset, match=r"empty|characters that are not allowed"):
        airflow_assets.assets(**arguments)

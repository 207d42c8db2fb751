"""The purging operator on the real catalogue in process."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from airflow.sdk import DAG

from airflow_assets.client import get_client
from airflow_assets.exceptions import InvalidQuery, InvalidRequest
from airflow_assets.operators import PurgeAssetsOperator
from airflow_assets.schemas.assets import AssetInput

LATER = datetime(2200, 1, 1, tzinfo=timezone.utc)


def purge(**arguments):
    return PurgeAssetsOperator(task_id="t", **{"end_date": LATER, **arguments}).execute({})


def add(*ids: str, **members) -> None:
    for asset_id in ids:
        get_client().create_asset(AssetInput(id=asset_id, type="T", **members))


def test_it_returns_the_contracts_counts(catalog) -> None:
    add("a", "b", namespace="n.one")
    add("c", namespace="n_one")
    nothing = {
        "purgedAssetsCount": 0,
        "purgedAssetUsagesCount": 0,
        "purgedAssetLineagesCount": 0,
        "purgedAssetEventsCount": None,
    }
    assert purge(end_date="2020-01-01T00:00:00Z") == nothing
    dry = purge(namespace="n", purge_asset_events=True, dry_run="True")
    assert dry == {**nothing, "purgedAssetsCount": 2, "purgedAssetEventsCount": 2}
    assert purge(namespace="n", purge_asset_usages=False, purge_asset_lineages=False) == {
        "purgedAssetsCount": 2,
        "purgedAssetUsagesCount": None,
        "purgedAssetLineagesCount": None,
        "purgedAssetEventsCount": None,
    }
    assert [asset.id for asset in get_client().query_assets().items] == ["c"]


def test_a_combination_that_cannot_be_is_an_error_at_parse_and_in_the_run(catalog) -> None:
    add("a", metadata={"k": 1})
    for filters in (
        {"asset_id": "a"},
        {"asset_type": "T", "purge_asset_lineages": False},
        {"metadata_query": [{"field": "k", "type": "EXISTS"}], "purge_asset_usages": False},
    ):
        with pytest.raises(InvalidQuery, match=r"Turn purge_asset_(usages|lineages) off"):
            PurgeAssetsOperator(task_id="t", end_date=LATER, **filters)
        templated = PurgeAssetsOperator(task_id="t", end_date="{{ end }}", **filters)
        templated.purge_end_date = str(LATER)
        with pytest.raises(InvalidQuery, match=r"Turn purge_asset_(usages|lineages) off"):
            templated.execute({})
    assert get_client().get_asset("a").id == "a"


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"end_date": "yesterday"}, "yesterday"),
        ({"end_date": datetime(2026, 1, 1)}, "time zone"),  # noqa: DTZ001
        ({"namespace": "No Namespace"}, "No Namespace"),
        ({"purge_assets": "perhaps"}, "purge_assets must be true or false"),
        ({"asset_type": 7}, "asset_type"),
        ({"metadata_query": [{"field": "k"}]}, "metadata_query"),
    ],
)
def test_a_wrong_argument_is_an_error_at_parse(arguments, named) -> None:
    with pytest.raises(InvalidRequest, match=named):
        PurgeAssetsOperator(task_id="t", **{"end_date": LATER, **arguments})


def test_it_takes_nothing_from_what_operators_have_under_the_same_names() -> None:
    with DAG("d", schedule=None, start_date=LATER - timedelta(days=9)):
        operator = PurgeAssetsOperator(task_id="t", end_date=LATER - timedelta(days=99), dry_run=True)
    assert operator.end_date is None, "the task is not over"
    assert callable(operator.dry_run)


def test_templates_that_render_to_nothing_filter_nothing(catalog) -> None:
    add("a")
    operator = PurgeAssetsOperator(task_id="t", end_date="{{ e }}", namespace="{{ n }}", asset_id="{{ i }}")
    operator.purge_end_date, operator.namespace, operator.asset_id = str(LATER), "", ""
    assert operator.execute({})["purgedAssetsCount"] == 1

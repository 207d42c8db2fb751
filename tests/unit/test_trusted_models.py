"""What the catalogue builds of its own rows without checking is what checking would have built."""

from __future__ import annotations

import pickle
from datetime import datetime, timezone

from airflow_assets.catalog.states import AssetState
from airflow_assets.schemas.assets import Asset
from airflow_assets.schemas.expectations import Freshness

NOW = datetime(2026, 3, 29, 7, tzinfo=timezone.utc)
STATE = AssetState(
    key=b"k" * 32,
    pk=1,
    tenant="main",
    id="orders",
    type="t",
    namespace=None,
    display_name=None,
    description="d",
    metadata={"n": 2**53 + 1},
    uri=None,
    group="g",
    created=NOW,
    updated=NOW,
    deleted=False,
)


def test_an_asset_is_whole_in_the_order_of_its_class() -> None:
    asset = STATE.to_asset(["before"], now=NOW)
    assert list(asset.__dict__) == list(Asset.model_fields)
    assert asset.model_fields_set == set(Asset.model_fields)
    assert Asset.model_validate(asset.model_dump()) == asset
    assert Asset.model_validate_json(asset.model_dump_json(by_alias=True)) == asset
    assert pickle.loads(pickle.dumps(asset)) == asset  # noqa: S301 - made here
    assert asset.model_copy(update={"aliases": []}).aliases == []
    assert list(asset.freshness.__dict__) == list(Freshness.model_fields)

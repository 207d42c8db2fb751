"""Airflow's side of `record`: one `register_asset_change` per record and commit, as its API server does."""

from __future__ import annotations

import logging

from airflow.assets.manager import asset_manager
from airflow.models.asset import AssetActive, AssetModel
from airflow.serialization.definitions.assets import SerializedAssetUniqueKey
from airflow.utils.session import create_session
from loop import serve_records
from sqlalchemy import func, select

logging.disable(logging.CRITICAL)
KEYS = [SerializedAssetUniqueKey(name=f"a{number}", uri=f"s3://bucket/a{number}") for number in range(200)]


def make_assets() -> None:
    with create_session() as session:
        present = select(func.count()).select_from(AssetModel).where(AssetModel.uri.like("s3://bucket/a%"))
        if session.scalar(present):
            return
        for key in KEYS:
            model = AssetModel(name=key.name, uri=key.uri, group="asset", extra={})
            session.add(model)
            session.flush()
            session.add(AssetActive.for_asset(model))


def record(number: int) -> None:
    extra = {"rows": number, "owner": f"team{number % 10}", "tier": number % 5}
    with create_session() as session:
        asset_manager.register_asset_change(asset=KEYS[number % 200], extra=extra, session=session)


if __name__ == "__main__":
    make_assets()
    serve_records(record)

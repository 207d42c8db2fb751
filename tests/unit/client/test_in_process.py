"""What holds over HTTP holds in process too: the rule on naming a namespace."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from airflow_assets.catalog import tables
from airflow_assets.catalog.engine import make_engine
from airflow_assets.catalog.service import CatalogService
from airflow_assets.client.base import CatalogClient
from airflow_assets.client.in_process import InProcessTransport
from airflow_assets.exceptions import NamespaceNotAllowed
from airflow_assets.schemas.assets import AssetInput
from airflow_assets.schemas.queries import AssetQuery

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def client(tmp_path: Path) -> Iterator[CatalogClient]:
    engine = make_engine(f"sqlite:///{tmp_path}/catalogue.db")
    tables.metadata.create_all(engine)
    yield CatalogClient(InProcessTransport(service=CatalogService(engine)))
    engine.dispose()


def test_a_listing_may_not_name_a_namespace_that_is_not_allowed(
    client: CatalogClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.create_asset(AssetInput(id="a", type="T", namespace="ops"))
    monkeypatch.setenv("AIRFLOW__AIRFLOW_ASSETS__NAMESPACES", '{"finance": {"allowed": ["reporting"]}}')
    client.create_asset(AssetInput(id="b", type="T", namespace="ops"))  # a value, not a filter
    with pytest.raises(NamespaceNotAllowed, match="All namespaces are not allowed"):
        client.search_assets(AssetQuery(namespace="ops"))
    assert [asset.id for asset in client.search_assets(AssetQuery(types=["T"])).items] == ["a", "b"]

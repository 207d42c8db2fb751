"""A catalogue on each of the three databases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from airflow_assets.catalog import tables
from airflow_assets.catalog.engine import make_engine
from airflow_assets.catalog.service import CatalogService

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Engine


@pytest.fixture(scope="module")
def engine(database_url: str) -> Iterator[Engine]:
    made = make_engine(database_url)
    tables.metadata.create_all(made)
    yield made
    made.dispose()


@pytest.fixture
def service(engine: Engine) -> CatalogService:
    """The catalogue of this module's database, emptied."""
    with engine.begin() as conn:
        for table in reversed(tables.metadata.sorted_tables):
            conn.execute(table.delete())
    return CatalogService(engine)

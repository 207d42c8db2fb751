"""The real catalogue on a SQLite file, in the place where the client looks for Airflow's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from airflow_assets.catalog import tables
from airflow_assets.catalog.engine import make_engine
from airflow_assets.catalog.service import CatalogService

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CatalogService]:
    """A service over empty tables, which `get_client()` uses; only the question where it is is answered here."""
    from airflow_assets.airflow_bridge import context
    from airflow_assets.client import choose

    engine = make_engine(f"sqlite:///{tmp_path}/catalog.db")
    tables.metadata.create_all(engine)
    service = CatalogService(engine)
    monkeypatch.setattr(context, "get_service", lambda: service)
    monkeypatch.setattr(choose, "may_use_database", lambda: True)
    monkeypatch.setattr(choose, "_local_connection", lambda _: None)
    yield service
    engine.dispose()

"""What an import brought is the past: the dispatcher starts no run for it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from airflow_assets.airflow_bridge.planning import _may_start
from airflow_assets.schemas.actors import Source, SourceKind
from airflow_assets.schemas.events import Event, EventAsset, EventKind
from tests.support.catalog_rows import NOON


@pytest.mark.parametrize(
    ("suppressed", "starts"), [(None, True), ("loop", True), ("import", False), ("import:loop", False)]
)
def test_imported_events_start_nothing(suppressed: str | None, starts: bool) -> None:
    asset = EventAsset(
        id="a", type="T", namespace=None, display_name=None, description=None, metadata={}, tenant_id="main",
        created=NOON, updated=NOON,
    )  # fmt: skip
    event = Event(
        seq=1, id="x", event=EventKind.CREATED, event_time=NOON, asset=asset, source=Source(kind=SourceKind.API),
        changed=[], depth=0, suppressed=suppressed,
    )  # fmt: skip
    assert _may_start(cast("Any", SimpleNamespace(team=None)), event, {}) is starts

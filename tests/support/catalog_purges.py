"""Purges as processes of their own: beside writers, and killed half-way."""

from __future__ import annotations

import multiprocessing
import os
import signal
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from airflow_assets.catalog import purge as purge_module
from airflow_assets.catalog.engine import make_engine
from airflow_assets.catalog.service import CatalogService
from airflow_assets.schemas.purge import Purge, PurgeResult
from tests.support.catalog_writers import CALLER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_CONTEXT = multiprocessing.get_context("spawn")
EVERYTHING = Purge(end_date=datetime(2200, 1, 1, tzinfo=timezone.utc), purge_asset_events=True)


def steps(service: CatalogService, body: Purge) -> Iterator[PurgeResult]:
    """Purge to the end; yields each step's own result."""
    cursor: str | None = ""
    while cursor is not None:
        done = service.purge(CALLER, body.model_copy(update={"cursor": cursor or None}))
        yield done
        cursor = done.next_cursor


def purge_again_and_again(service: CatalogService, times: int, limit: int) -> list[int]:
    """Purge everything several times; returns the sums of the four counts."""
    sums = [0, 0, 0, 0]
    for _ in range(times):
        for done in steps(service, EVERYTHING.model_copy(update={"limit": limit})):
            found = (
                done.purged_assets_count,
                done.purged_asset_usages_count,
                done.purged_asset_lineages_count,
                done.purged_asset_events_count,
            )
            sums = [one + (more or 0) for one, more in zip(sums, found, strict=True)]
    return sums


def kill_half_way(url: str, body: Purge, after: int, *, done: Callable[[], int]) -> int:
    """Start a purge in a process of its own, kill it (-9) once ``done()`` says ``after``; what it had told.

    It works in transactions of 20 records with no rest, so the kill comes in the middle of its work.
    """
    told = _CONTEXT.SimpleQueue()
    process = _CONTEXT.Process(target=_purge_alone, args=(url, body.to_json(), told), daemon=True)
    process.start()
    count = 0
    try:
        while done() < after:
            assert process.is_alive(), "the purge was over before it was killed"
            while not told.empty():
                count += told.get()
    finally:
        os.kill(process.pid or 0, signal.SIGKILL)
        process.join(60)
    while not told.empty():
        count += told.get()
    assert process.exitcode == -signal.SIGKILL
    return count


def _purge_alone(url: str, body: dict[str, Any], told: Any) -> None:
    purge_module._FIRST = purge_module._LEAST = purge_module._MOST = 20
    service = CatalogService(make_engine(url, pool_size=1))
    for result in steps(service, Purge.model_validate(body)):
        told.put(result.purged)

"""Assets that tests/airflow/test_authoring.py runs twice: here, in Dags of a real Airflow, and locally."""

from __future__ import annotations

import hashlib
import os
import time
from datetime import datetime
from pathlib import Path
from typing import Any

from airflow_assets.authoring.actions import ActionConcurrency, ActionResult, AssetAction, Outcome
from airflow_assets.authoring.assets import Asset
from airflow_assets.authoring.contexts import AssetExecutionContext  # noqa: TC001 - bodies are told by it
from airflow_assets.authoring.deps import AssetDef
from airflow_assets.authoring.handlers.files import PickleIOHandler
from airflow_assets.authoring.partitions.definitions import PartitionsDefinition
from airflow_assets.authoring.partitions.mappings import PartitionMapping
from airflow_assets.authoring.repository import CodeRepository
from airflow_assets.authoring.results import Observation, Output
from airflow_assets.authoring.retries import Backoff, RetryPolicy
from airflow_assets.authoring.tasks import Task

DAYS = PartitionsDefinition.daily(datetime(2026, 1, 1), end=datetime(2026, 1, 5))  # noqa: DTZ001 - naive UTC


def said(value: Any, **metadata: Any) -> Output:
    """An output whose version follows from its value, so that two runs of it agree."""
    return Output(
        value, metadata=metadata, data_version=hashlib.sha256(repr(value).encode()).hexdigest()[:12]
    )


@Task
def parts(orders: list[int]) -> list[int]:
    return orders


@Task
def square(part: int) -> int:
    return part * part


@Task
def total(values: list[int]) -> Output:
    return said(sum(values), parts=len(values))


def plain(store: PickleIOHandler, tried: Path) -> list[Asset]:
    """A chain with a retry, a multi-asset, a fan-out, an external asset."""

    @Asset(group="shop", io_handler=store, code_version="1", kinds="table", tags=["raw"])
    def orders() -> Output:
        return said([1, 2, 3], rows=3)

    @Asset(group="shop", io_handler=store, retry=RetryPolicy(1, backoff=Backoff.constant(0)))
    def revenue(orders: list[int]) -> Output:
        if not tried.exists():
            tried.touch()
            raise ConnectionError("the first try")
        return said(sum(orders))

    @Asset.from_multi(output_defs=[AssetDef("low"), AssetDef("high")], group="shop", io_handler=store)
    def extremes(orders: list[int]) -> Any:
        yield Output(min(orders), output_name="low", data_version="low-1")
        yield Output(max(orders), output_name="high", data_version="high-1")

    @Asset.from_graph(group="shop", io_handler=store)
    def report(orders: list[int]) -> Any:
        return total(parts(orders).map(square, max_concurrency=2).collect())

    @Asset.external(name="feed", group="shop", io_handler=store)
    def feed() -> Observation:
        return Observation(data_version="feed-1", metadata={"files": 2})

    return [orders, revenue, extremes, report, feed]


def halves(store: PickleIOHandler) -> list[Asset]:
    """A multi-asset that fails half way, and readers of both of its outputs."""

    @Asset.from_multi(output_defs=[AssetDef("kept"), AssetDef("lost")], group="halves", io_handler=store)
    def half() -> Any:
        yield Output(1, output_name="kept", data_version="kept-1")
        raise ValueError("half way")

    @Asset(group="halves", io_handler=store)
    def of_kept(kept: int) -> Output:
        return said(kept + 1)

    @Asset(group="halves", io_handler=store)
    def of_lost(lost: int) -> int:
        return lost

    return [half, of_kept, of_lost]


def days(store: PickleIOHandler) -> list[Asset]:
    """Two groups with partitions; a day of the second reads the day before of the first."""

    @Asset(group="days", io_handler=store, partitions_def=DAYS)
    def daily(context: AssetExecutionContext) -> Output:
        return said(context.partition_key)

    @Asset(
        group="days_after",
        io_handler=store,
        partitions_def=DAYS,
        deps=[AssetDef.input("daily", PartitionMapping.time_window(-1))],
    )
    def day_after(context: AssetExecutionContext, daily: str) -> Output:
        return said(f"{context.partition_key} after {daily}")

    return [daily, day_after]


def shop(home: Path) -> CodeRepository:
    """What both run."""
    store = PickleIOHandler(path=str(home))
    return CodeRepository(assets=[*plain(store, home / "tried"), *halves(store), *days(store)])


def gates(home: Path) -> CodeRepository:
    """What only Airflow runs: a body that waits at a gate with an exclusive verb, and a burst's two ends."""
    store = PickleIOHandler(path=str(home))

    def compact(context: Any) -> ActionResult:
        return ActionResult.unchanged({"after": (home / "gate-big").exists()})

    verb = AssetAction("compact", Outcome.Unchanged, ActionConcurrency.Exclusive)(compact)

    @Asset(group="gates", io_handler=store, actions=[verb])
    def big() -> int:
        deadline = time.monotonic() + 300
        while not (home / "gate-big").exists():
            if time.monotonic() > deadline:
                raise TimeoutError("the gate stays shut")
            time.sleep(0.2)
        return 1

    @Asset(group="burst_source", io_handler=store)
    def tick() -> int:
        return 1

    @Asset(group="burst_target", io_handler=store)
    def tock(tick: int) -> int:
        return tick + 1

    return CodeRepository(assets=[big, tick, tock])


if "AIRFLOW_ASSETS_SHOP" not in os.environ:
    values = Path(os.environ["AIRFLOW_HOME"]) / "values"
    globals().update(shop(values).to_dags(name="shop"))
    globals().update(gates(values).to_dags(name="gates", max_active_runs=4))

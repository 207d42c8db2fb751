"""Lineage to ship, and a shipper without Airflow around it."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from airflow_assets.client.base import CatalogClient
from airflow_assets.client.in_process import InProcessTransport
from airflow_assets.exporters.base import Shipment
from airflow_assets.exporters.shipping import Order, Outcome, raise_failures, ship
from airflow_assets.schemas.actors import Caller, Source, SourceKind
from airflow_assets.schemas.assets import AssetInput, AssetRef
from airflow_assets.schemas.lineage import Bundle, TaskError, TaskRun, TaskRunRecord, TaskState
from airflow_assets.schemas.shipping import LineageFilter

if TYPE_CHECKING:
    from airflow_assets.catalog.service import CatalogService
    from airflow_assets.exporters.base import AssetExporter

TABLE, FILE = "airflow_assets.types.Table", "airflow_assets.types.File"
BEGAN = datetime(2026, 3, 1, 8, tzinfo=timezone.utc)
TASK = Caller(source=Source(kind=SourceKind.TASK, dag_id="etl"))
ORDERS = AssetRef(id="postgres://db:5432/shop/public/orders", type=TABLE)


def record(
    service: CatalogService,
    task_id: str = "load",
    *,
    run_id: str = "r1",
    state: TaskState = TaskState.SUCCESS,
    outputs: list[AssetInput] | None = None,
    bundles: list[Bundle] | None = None,
    map_index: int = -1,
    try_number: int = 1,
    warnings: list[str] | None = None,
    error: TaskError | None = None,
) -> None:
    """One try that read the orders and wrote a report, unless told otherwise."""
    made = outputs or [AssetInput(id="report", type=FILE, metadata={"owner": "data"})]
    service.record_task_run(
        TASK,
        TaskRunRecord(
            task=TaskRun(
                dag_id="etl", run_id=run_id, task_id=task_id, map_index=map_index, try_number=try_number
            ),
            state=state,
            start_date=BEGAN,
            end_date=BEGAN + timedelta(minutes=5),
            bundles=bundles or [Bundle(inputs=[ORDERS], outputs=made)],
            warnings=warnings or [],
            error=error,
        ),
    )


def client_of(service: CatalogService) -> CatalogClient:
    """The client, calling this service in process."""
    return CatalogClient(InProcessTransport(service=service))


def shipped(
    service: CatalogService,
    *exporters: AssetExporter,
    key: str = "etl.ship",
    delete: bool = False,
    fail: bool = True,
    **wanted: Any,
) -> Outcome:
    """One run of a shipper over the last day."""
    order = Order(Shipment(key, "main"), LineageFilter(**wanted), lookback=24 * 3600.0, delete=delete)
    outcome = ship(client_of(service), list(exporters), order)
    if fail:
        raise_failures(outcome)
    return outcome

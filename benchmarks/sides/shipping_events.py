"""Both sides of the OpenLineage benchmark: `{"side": "ours" | "peer", "url": u, "first": f, "tries": n}`.

The peer gets events that are built already and sends them by its own `http` transport in a loop; ours builds
and sends. Both send START and the end of each try, with the same facets.
"""

from __future__ import annotations

import logging
from datetime import datetime, timezone
from typing import Any

from openlineage.client import OpenLineageClient

from airflow_assets.exporters import ExportBatch, OpenLineageAssetExporter, Shipment
from airflow_assets.exporters.openlineage.events import Builder, tries
from airflow_assets.exporters.openlineage.mapping import Mappings
from airflow_assets.exporters.openlineage.runs import Runs
from airflow_assets.schemas.assets import Asset, AssetRef
from airflow_assets.schemas.lineage import TaskRun, TaskState
from airflow_assets.schemas.shipping import ShippedEvent
from benchmarks.sides.loop import serve

PAGE = 500
NOW = datetime(2026, 3, 1, tzinfo=timezone.utc)
TABLE = "airflow_assets.types.Table"


def batch(first: int, count: int) -> ExportBatch:
    """Tries that read two tables and write one, each with an owner, a description and columns."""
    names = ["postgres://db:5432/shop/public/orders", "postgres://db:5432/shop/public/customers", "report"]
    assets = {name: _asset(name) for name in names}
    return ExportBatch([_event(number, names) for number in range(first, first + count)], assets)


def _asset(name: str) -> Asset:
    columns = [{"name": f"column_{number}", "type": "text"} for number in range(10)]
    return Asset(
        id=name,
        type=TABLE,
        namespace="sales",
        display_name=None,
        description="What was sold.",
        uri=None,
        group=None,
        metadata={"owner": "data", "columns": columns},
        tenant_id="main",
        created=NOW,
        updated=NOW,
        deleted=False,
    )


def _event(number: int, names: list[str]) -> ShippedEvent:
    refs = [AssetRef(id=name, type=TABLE) for name in names]
    return ShippedEvent(
        seq=number + 1,
        task=TaskRun(dag_id="etl", run_id=f"run {number}", task_id="load", try_number=1),
        bundle=0,
        state=TaskState.SUCCESS,
        inputs=refs[:2],
        outputs=refs[2:],
        warnings=[],
        start_date=NOW,
        end_date=NOW,
        created=NOW,
    )


def work(request: dict[str, Any]) -> dict[str, Any]:
    """Send the events of some tries."""
    end = request["first"] + request["tries"]
    pages = [batch(first, min(PAGE, end - first)) for first in range(request["first"], end, PAGE)]
    return _SIDES[request["side"]](request["url"], pages)


def _ours(url: str, pages: list[ExportBatch]) -> dict[str, Any]:
    exporter = OpenLineageAssetExporter("bench", uri=url)
    exporter.start(Shipment("bench", "main"))
    for page in pages:
        exporter.export(page)
    return exporter.finish()


def _peer(url: str, pages: list[ExportBatch]) -> dict[str, Any]:
    import time

    build = Builder("main", Mappings("bench", {}), Runs(), print)
    events = [event for page in pages for group in tries(page) for event in build.of_try(group, page)]
    client = OpenLineageClient(config={"transport": {"type": "http", "url": url}})
    began = time.perf_counter()
    for event in events:
        client.emit(event)
    client.close()
    return {"sending": time.perf_counter() - began, "sent": len(events)}


_SIDES = {"ours": _ours, "peer": _peer}

if __name__ == "__main__":
    logging.disable(logging.WARNING)
    serve(work)

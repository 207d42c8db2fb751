"""Ship a log of lineage to files and tell the peak memory; arguments: a folder, and how many events."""

from __future__ import annotations

import json
import logging
import resource
import sys
import time
from datetime import datetime, timezone
from itertools import islice
from pathlib import Path

from sqlalchemy import insert

from airflow_assets.catalog import tables
from airflow_assets.catalog.engine import make_engine
from airflow_assets.catalog.service import CatalogService
from airflow_assets.client.base import CatalogClient
from airflow_assets.client.in_process import InProcessTransport
from airflow_assets.exporters import FileAssetExporter, Shipment
from airflow_assets.exporters.shipping import Order, ship
from airflow_assets.schemas.shipping import LineageFilter

ROWS = 5_000


def fill(service: CatalogService, count: int) -> None:
    """Write a log of `count` lineage events, straight into the tables."""
    now = datetime.now(timezone.utc)
    ref = json.dumps([{"id": "orders", "type": "airflow_assets.types.Table", "namespace": "sales"}])
    made = (
        {
            "seq": number,
            "record_key": number.to_bytes(32, "big"),
            "bundle": 0,
            "tenant": "main",
            "dag_id": "etl",
            "run_id": f"run {number}",
            "task_id": "load",
            "map_index": -1,
            "try_number": 1,
            "state": "success",
            "inputs": ref,
            "outputs": ref,
            "warnings": "[]",
            "created": now,
        }
        for number in range(1, count + 1)
    )
    with service.engine.begin() as conn:
        while rows := list(islice(made, ROWS)):
            conn.execute(insert(tables.lineage), rows)
        conn.execute(insert(tables.sequence).values(name="log", value=count))


def main(folder: Path, count: int) -> None:
    """Fill a catalogue on SQLite, ship it, print what that took."""
    engine = make_engine(f"sqlite:///{folder}/catalog.db")
    tables.metadata.create_all(engine)
    service = CatalogService(engine)
    fill(service, count)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    order = Order(Shipment("bench", "main"), LineageFilter(), lookback=86_400.0)
    exporter = FileAssetExporter("files", path=str(folder / "out"), max_lines_per_file=100_000)
    began = time.perf_counter()
    outcome = ship(CatalogClient(InProcessTransport(service=service)), [exporter], order)
    answer = {
        "size": outcome.size,
        "errors": [str(error) for error in outcome.errors.values()],
        "before": before,
        "seconds": time.perf_counter() - began,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    main(Path(sys.argv[1]), int(sys.argv[2]))

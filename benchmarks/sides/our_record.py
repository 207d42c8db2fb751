"""Our side of `record`: one `record_task_run` per record, through the service that the API calls."""

from __future__ import annotations

import logging
import os

from loop import serve_records

from airflow_assets.catalog.engine import make_engine
from airflow_assets.catalog.service import CatalogService
from airflow_assets.schemas.actors import Caller, Source, SourceKind
from airflow_assets.schemas.assets import AssetInput
from airflow_assets.schemas.lineage import Bundle, TaskRun, TaskRunRecord, TaskState

logging.disable(logging.CRITICAL)
TABLE = "airflow_assets.types.Table"


def main() -> None:
    service = CatalogService(make_engine(os.environ["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"]))

    def record(number: int) -> None:
        place = {"dag_id": "bench", "run_id": f"run_{number}", "task_id": "load", "try_number": 1}
        metadata = {"rows": number, "owner": f"team{number % 10}", "tier": number % 5}
        output = AssetInput(id=f"a{number % 200}", type=TABLE, metadata=metadata)
        result = service.record_task_run(
            Caller(source=Source(kind=SourceKind.TASK, map_index=-1, **place)),
            TaskRunRecord(task=TaskRun(**place), state=TaskState.SUCCESS, bundles=[Bundle(outputs=[output])]),
        )
        if result.duplicate or result.problems or result.stored != [output.id]:
            raise SystemExit(f"record {number} was not stored: {result!r}")

    serve_records(record)


if __name__ == "__main__":
    main()

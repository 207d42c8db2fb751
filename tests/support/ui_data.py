"""A small catalogue to look at: what a page may meet, long and odd things too."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from airflow_assets.schemas.assets import AssetInput, AssetRef, AssetUpdate
from airflow_assets.schemas.leases import AcquireLeases
from airflow_assets.schemas.lineage import Bundle, TaskRun, TaskRunRecord, TaskState
from tests.support.catalog_rows import TABLE, caller

if TYPE_CHECKING:
    from airflow_assets.airflow_bridge.service import AirflowService

ODD = "s3://lake/ordérs/part=1?x=%2F&y#z 🧊/<b>'\""
"""An id that an address, a page or a query could read as something else."""
DESCRIPTION = """# Orders

One row for each **order**, loaded *every hour*. See [the contract](https://example.com/orders) or `orders.sql`.

| column | meaning |
|---|---|
| `id` | the order |
| `total` | in cents |

- late orders arrive for 3 days
- <script>window.hacked = true</script>
- [not a link](javascript:alert(1))
- ![a picture](https://example.com/x.png)
"""


def fill(service: AirflowService) -> None:
    """Write the catalogue that the tests and the screenshots show."""
    by = caller()
    for asset in _assets():
        service.upsert_asset(by, asset)
    service.update_asset(by, "sales.orders", AssetUpdate(metadata={"rows": 1250, "owner": "analytics"}))
    service.update_asset(by, "sales.orders", AssetUpdate(metadata={"rows": 1312}))
    for number, run in enumerate(("2026-11-28", "2026-11-29", "2026-11-30")):
        state = TaskState.FAILED if number == 1 else TaskState.SUCCESS
        _record(service, "load", "extract", run, [], ["raw.orders"], TaskState.SUCCESS)
        _record(service, "load", "clean", run, ["raw.orders", "raw.customers"], ["sales.orders"], state)
    _record(service, "report", "build", "r1", ["sales.orders", "sales.customers"], ["mart.revenue"])
    _record(service, "report", "send", "r1", ["mart.revenue"], ["mail.weekly-report"])
    service.acquire_leases(by, AcquireLeases(asset_ids=["mart.revenue"], ttl=timedelta(hours=8)))


def _assets() -> list[AssetInput]:
    table = dict.fromkeys(("sales.customers", "raw.orders", "raw.customers"))
    orders = AssetInput(
        id="sales.orders",
        type=TABLE,
        namespace="sales",
        display_name="Orders",
        description=DESCRIPTION,
        metadata={
            "owner": "data",
            "tier": 1,
            "freshness": "PT1H",
            "rows": 1200,
            "exact": 12345678901234567890,
            "columns": [{"name": "id", "type": "bigint"}, {"name": "total", "type": "bigint"}],
            "checked": True,
        },
    )
    plain = [
        AssetInput(id=name, type=TABLE, namespace=name.split(".")[0], metadata={"owner": "data", "tier": 2})
        for name in table
    ]
    files = [
        AssetInput(
            id=f"lake.part-{at:03}",
            type="airflow_assets.types.File",
            namespace="lake",
            metadata={"owner": "platform" if at % 3 else "data", "bytes": at * 1000, "region": "eu"},
        )
        for at in range(60)
    ]
    mart = AssetInput(
        id="mart.revenue",
        type=TABLE,
        namespace="mart",
        display_name="Revenue by week, region, channel and product family, corrected for returns and late orders",
        metadata={"owner": "finance", "tier": 1, "freshness": "P1D"},
    )
    report = AssetInput(id="mail.weekly-report", type="airflow_assets.types.External", namespace="mail")
    stale = AssetInput(id="sales.stale", type=TABLE, namespace="sales", metadata={"freshness": "PT1S"})
    odd = AssetInput(id=ODD, type="airflow_assets.types.Dataset", metadata={"owner": "nobody"})
    return [orders, *plain, *files, mart, report, stale, odd]


def _record(
    service: AirflowService,
    dag: str,
    task: str,
    run: str,
    inputs: list[str],
    outputs: list[str],
    state: TaskState = TaskState.SUCCESS,
) -> None:
    bundle = Bundle(
        inputs=[AssetRef(id=one) for one in inputs],
        outputs=[AssetInput(id=one) for one in outputs],
    )
    attempt = TaskRun(dag_id=dag, run_id=run, task_id=task, try_number=1)
    service.record_task_run(caller(), TaskRunRecord(task=attempt, state=state, bundles=[bundle]))

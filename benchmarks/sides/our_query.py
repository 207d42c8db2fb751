"""Our side of `query` without HTTP: fills the catalogue, and asks the service that the API calls.

Requests as in `query_load.py`, and `{"do": "seed", "count": n}`.
"""

from __future__ import annotations

import os
import time

from loop import Request, serve

from airflow_assets.catalog.engine import make_engine
from airflow_assets.catalog.service import CatalogService
from airflow_assets.schemas.actors import Caller, Source, SourceKind
from airflow_assets.schemas.assets import AssetInput
from airflow_assets.schemas.metadata_query import MetadataCondition, Operator
from airflow_assets.schemas.queries import AssetQuery, Batch, BatchAction, BatchItem, Sort

TABLE = "airflow_assets.types.Table"
BATCH = 1000
CALLER = Caller(source=Source(kind=SourceKind.CLI, user="bench"))
service = CatalogService(make_engine(os.environ["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"]))


def seed(count: int) -> None:
    for first in range(0, count, BATCH):
        items = [item(number) for number in range(first, min(first + BATCH, count))]
        result = service.batch(CALLER, Batch(items=items))
        if any(done.status != 201 for done in result.items):
            raise SystemExit(f"assets {first} and following were not created: {result.items[0]!r}")


def item(number: int) -> BatchItem:
    metadata = {"rows": number, "owner": f"team{number % 10}", "tier": number // 10 % 5}
    asset = AssetInput(id=f"a{number:06}", type=TABLE, metadata=metadata)
    return BatchItem(action=BatchAction.UPSERT, asset=asset)


def find(team: str) -> int:
    owner = MetadataCondition(field="owner", type=Operator.EQUAL_TO, value=team)
    tier = MetadataCondition(field="tier", type=Operator.GREATER_THAN_OR_EQUAL_TO, value=2)
    page = service.query_assets(CALLER, AssetQuery(metadata_query=[owner, tier], sort=Sort.ID, limit=50))
    return len(page.items)


def walk(pages: int) -> list[float]:
    times: list[float] = []
    cursor = None
    for _ in range(pages):
        started = time.perf_counter()
        page = service.query_assets(CALLER, AssetQuery(sort=Sort.ID, limit=100, cursor=cursor))
        times.append((time.perf_counter() - started) * 1e3)
        cursor = page.next_cursor
    return times


def work(request: Request) -> Request:
    if request["do"] == "seed":
        seed(request["count"])
        return {}
    if request["do"] == "walk":
        times = walk(request["pages"])
        return {"times": times[: request["edge"]] + times[-request["edge"] :]}
    times = []
    for number in range(request["count"]):
        started = time.perf_counter()
        found = find(f"team{number % 10}")
        times.append((time.perf_counter() - started) * 1e3)
        if found != 50:
            raise SystemExit(f"{found} assets found instead of 50")
    return {"times": times}


serve(work)

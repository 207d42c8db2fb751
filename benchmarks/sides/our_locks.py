"""Our side of `locks`: acquire and release one asset's lock, through the service that the API calls."""

from __future__ import annotations

import logging
import os
from datetime import timedelta

from locking import Claimed, serve_locks

from airflow_assets.catalog.engine import make_engine
from airflow_assets.catalog.service import CatalogService
from airflow_assets.exceptions import AssetLocked
from airflow_assets.schemas.actors import Caller, Source, SourceKind
from airflow_assets.schemas.assets import AssetInput
from airflow_assets.schemas.leases import AcquireLeases, ReleaseLeases

logging.disable(logging.CRITICAL)
ASSET = "locked"


def main() -> None:
    service = CatalogService(make_engine(os.environ["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"]))

    def caller(number: int) -> Caller:
        source = Source(
            kind=SourceKind.TASK,
            dag_id="bench",
            run_id=f"run_{number}",
            task_id="load",
            map_index=-1,
            try_number=1,
        )
        return Caller(source=source)

    service.upsert_asset(caller(0), AssetInput(id=ASSET, type="airflow_assets.types.Table"))
    wanted = AcquireLeases(asset_ids=[ASSET], ttl=timedelta(seconds=60))
    given_up = ReleaseLeases(asset_ids=[ASSET])

    def claim(number: int, _attempt: int) -> Claimed:
        try:
            return True, service.acquire_leases(caller(number), wanted).leases[0].fencing_token
        except AssetLocked:
            return False, None

    def free(number: int) -> None:
        if service.release_leases(caller(number), given_up).released != [ASSET]:
            raise SystemExit(f"run {number} lost its lock")

    serve_locks(claim, free, give_up=lambda _number: None)


if __name__ == "__main__":
    main()

"""A triggerer's process that stops for ever beside its first report that fires, to be killed there.

python -m tests.support.dying_triggerer <catalogue's SQLite file> before|after <flag file> < watch.json
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_assets.airflow_bridge import context
from airflow_assets.catalog.engine import make_engine
from airflow_assets.catalog.service import CatalogService
from airflow_assets.client import choose
from airflow_assets.client.aio import AsyncCatalogClient
from airflow_assets.triggers.script_poll import ScriptWatch

if TYPE_CHECKING:
    from airflow_assets.schemas.polls import CheckReport, CheckResult


async def main(database: str, when: str, flag: Path) -> None:
    """Run one watch until it stops."""
    service = CatalogService(make_engine(f"sqlite:///{database}"))
    places: Any = (context, choose)
    places[0].get_service = lambda: service
    places[1].may_use_database = lambda: True
    places[1]._local_connection = lambda _: None
    whole = AsyncCatalogClient.report_check

    async def stopping(self: AsyncCatalogClient, report: CheckReport) -> CheckResult:
        if report.matched and when == "before":
            await asyncio.to_thread(flag.touch)
            await asyncio.Event().wait()
        result = await whole(self, report)
        if report.matched:
            await asyncio.to_thread(flag.touch)
            await asyncio.Event().wait()
        return result

    AsyncCatalogClient.report_check = stopping  # type: ignore[method-assign]
    async for _ in ScriptWatch(**json.load(sys.stdin)).run():
        raise AssertionError("a polled trigger never yields")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], Path(sys.argv[3])))

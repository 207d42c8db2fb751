"""Every task imports its Dag file again, so what the file imports of ours must cost next to nothing."""

from __future__ import annotations

import json
import subprocess
import sys

HEAVY = (
    "sqlalchemy", "fastapi", "httpx", "alembic", "starlette", "airflow_assets.catalog", "airflow_assets.api",
    "airflow_assets.airflow_bridge", "airflow_assets.schemas.assets", "airflow_assets.schemas.queries",
    "openlineage.", "amazon", "airflow.providers.openlineage",
)  # fmt: skip
STATEMENTS = (
    "import airflow_assets.policy",
    "from airflow_assets import assets, trigger_asset",
    "from airflow_assets.operators import Acquire, Delete, List, PurgeAssets, Release, Set",
    "from airflow_assets.locks import asset_lock",
    "from airflow_assets.operators import AssetShipper",
    "from airflow_assets.exporters import FileAssetExporter, OpenLineageAssetExporter",
    "from airflow_assets.sensors import AssetEventSensor",
    "from airflow_assets.hooks import AssetCatalogHook",
    "from airflow_assets.params import AssetParam",
    "from airflow_assets.cli import get_cli_commands; get_cli_commands()",
)
CODE = """
import json, sys, time
from airflow.sdk import BaseHook, BaseOperator, BaseOperatorLink, BaseSensorOperator, DAG, Param
import airflow.sdk.exceptions, airflow.cli.cli_config, airflow.policies
found = {}
for statement in json.loads(sys.argv[1]):
    before, start = set(sys.modules), time.process_time()
    exec(statement)
    found[statement] = time.process_time() - start, sorted(set(sys.modules) - before)
print(json.dumps(found))
"""


def test_importing_is_cheap_and_loads_nothing_heavy() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE, json.dumps(STATEMENTS)], capture_output=True, text=True, check=True
    )
    for statement, (spent, modules) in json.loads(done.stdout).items():
        assert [name for name in modules if name.startswith(HEAVY)] == [], statement
        assert spent < 0.05, f"{statement}: {spent * 1000:.0f} ms of processor time"

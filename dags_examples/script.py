"""A script that looks at a file starts a Dag when what it sees changes to what is waited for, once."""

from __future__ import annotations

import os
import tempfile
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, task

from airflow_assets.triggers import ScriptTrigger

START = datetime(2026, 1, 1, tzinfo=timezone.utc)
DELIVERY = Path(os.environ.get("AIRFLOW_ASSETS_DEMO_DELIVERY", tempfile.gettempdir())) / "delivery.txt"

LOOK = f"""
import json
from pathlib import Path

delivery = Path({str(DELIVERY)!r})
state = delivery.read_text().strip() if delivery.exists() else "missing"
delivery.with_suffix(".looked").touch()
print("::" + json.dumps({{"outputs": {{"state": state}}}}) + "::")
"""

delivered = ScriptTrigger(LOOK, exit_condition="state=delivered", interval="PT1S")

with DAG(
    "demo_script",
    start_date=START,
    schedule=delivered.as_schedule(),
    catchup=False,
    tags=["airflow_assets"],
):

    @task
    def fetch() -> dict[str, Any]:
        from airflow_assets import trigger

        return {"exitCode": trigger.exitCode, "condition": trigger.condition, "vars": trigger.vars}

    fetch()

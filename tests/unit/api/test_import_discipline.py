"""The API is imported where Airflow serves it, and nowhere else."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

LOADS_PLUGINS = """
from airflow import plugins_manager
from airflow.sdk import plugins_manager as task_plugins
assert "airflow_assets" in {plugin.name for plugin in plugins_manager._get_plugins()[0]}
plugins_manager.integrate_macros_plugins()
plugins_manager.integrate_listener_plugins(__import__("airflow.listeners.listener", fromlist=["x"]).get_listener_manager())
"""
PROCESSES = {
    "plugins of scheduler, triggerer and tasks": LOADS_PLUGINS,
    "client": "from airflow_assets.client import get_client",
    "service": "from airflow_assets.airflow_bridge import context, jobs",
    "api package": "import airflow_assets.api",
}


@pytest.mark.parametrize("name", PROCESSES)
def test_the_api_is_not_imported(name: str) -> None:
    code = f"{PROCESSES[name]}\nimport sys\nprint([m for m in sys.modules if m.startswith('airflow_assets.api.')])"
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.strip().splitlines()[-1] == "[]"

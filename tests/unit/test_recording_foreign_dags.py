"""Dags that do not use us: unchanged by our presence, and unharmed by what is broken in us."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

FOREIGN = """
from datetime import timedelta
from airflow.sdk import DAG, Asset, AssetAlias, TaskGroup, task
from airflow.providers.standard.operators.bash import BashOperator

with DAG("foreign_{number}", schedule=[Asset("in_{number}")], user_defined_macros={{"mine": max}}) as dag:
    with TaskGroup("group"):
        BashOperator(task_id="bash", bash_command="echo {{{{ mine(1, 2) }}}}", outlets=[Asset("out", "s3://b/k")])
        BashOperator.partial(task_id="mapped", post_execute=None).expand(bash_command=["true", "false"])

    @task(retries=2, retry_delay=timedelta(seconds=3), outlets=[AssetAlias("al")])
    def work(): ...

    work()
"""

PARSE = """
import json, sys

HIDDEN, BROKEN = json.loads(sys.argv[2]), json.loads(sys.argv[3])
if HIDDEN:
    import importlib.metadata, importlib_metadata

    def hide(module):
        every = module.distributions
        module.distributions = lambda **k: (d for d in every(**k) if d.metadata["Name"] not in HIDDEN)

    hide(importlib.metadata), hide(importlib_metadata)
for name in BROKEN:
    sys.modules[name] = None

from airflow.dag_processing.dagbag import BundleDagBag
from airflow.serialization.serialized_objects import DagSerialization
from airflow.sdk.plugins_manager import integrate_listener_plugins
from airflow.listeners.listener import get_listener_manager

try:
    from airflow.plugins_manager import _get_plugins
    plugins = [p.name for p in _get_plugins()[0]]
except ImportError:
    plugins = ["?"]
bag = BundleDagBag(dag_folder=sys.argv[1], bundle_path=sys.argv[1], bundle_name="b", load_op_links=False)
print(json.dumps({
    "errors": bag.import_errors,
    "plugins": plugins,
    "dags": {name: DagSerialization.to_dict(dag) for name, dag in bag.dags.items()},
}, sort_keys=True))
"""


def parsed(folder: Path, *, hidden: list[str] | None = None, broken: list[str] | None = None) -> dict:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PARSE), str(folder), json.dumps(hidden or []), json.dumps(broken or [])],
        capture_output=True, text=True, check=False, env={**os.environ, "AIRFLOW_HOME": str(folder.parent / "home")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


def test_a_foreign_dag_is_byte_equal_with_and_without_us(tmp_path: Path) -> None:
    folder = tmp_path / "dags"
    folder.mkdir()
    (folder / "one.py").write_text(FOREIGN.format(number=1))
    with_us = parsed(folder)
    without_us = parsed(folder, hidden=["airflow-provider-assets"])
    assert "airflow_assets" in with_us["plugins"]
    assert "airflow_assets" not in without_us["plugins"]
    assert json.dumps(with_us["dags"]) == json.dumps(without_us["dags"])
    assert len(with_us["dags"]) == 1


def test_a_hundred_foreign_dags_parse_when_the_catalogue_is_broken(tmp_path: Path) -> None:
    folder = tmp_path / "dags"
    folder.mkdir()
    for number in range(100):
        (folder / f"dag_{number}.py").write_text(FOREIGN.format(number=number))
    broken = [
        f"airflow_assets.{part}" for part in ("catalog", "client", "recording", "api", "macros", "schemas")
    ]
    found = parsed(folder, broken=broken)
    assert found["errors"] == {}
    assert len(found["dags"]) == 100
    assert "airflow_assets" in found["plugins"]

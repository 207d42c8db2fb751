"""The purging command is killed half-way: begun again it finds what is left, and every event still has its run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG

from airflow_assets.airflow_bridge.dispatcher import Dispatcher
from airflow_assets.catalog import tables
from airflow_assets.triggers import EventTrigger
from tests.support.airflow_database import AirflowDatabase
from tests.support.catalog_log import add_events, count
from tests.support.processes import die_with_parent, tail, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

OLD, NEEDED = 20_000, 5
COMMAND = (
    sys.executable, "-m", "airflow", "assets-catalog", "purge", "--end_date", "2200-01-01T00:00:00Z", "--events",
    "--no_assets", "--yes", "-o", "json",
)  # fmt: skip


def left(db: AirflowDatabase) -> int:
    with db.engine.connect() as conn:
        return count(conn, tables.event)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["sqlite", "postgres"])
def test_the_command_is_killed_half_way(backend: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    url = f"sqlite:///{tmp_path}/airflow.db"
    db = AirflowDatabase(url if backend == "sqlite" else request.getfixturevalue("postgres_url"))
    with db.engine.begin() as conn:
        add_events(conn, OLD, namespace="old")
    with DAG("reacts", schedule=EventTrigger(namespace="sales").as_schedule()) as dag:
        EmptyOperator(task_id="only")
    db.put_dag(dag)
    _dispatch(db)  # gives the Dag its position
    for n in range(NEEDED):
        db.upsert("orders", n=n)
    env = {
        **os.environ,
        "AIRFLOW_HOME": str(tmp_path),
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": db.engine.url.render_as_string(hide_password=False),
    }
    _kill(env, lambda: left(db) <= OLD + NEEDED - 500)
    before = left(db)
    assert NEEDED < before <= OLD + NEEDED - 500
    done = subprocess.run(COMMAND, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["purgedAssetEventsCount"], told["keptForReadersCount"]) == (before - NEEDED, NEEDED)
    assert left(db) == NEEDED
    _dispatch(db)
    assert [one["asset"]["metadata"]["n"] for one in db.payloads("reacts")] == list(range(NEEDED))
    db.close()


def _dispatch(db: AirflowDatabase) -> None:
    dispatcher = Dispatcher(db.engine)
    while dispatcher.step():
        pass
    dispatcher.close()


def _kill(env: dict[str, str], half_way: Callable[[], bool]) -> None:
    said = Path(env["AIRFLOW_HOME"]) / "purge.log"
    with said.open("w") as file:
        process = subprocess.Popen(COMMAND, env=env, stdout=file, stderr=file, preexec_fn=die_with_parent)
    try:
        wait_until(lambda: half_way() or process.poll() is not None, 300, "the purge to begin", interval=0.01)
        assert process.poll() is None, f"the purge was over before it was killed: {tail(said)}"
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait(30)
    assert process.returncode == -signal.SIGKILL

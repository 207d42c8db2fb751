"""The triggerer is killed between a finding and its report, and after the report: each transition, one run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.event_burst import API

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.airflow_process import AirflowProcess

pytestmark = [pytest.mark.real_airflow, pytest.mark.slow]

DAGS = """
from airflow.sdk import DAG, task
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow_assets.triggers import FreshnessTrigger
from tests.support.held_poll import HeldPoll

with DAG("held", schedule=HeldPoll({folder!r}).as_schedule()):
    EmptyOperator(task_id="only")

stale = FreshnessTrigger("PT8S", interval="PT1S", asset_id="kill.table", mode="transitions", allow_concurrent=True)
with DAG("stale", schedule=stale.as_schedule()):
    EmptyOperator(task_id="only")
"""


class Folder:
    """What the poll looks at, and how it is held."""

    def __init__(self, airflow: AirflowProcess, path: Path) -> None:
        self._airflow = airflow
        self.path = path
        self.set("off")

    def set(self, state: str) -> None:
        self._write("state", state)

    def _write(self, name: str, text: str) -> None:
        part = self.path / f"{name}.part"
        part.write_text(text)
        part.replace(self.path / name)

    def wait_reports(self, count: int = 2) -> None:
        """Wait for reports of checks that begin now."""
        reported = self.path / "reported"
        before = len(reported.read_text()) if reported.exists() else 0
        self._airflow.wait_until(
            lambda: reported.exists() and len(reported.read_text()) >= before + count,
            240,
            "checks to be reported",
        )

    def kill_triggerer(self, where: str) -> None:
        """Kill the triggerer when it comes there with a match."""
        held, hold = self.path / "held", self.path / "hold"
        held.unlink(missing_ok=True)
        self._write("hold", where)
        self.set("on")
        self._airflow.wait_until(held.exists, 180, f"the poll to stop {where} its report")
        self._airflow.kill("triggerer")
        hold.unlink()
        self._airflow.restart("triggerer")


def test_a_killed_triggerer_loses_and_doubles_nothing(airflow: AirflowProcess, tmp_path: Path) -> None:
    folder = Folder(airflow, tmp_path)
    airflow.write_dag("polls.py", DAGS.format(folder=str(tmp_path)))
    airflow.unpause("held")
    airflow.unpause("stale")
    airflow.api("POST", f"{API}/upsert", json={"id": "kill.table", "type": "t"})
    folder.wait_reports()
    airflow.wait_until(lambda: len(airflow.runs("stale")) == 1, 180, "the table to go stale")
    folder.kill_triggerer("before")
    airflow.wait_until(lambda: len(airflow.runs("held")) == 1, 180, "the finding to be found again")
    folder.wait_reports()
    folder.set("off")
    folder.wait_reports()
    folder.kill_triggerer("after")
    folder.wait_reports(3)
    airflow.wait_until(lambda: len(airflow.runs("held")) >= 2, 180, "the run of the firing")
    airflow.kill("api-server")
    airflow.close()
    airflow.restart("api-server")
    folder.wait_reports(3)
    assert len(airflow.runs("held")) == 2, "two transitions"
    assert len(airflow.runs("stale")) == 1, "the table has been stale all the time"
    airflow.api("POST", f"{API}/upsert", json={"id": "kill.table", "type": "t"})
    airflow.wait_until(lambda: len(airflow.runs("stale")) >= 3, 180, "it to recover and go stale again")

"""`python -m benchmarks.sensors`: what deferred sensors that wait cost Airflow's own heartbeats and database.

One Airflow on PostgreSQL. A task runs and its heartbeat is sent to the Execution API, as its supervisor does;
1,000 deferred sensors wait in the triggerer, or, with the triggerer paused, none does. Rounds alternate.
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.environments import postgres
from benchmarks.harness import ROUNDS, Bound, Report, Row, alternate, percentile
from tests.support.airflow_process import AirflowProcess

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.environments import Database

DAGS = """
import time
from airflow.sdk import dag, task
from airflow_assets.sensors import AssetEventSensor

@dag(schedule=None)
def waiting():
    AssetEventSensor.partial(task_id="wait", since="task", deferrable=True).expand(
        asset_id=[f"bench.{{number}}" for number in range({sensors})]
    )

@dag(schedule=None)
def beating():
    @task
    def beat():
        time.sleep(6 * 3600)
    beat()

waiting()
beating()
"""
SETTINGS = {
    "AIRFLOW__CORE__PARALLELISM": "9",
    "AIRFLOW__CORE__MAX_ACTIVE_TASKS_PER_DAG": "2000",
    "AIRFLOW__TRIGGERER__CAPACITY": "2000",
    "AIRFLOW__EXECUTION_API__JWT_EXPIRATION_TIME": "86400",
}
SIGN = """
import sys
from airflow.api_fastapi.execution_api.app import _jwt_generator
print(_jwt_generator().generate({"sub": sys.argv[1], "scope": "execution"}))
"""
STATEMENTS = """
    select coalesce(sum(calls), 0) from pg_stat_statements
    where query ilike '%airflow_assets_%' and query not ilike '%pg_stat_statements%'
"""


class Scene:
    """Sends heartbeats of the running task, with all sensors waiting or none."""

    def __init__(self, airflow: AirflowProcess, database: Database, sensors: int, beats: int) -> None:
        self._airflow = airflow
        self._database = database
        self._sensors = sensors
        self._beats = beats
        self._task = self._running_task()
        self._headers = {"Authorization": f"Bearer {self._token()}"}
        self.statements: dict[str, list[float]] = {"idle": [], "waiting": []}
        self.look_ups: list[float] = []

    def idle(self, number: int) -> float:
        """Return the p99 of a heartbeat in ms while no sensor waits."""
        self._airflow.suspend("triggerer")
        self._wait_until("no sensor to wait", lambda waiting: waiting == 0)
        return self._measure("idle", number)

    def waiting(self, number: int) -> float:
        """Return the same while all of them wait."""
        self._airflow.resume("triggerer")
        # A request ends after its time and comes again: at any moment a few are on their way.
        almost = 0.97 * self._sensors
        self._wait_until(f"{self._sensors} sensors to wait", lambda waiting: waiting >= almost)
        return self._measure("waiting", number)

    def _measure(self, side: str, number: int) -> float:
        time.sleep(3)  # the crowd that just came or went is not what is measured
        look_ups = self._gauge("wait_look_ups_total")  # the gauges cost statements too: outside of the count
        statements, began = self._statements(), time.monotonic()
        took = [self._beat() for _ in range(self._beats)]
        seconds, made = time.monotonic() - began, self._statements() - statements
        if number:
            self.statements[side].append(made / seconds)
        if number and side == "waiting":
            self.look_ups.append((self._gauge("wait_look_ups_total") - look_ups) / seconds)
        return percentile(took, 0.99)

    def _beat(self) -> float:
        time.sleep(random.uniform(0.01, 0.07))
        body = {"hostname": self._task["hostname"], "pid": self._task["pid"]}
        path = f"/execution/task-instances/{self._task['id']}/heartbeat"
        began = time.perf_counter()
        self._airflow.client.put(path, json=body, headers=self._headers).raise_for_status()
        return 1000 * (time.perf_counter() - began)

    def _running_task(self) -> dict[str, Any]:
        run_id = self._airflow.trigger_dag("beating")["dag_run_id"]

        def runs() -> dict[str, Any] | None:
            found = self._airflow.task_instances("beating", run_id)[0]
            return found if found["state"] == "running" and found["pid"] else None

        return dict(self._airflow.wait_until(runs, 120, "the task to run"))

    def _token(self) -> str:
        command = [sys.executable, "-c", SIGN, str(self._task["id"])]
        done = subprocess.run(command, env=self._airflow.environment, capture_output=True, check=True)
        return done.stdout.decode().split()[-1]

    def _wait_until(self, what: str, met: Callable[[float], bool]) -> None:
        self._airflow.wait_until(lambda: met(self._gauge("waiting_requests")), 300, what)

    def _statements(self) -> float:
        return float(str(self._database.sql(STATEMENTS)[0][0]))

    def _gauge(self, name: str) -> float:
        text = self._airflow.request("GET", "/airflow_assets/api/v1/metrics").text
        found = re.search(rf"^airflow_assets_{name} (\S+)$", text, re.MULTILINE)
        assert found, text
        return float(found[1])


def defer(airflow: AirflowProcess, sensors: int) -> None:
    """Bring all sensors into the triggerer."""
    run_id = airflow.trigger_dag("waiting")["dag_run_id"]
    path = f"/api/v2/dags/waiting/dagRuns/{run_id}/taskInstances"
    query = {"state": "deferred", "limit": 1}

    def all_deferred() -> bool:
        number = int(airflow.api("GET", path, params=query)["total_entries"])
        print(f"  {number} of {sensors} sensors deferred", file=sys.stderr, flush=True)
        return number == sensors

    airflow.wait_until(all_deferred, 60 + 6 * sensors, "all sensors to be deferred")


def main() -> int:
    """Run the benchmark; 1 when waiting costs more than allowed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sensors", description=__doc__)
    parser.add_argument("--sensors", type=int, default=1_000)
    parser.add_argument("--beats", type=int, default=400, help="heartbeats of one round")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    arguments = parser.parse_args()
    command = " ".join(["python -m benchmarks.sensors", *sys.argv[1:]])
    packages = ["apache-airflow", "airflow-provider-assets", "psycopg2-binary"]
    report = Report("sensors", "Deferred sensors that wait", command, packages)
    with ExitStack() as stack:
        server = stack.enter_context(postgres("shared_preload_libraries=pg_stat_statements"))
        database = server()
        database.sql("create extension pg_stat_statements")
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="airflow-assets-bench-")))
        airflow = stack.enter_context(
            AirflowProcess(folder / "airflow", database_url=database.url, env=SETTINGS)
        )
        airflow.write_dag("sensors.py", DAGS.format(sensors=arguments.sensors))
        for dag_id in ("waiting", "beating"):
            airflow.unpause(dag_id)
        defer(airflow, arguments.sensors)
        scene = Scene(airflow, database, arguments.sensors, arguments.beats)
        p99 = alternate({"idle": scene.idle, "waiting": scene.waiting}, arguments.rounds)
        airflow.resume("triggerer")
        report.facts["PostgreSQL"] = database.about()
    fill(report, scene, p99, arguments)
    return report.write()


def fill(report: Report, scene: Scene, p99: dict[str, list[float]], arguments: argparse.Namespace) -> None:
    """Put the figures into the report."""
    nobody, many = "nobody waits", f"{arguments.sensors:,} sensors wait"
    what = f"heartbeat at the Execution API while {many}, p99 of {arguments.beats}"
    slower = Bound(2, at_least=False)
    report.rows.append(Row(what, nobody, p99["idle"], p99["waiting"], "ms", (slower,)))
    idle, waiting = scene.statements["idle"], scene.statements["waiting"]
    more = [max(0.0, with_them - without) for without, with_them in zip(idle, waiting, strict=True)]
    few = Bound(2, at_least=False, of_ratio=False)
    what = f"statements on our tables that {many} add"
    report.rows.append(Row(what, "all jobs, nobody waits", idle, more, "a second", (few,)))
    report.notes.append(
        "look-ups a second for all who wait: " + ", ".join(f"{rate:.2f}" for rate in scene.look_ups)
    )
    report.notes.append("one API server process; statements counted by pg_stat_statements")


if __name__ == "__main__":
    sys.exit(main())

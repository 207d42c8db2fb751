"""Script triggers and sensors on a real Airflow: what fires, what does not, and that a restart changes nothing.

Each script adds a character to a file of its own, so the tests wait for checks, not for time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.airflow_process import AirflowProcess

pytestmark = [pytest.mark.real_airflow, pytest.mark.slow]

SCRIPTS = '''
from airflow.sdk import DAG, task

from airflow_assets.triggers import ScriptTrigger, any_of

FOLDER = {folder!r}
CHECK = """
import json, os, sys, time
from pathlib import Path
folder = Path(sys.argv[1] if sys.argv[1:] else "FOLDER")
state = (folder / "state").read_text()
with (folder / "NAME").open("a") as ticks: ticks.write(".")
if state == "hang" and "NAME" == "edge": time.sleep(60)
print("::" + json.dumps({{"outputs": {{"state": state, "token": "hide me", "home": os.environ.get("AIRFLOW_HOME")}}}}) + "::")
if "NAME" == "failing" and state != "off": sys.exit("Error: it is on")
""".replace("FOLDER", FOLDER)


@task
def told():
    from airflow_assets import trigger

    return dict(trigger)


def follow(dag_id, schedule):
    with DAG(dag_id, schedule=schedule, max_active_runs=4):
        told()


edge = ScriptTrigger(CHECK.replace("NAME", "edge"), exit_condition="state=on", interval="PT1S", timeout=3)
follow("script_edge", edge.as_schedule())
follow("script_twin", edge.as_schedule())
follow("script_every", ScriptTrigger(
    CHECK.replace("NAME", "every"), exit_condition="exit 0", interval="PT2S", edge=False, allow_concurrent=True,
    when="{{{{ trigger.vars.state == 'on' }}}}",
).as_schedule())
follow("script_failing", ScriptTrigger(
    CHECK.replace("NAME", "failing"), exit_condition="Error: it is (on|off)", interval="PT1S"
).as_schedule())
'''
EDGES = ("script_edge", "script_twin", "script_failing")
DAGS = (*EDGES, "script_every")


class Scripts:
    """The Dags above, the state that their scripts see, and how often each has looked."""

    def __init__(self, airflow: AirflowProcess, folder: Path) -> None:
        self.airflow = airflow
        self.folder = folder

    def set(self, state: str) -> None:
        part = self.folder / "state.part"
        part.write_text(state)
        part.replace(self.folder / "state")

    def ticks(self, name: str) -> int:
        path = self.folder / name
        return len(path.read_text()) if path.exists() else 0

    def wait_checks(self, *names: str, count: int = 3) -> None:
        """Wait until that many checks have begun and ended since now."""
        wanted = {name: self.ticks(name) + count + 1 for name in names}
        self.airflow.wait_until(
            lambda: all(self.ticks(name) >= ticks for name, ticks in wanted.items()),
            240,
            f"checks of {names}",
        )

    def wait_runs(self, dag_id: str, count: int) -> list[dict[str, Any]]:
        def there() -> object:
            runs = self.airflow.runs(dag_id)
            return runs if len(runs) >= count and all(run["state"] == "success" for run in runs) else None

        runs: list[dict[str, Any]] = self.airflow.wait_until(
            there, 240, f"{count} successful runs of {dag_id}"
        )
        return runs

    def count(self, dag_id: str) -> int:
        return len(self.airflow.runs(dag_id))


def test_script_triggers(airflow: AirflowProcess, tmp_path: Path) -> None:
    scripts = Scripts(airflow, tmp_path)
    scripts.set("off")
    airflow.write_dag("script_triggers.py", SCRIPTS.format(folder=str(tmp_path)))
    try:
        for dag_id in DAGS:
            airflow.unpause(dag_id)
        _no_match_starts_nothing(scripts)
        _a_transition_starts_one_run_of_each_dag(scripts)
        _a_killed_triggerer_changes_nothing(scripts)
        _a_check_without_outcome_changes_nothing(scripts)
        _the_next_transition_fires_again(scripts)
    finally:
        for dag_id in DAGS:
            airflow.pause(dag_id)


def _no_match_starts_nothing(scripts: Scripts) -> None:
    scripts.wait_checks("edge", "failing", "every")
    assert [scripts.count(dag_id) for dag_id in DAGS] == [0, 0, 0, 0]


def _a_transition_starts_one_run_of_each_dag(scripts: Scripts) -> None:
    scripts.set("on")
    scripts.airflow.wait_until(lambda: scripts.count("script_every") >= 3, 240, "a run at each match")
    scripts.airflow.pause("script_every")
    for dag_id in EDGES:
        scripts.wait_runs(dag_id, 1)
    scripts.wait_checks("edge", "failing")
    [run], [twin], [failing] = (scripts.wait_runs(dag_id, 1) for dag_id in EDGES)
    assert run["dag_run_id"] == twin["dag_run_id"], "one firing, one run of each Dag"
    assert run["dag_run_id"].startswith("script__")
    told = scripts.airflow.xcom("script_edge", run["dag_run_id"], "told")
    assert f"script__{told['firingId']}" == run["dag_run_id"]
    assert (told["condition"], told["exitCode"], told["triggerId"]) == ("state=on", 0, "trigger_1")
    assert told["vars"] == {"state": "on", "token": "***", "home": None}
    assert told["timestamp"] >= "2026"
    told = scripts.airflow.xcom("script_failing", failing["dag_run_id"], "told")
    assert (told["condition"], told["exitCode"], told["vars"]) == ("Error: it is (on|off)", 1, None)


def _a_killed_triggerer_changes_nothing(scripts: Scripts) -> None:
    scripts.airflow.kill("triggerer")
    scripts.airflow.restart("triggerer")
    scripts.wait_checks("edge", "failing")
    assert [scripts.count(dag_id) for dag_id in EDGES] == [1, 1, 1]


def _a_check_without_outcome_changes_nothing(scripts: Scripts) -> None:
    scripts.set("hang")
    scripts.wait_checks("edge", count=2)
    scripts.set("on")
    scripts.wait_checks("edge")
    assert scripts.count("script_edge") == 1
    assert "was not done after 3 s" in scripts.airflow.logs("triggerer")


def _the_next_transition_fires_again(scripts: Scripts) -> None:
    scripts.set("off")
    scripts.wait_checks("edge", "failing")
    scripts.set("on")
    for dag_id in EDGES:
        assert len(scripts.wait_runs(dag_id, 2)) == 2
    scripts.wait_checks("edge", "failing")
    assert [scripts.count(dag_id) for dag_id in EDGES] == [2, 2, 2]


SENSORS = '''
from airflow.sdk import DAG

from airflow_assets.sensors import PythonScriptSensor

with DAG("script_sensors", schedule=None, params={{"folder": {folder!r}}}):
    for name, how in {{
        "poked": {{"mode": "poke", "poke_interval": 2}},
        "rescheduled": {{"mode": "reschedule", "poke_interval": 8}},
        "deferred": {{"deferrable": True, "poke_interval": 2}},
    }}.items():
        PythonScriptSensor(
            task_id=name,
            script="""
from pathlib import Path
folder = Path("{{{{ params.folder }}}}")
with (folder / "%s").open("a") as ticks: ticks.write(".")
raise SystemExit(0 if (folder / "state").read_text() == "on" else 4)
""" % name,
            exit_condition="exit 0",
            timeout=240,
            **how,
        )
    PythonScriptSensor(
        task_id="late", script="raise SystemExit(1)", exit_condition="exit 0", poke_interval=1, timeout=3,
        soft_fail=True, mode="poke",
    )
'''


def test_script_sensors(airflow: AirflowProcess, tmp_path: Path) -> None:
    scripts = Scripts(airflow, tmp_path)
    scripts.set("off")
    airflow.write_dag("script_sensors.py", SENSORS.format(folder=str(tmp_path)))
    airflow.unpause("script_sensors")
    run_id = airflow.trigger_dag("script_sensors")["dag_run_id"]
    names = ("poked", "rescheduled", "deferred")
    airflow.wait_let_go("script_sensors", run_id, "rescheduled")
    airflow.wait_let_go("script_sensors", run_id, "deferred")
    scripts.wait_checks("poked", "deferred", count=1)
    states = {ti["task_id"]: ti["state"] for ti in airflow.task_instances("script_sensors", run_id)}
    assert all(
        states[name] in {"running", "up_for_reschedule", "deferred", "scheduled", "queued"} for name in names
    )
    scripts.set("on")
    airflow.wait_for_run("script_sensors", run_id)
    for name in names:
        found = airflow.xcom("script_sensors", run_id, name)
        assert (found["exitCode"], found["condition"], found["vars"]) == (0, "exit 0", {})
    states = {ti["task_id"]: ti["state"] for ti in airflow.task_instances("script_sensors", run_id)}
    assert states == {"poked": "success", "rescheduled": "success", "deferred": "success", "late": "skipped"}

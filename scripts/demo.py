"""The main job on a real Airflow: `make demo` runs it and says what happened, `make serve` keeps it running.

Exit status 0 when every step is shown, 1 with the failing step otherwise.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scripts.demo_report import print_report, print_shipped
from tests.support.airflow_process import AirflowProcess
from tests.support.openlineage_receiver import Receiver

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[1]
API = "/airflow_assets/api/v1"
DAGS = (
    "demo_load_weather",
    "demo_weather_report",
    "demo_burst",
    "demo_failing",
    "demo_catalogue",
    "demo_locks",
)
BURST = 100


@dataclass
class Demo:
    """What the steps share: Airflow, an OpenLineage receiver, and what one step learned for another."""

    airflow: AirflowProcess
    receiver: Receiver
    seen: dict[str, Any] = field(default_factory=dict)

    def run(self, dag_id: str, state: str = "success") -> str:
        """Start a run by hand, wait for its end and return its id."""
        run_id: str = self.airflow.trigger_dag(dag_id)["dag_run_id"]
        self.airflow.wait_for_run(dag_id, run_id, state, timeout=120)
        return run_id

    def task_states(self, dag_id: str, run_ids: list[str], task_id: str) -> list[str | None]:
        """Return the state of a task in each of the runs."""
        instances = [ti for run_id in run_ids for ti in self.airflow.task_instances(dag_id, run_id)]
        return [ti["state"] for ti in instances if ti["task_id"] == task_id]

    def get(self, path: str, **query: Any) -> Any:
        """Ask the catalogue's API."""
        return self.airflow.api("GET", API + path, params=query)

    def ended_runs(self, dag_id: str, count: int, timeout: float) -> list[dict[str, Any]]:
        """Wait until the Dag has ``count`` runs that have all ended, and return them."""

        def ended() -> list[dict[str, Any]] | None:
            runs = self.airflow.runs(dag_id)
            over = [run for run in runs if run["state"] in ("success", "failed")]
            return runs if len(over) == len(runs) >= count else None

        runs: list[dict[str, Any]] = self.airflow.wait_until(ended, timeout, f"{count} runs of {dag_id}")
        return runs


def expect(condition: object, what: str) -> None:
    """Raise an AssertionError that says what was expected; works under ``python -O`` too."""
    if not condition:
        raise AssertionError(what)


def parse(demo: Demo) -> str:
    for dag_id in DAGS:
        demo.airflow.unpause(dag_id)
    return f"{len(DAGS)} Dags parsed and unpaused"


def load(demo: Demo) -> str:
    demo.run("demo_load_weather")
    asset = demo.get("/assets/weather.daily")
    expect(asset["metadata"]["rows"] == 1461, f"weather.daily should have 1461 rows: {asset}")
    expect(asset["type"] == "airflow_assets.types.Table", f"weather.daily should be a Table: {asset}")
    return f"1461 days of weather in DuckDB; weather.daily is owned by {asset['metadata']['owner']}"


def follow(demo: Demo) -> str:
    demo.ended_runs("demo_weather_report", 1, timeout=90)
    demo.run("demo_load_weather")
    runs = demo.ended_runs("demo_weather_report", 2, timeout=90)
    events = demo.get("/events", assetId="weather.daily", events=["CREATED", "UPDATED"])["items"]
    expect([event["event"] for event in events] == ["CREATED", "UPDATED"], f"two loads, two events: {events}")
    wanted = {f"asset_event__{event['id']}" for event in events}
    expect({run["dag_run_id"] for run in runs} == wanted, f"one run for each event: {runs}")
    expect(all(run["state"] == "success" for run in runs), f"every report should succeed: {runs}")
    return "2 loads, 2 events (CREATED, UPDATED), 2 reports"


def burst(demo: Demo) -> str:
    items = [
        {
            "action": "upsert",
            "asset": {
                "id": f"burst.{n:03}",
                "type": "airflow_assets.types.File",
                "namespace": "demo.burst",
                "metadata": {"number": n},
            },
        }
        for n in range(BURST)
    ]
    answer = demo.airflow.api("POST", f"{API}/batch", json={"items": items})
    expect(all(item["status"] < 300 for item in answer["items"]), f"the batch should be stored: {answer}")
    runs = demo.ended_runs("demo_burst", BURST, timeout=420)
    expect(len(runs) == BURST, f"exactly {BURST} runs, not {len(runs)}")
    expect(all(run["state"] == "success" for run in runs), "every run of the burst should succeed")
    numbers = sorted(demo.airflow.xcom("demo_burst", run["dag_run_id"], "handle") for run in runs)
    expect(numbers == list(range(BURST)), f"each run has its own payload: {numbers}")
    return f"{BURST} events in one request, {BURST} successful runs, {BURST} different payloads"


def fail(demo: Demo) -> str:
    before = demo.get("/assets/weather.daily")
    run_id = demo.run("demo_failing", "failed")
    lineage = demo.get("/lineage", dagId="demo_failing", runId=run_id)["items"]
    expect(len(lineage) == 1 and lineage[0]["state"] == "failed", f"one lineage event, failed: {lineage}")
    after = demo.get("/assets/weather.daily")
    for asset in (before, after):
        del asset["freshness"]  # it grows older all the time
    expect(after == before, "the failed task should not touch weather.daily")
    return "the task failed: its lineage is there, weather.daily is as it was"


def operate(demo: Demo) -> str:
    run_id = demo.run("demo_catalogue")
    found = demo.airflow.xcom("demo_catalogue", run_id, "check")
    expect(found == ["demo.customers"], f"List should have found demo.customers: {found}")
    gone = demo.get("/assets/demo.customers", includeDeleted=True)
    expect(gone["deleted"], f"demo.customers should be deleted: {gone}")
    return "Set, List, Delete and assets() in a template"


def contend(demo: Demo) -> str:
    dag_id, airflow = "demo_locks", demo.airflow
    airflow.api("POST", f"{API}/assets", json={"id": "demo.ledger", "type": "airflow_assets.types.Table"})
    airflow.api("POST", f"{API}/locks/acquire", json={"assetIds": ["demo.ledger"]})
    runs = [airflow.trigger_dag(dag_id)["dag_run_id"] for _ in range(2)]
    airflow.wait_until(lambda: demo.task_states(dag_id, runs, "acquire") == ["deferred"] * 2, 90)
    airflow.api("POST", f"{API}/locks/release", json={"assetIds": ["demo.ledger"]})
    for run_id in runs:
        airflow.wait_for_run(dag_id, run_id, timeout=120)
    tenures = sorted(
        (airflow.xcom(dag_id, run_id, "rebuild") for run_id in runs), key=lambda one: one["token"]
    )
    expect(tenures[0]["ended"] <= tenures[1]["begun"], f"one after the other, not {tenures}")
    expect(demo.get("/assets/demo.ledger")["lock"] is None, "demo.ledger should be free again")
    numbers = " and ".join(str(one["token"]) for one in tenures)
    return f"both waited without a worker slot, then worked one after the other, under the numbers {numbers}"


def overdue(demo: Demo) -> str:
    dag_id, airflow = "demo_freshness", demo.airflow
    reading = {"id": "demo.sensor_readings", "type": "airflow_assets.types.Table"}
    airflow.unpause(dag_id)
    airflow.api("POST", f"{API}/upsert", json=reading)
    first = demo.ended_runs(dag_id, 1, timeout=90)[0]
    airflow.api("POST", f"{API}/upsert", json=reading)
    runs = demo.ended_runs(dag_id, 2, timeout=60)[:2]
    airflow.pause(dag_id)
    told = [airflow.xcom(dag_id, run["dag_run_id"], "tell") for run in (first, runs[1])]
    wanted = [[["demo.sensor_readings", state]] for state in ("STALE", "RECOVERED")]
    expect(told == wanted, f"one run each way: {told}")
    return "1 run when demo.sensor_readings had not been written for 20 s, 1 when it was again"


def trace(demo: Demo) -> str:
    graph = demo.get("/dependencies", assetId="weather.monthly", direction="upstream", depth=5)
    ids = {node["id"] for node in graph["nodes"]}
    wanted = {"vega.seattle-weather", "weather.daily", "weather.monthly"}
    expect(wanted <= ids, f"the way from the source to weather.monthly: {ids}")
    return "vega.seattle-weather -> weather.daily -> weather.monthly"


def shell(demo: Demo) -> str:
    out = demo.airflow.cli(
        "assets-catalog", "list", "--namespace", "demo.weather", "--output", "plain"
    ).stdout
    expect("weather.daily" in out and "weather.monthly" in out, f"the command line should list both: {out}")
    demo.airflow.cli("assets-catalog", "doctor")
    return "airflow assets-catalog list, doctor: no problem found"


def script(demo: Demo) -> str:
    delivery = demo.airflow.home / "delivery.txt"
    looked = delivery.with_suffix(".looked")

    def checked(count: int = 2) -> None:
        # Of two looks the second has begun after this was called.
        for _ in range(count):
            looked.unlink(missing_ok=True)
            demo.airflow.wait_until(looked.exists, 180, "demo_script to look")

    demo.airflow.unpause("demo_script")
    checked()
    expect(not demo.airflow.runs("demo_script"), "nothing is delivered yet")
    delivery.write_text("delivered")
    [run] = demo.ended_runs("demo_script", 1, timeout=120)
    found = demo.airflow.xcom("demo_script", run["dag_run_id"], "fetch")
    wanted = {"exitCode": 0, "condition": "state=delivered", "vars": {"state": "delivered"}}
    expect(found == wanted, f"the run should be told {wanted}: {found}")
    demo.airflow.kill("triggerer")
    demo.airflow.restart("triggerer")
    checked(3)
    expect(len(demo.airflow.runs("demo_script")) == 1, "a restart of the triggerer is no transition")
    demo.airflow.pause("demo_script")
    return "1 transition, 1 run with its variables; none more after kill -9 of the triggerer"


def ship(demo: Demo) -> str:
    dag_id, airflow, receiver = "ship_lineage", demo.airflow, demo.receiver
    airflow.unpause(dag_id)
    by_hand = airflow.trigger_dag(dag_id)["dag_run_id"]
    airflow.wait_for_run(dag_id, by_hand, timeout=240)  # behind one that the schedule may have begun
    airflow.pause(dag_id)
    runs = [run["dag_run_id"] for run in airflow.runs(dag_id) if run["state"] == "success"]
    results = [airflow.xcom(dag_id, run_id, "ship") for run_id in runs]
    uris = [uri for result in results for uri in result["outputs"]["archive"]["uris"]]
    lines = [
        json.loads(line)
        for uri in uris
        for line in Path(uri.removeprefix("file://")).read_text().splitlines()
    ]
    expect(len(lines) == sum(result["size"] for result in results) > 0, f"each event is one line: {results}")
    sent = sum(result["outputs"]["openlineage"]["sent"] for result in results)
    expect(len(receiver.events) == sent, f"{sent} events were sent, {len(receiver.events)} received")
    expect(not receiver.wrong, f"OpenLineage would not take them: {receiver.wrong[:3]}")
    failed = [event["job"]["name"] for event in receiver.events if event.get("eventType") == "FAIL"]
    expect(failed == ["demo_failing.overwrite"], f"one task failed: {failed}")
    demo.seen["lines"], demo.seen["files"] = lines, uris
    return f"{len(lines)} lineage events in {len(uris)} file, {sent} OpenLineage events at the receiver"


STEPS: tuple[tuple[str, Callable[[Demo], str]], ...] = (
    ("the Dags are there", parse),
    ("a producer loads real data and describes it", load),
    ("a consumer starts once for each event", follow),
    ("a burst of events", burst),
    ("a task fails", fail),
    ("the operators", operate),
    ("two runs want one lock", contend),
    ("a table goes stale and recovers", overdue),
    ("lineage", trace),
    ("lineage leaves the house", ship),
    ("the command line", shell),
    ("a script starts a Dag", script),
)


def play(demo: Demo) -> int:
    """Run the steps, print a line for each and the report, and return how many were shown."""
    for number, (title, step) in enumerate(STEPS, 1):
        begun = time.monotonic()
        try:
            outcome = step(demo)
        except Exception as error:  # noqa: BLE001 - whatever went wrong is this step's outcome; the demo reports it
            print(demo.airflow.log_tails(), file=sys.stderr, flush=True)
            print(f"[{number}/{len(STEPS)}] FAILED {title}: {error}", flush=True)
            print(f"The logs are in {demo.airflow.home}.", flush=True)
            return number - 1
        print(f"[{number}/{len(STEPS)}] {title}: {outcome} ({time.monotonic() - begun:.0f} s)", flush=True)
    print_report(demo.get, {dag_id: demo.airflow.runs(dag_id) for dag_id in DAGS})
    print_shipped(demo.seen["files"], demo.seen["lines"], demo.receiver.events)
    return len(STEPS)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--serve", action="store_true", help="keep Airflow running until Ctrl-C")
    options.add_argument("--home", type=Path, default=ROOT / ".build" / "demo", help="made anew each time")
    arguments = options.parse_args()
    home = arguments.home.resolve()
    shutil.rmtree(home, ignore_errors=True)
    print("starting Airflow ...", flush=True)
    with Receiver.running() as receiver, demo_airflow(home, receiver) as airflow:
        address = f"{airflow.base_url} (user admin, password admin)"
        if arguments.serve:
            print(f"Airflow is at {address}; the example Dags run now", flush=True)
        shown = play(Demo(airflow, receiver))
        if arguments.serve:
            print(f"Airflow serves {address} until Ctrl-C", flush=True)
            wait_for_interrupt()
    print(f"demo: {shown} of {len(STEPS)} steps ok", flush=True)
    return 0 if shown == len(STEPS) else 1


def demo_airflow(home: Path, receiver: Receiver) -> AirflowProcess:
    """Return an Airflow, not started, with the example Dags and the places that they are told."""
    env = {
        "AIRFLOW_ASSETS_DEMO_DUCKDB": str(home / "weather.duckdb"),
        "AIRFLOW_ASSETS_DEMO_DELIVERY": str(home),
        "AIRFLOW_CONN_OPENLINEAGE": json.dumps({"conn_type": "http", "host": receiver.url}),
        "AIRFLOW__AIRFLOW_ASSETS__STORAGE_PATH": f"file://{home}/store",
    }
    return AirflowProcess(home=home, dags=ROOT / "dags_examples", env=env)


def wait_for_interrupt() -> None:
    """Return when the user presses Ctrl-C."""
    try:
        while True:
            time.sleep(3600)
    except KeyboardInterrupt:
        print()


if __name__ == "__main__":
    sys.exit(main())

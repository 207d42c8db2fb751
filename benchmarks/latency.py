"""`python -m benchmarks.latency`: from a committed event to the queued Dag run, beside native schedules.

One Airflow on PostgreSQL, two consumer Dags alike but for the schedule. Both moments are commit times kept
by the server (`track_commit_timestamp`): that of the event's row, and that of the row which links it with its
run, written in the run's own transaction. So how often we look does not matter.
"""

from __future__ import annotations

import itertools
import random
import sys
import tempfile
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.environments import postgres
from benchmarks.harness import ROUNDS, Bound, Report, Row, percentile
from tests.support.airflow_process import AirflowProcess
from tests.support.processes import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.environments import Database

SINGLE = 20  # a round; five rounds make the hundred
BURST = 100
DAGS = """
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, Asset
from airflow_assets.triggers import EventTrigger

with DAG("native", schedule=Asset("bench_native")):
    EmptyOperator(task_id="done")
with DAG("ours", schedule=EventTrigger(asset_id="bench_ours").as_schedule()):
    EmptyOperator(task_id="done")
"""
COMMIT_TO_COMMIT = """
    select 1000 * extract(
        epoch from pg_xact_commit_timestamp(link.xmin) - pg_xact_commit_timestamp(event.xmin)
    )"""
NATIVE = f"""{COMMIT_TO_COMMIT}
    from asset_event event join asset on asset.id = event.asset_id and asset.name = 'bench_native'
    join dagrun_asset_event link on link.event_id = event.id order by event.id
"""
OURS = f"""{COMMIT_TO_COMMIT}
    from airflow_assets_event event
    join dag_run run on run.dag_id = 'ours' and run.run_id = 'asset_event__' || event.event_id
    join dagrun_asset_event link on link.dag_run_id = run.id order by event.seq
"""
LATENCIES = {"native": NATIVE, "ours": OURS}


class Sides:
    """Emits an event of either side over the API, and reads what became of it."""

    def __init__(self, airflow: AirflowProcess, database: Database) -> None:
        self.database = database
        self._airflow = airflow
        ((self._asset,),) = database.sql("select id from asset where name = 'bench_native'")
        self._number = 0

    def emit(self, side: str) -> None:
        """Commit one event; every event changes the asset."""
        self._number += 1
        extra = {"rows": self._number}
        if side == "native":
            body = {"asset_id": self._asset, "extra": extra}
            self._airflow.api("POST", "/api/v2/assets/events", json=body)
            return
        asset = {"id": "bench_ours", "type": "airflow_assets.types.Table", "metadata": extra}
        self._airflow.api("POST", "/airflow_assets/api/v1/upsert", json=asset)

    def latencies(self, side: str) -> list[float]:
        """Milliseconds from commit to commit of all events that have a run, in the events' order."""
        return [float(str(row[0])) for row in self.database.sql(LATENCIES[side])]

    def runs(self, side: str) -> int:
        """How many runs the side's Dag has."""
        return int(str(self.database.sql(f"select count(*) from dag_run where dag_id = '{side}'")[0][0]))


def singles(sides: Sides, side: str, count: int) -> list[float]:
    """Events one at a time, each when the one before has its run, at moments that beat with no loop."""
    before = len(sides.latencies(side))
    for number in range(1, count + 1):
        time.sleep(random.uniform(0.1, 1.1))
        sides.emit(side)
        wait_until(partial(_has, sides, side, before + number), 60, f"the run of {side}")
    return sides.latencies(side)[before:]


def _has(sides: Sides, side: str, count: int) -> bool:
    return len(sides.latencies(side)) >= count


def burst(sides: Sides, side: str, count: int) -> int:
    """Runs made for `count` events in a row, counted when nothing has changed for 20 s."""
    before = sides.runs(side)
    for _ in range(count):
        sides.emit(side)
    wait_until(settled(lambda: sides.runs(side), 20), 300, f"the runs of {side} to settle", interval=1)
    return sides.runs(side) - before


def settled(read: Callable[[], int], seconds: float) -> Callable[[], bool]:
    """A condition that holds when `read` has answered the same for `seconds`."""
    last, since = read(), time.monotonic()

    def unchanged() -> bool:
        nonlocal last, since
        now = read()
        if now != last:
            last, since = now, time.monotonic()
        return time.monotonic() - since >= seconds

    return unchanged


def measure(sides: Sides) -> tuple[dict[str, list[list[float]]], dict[str, int]]:
    """Rounds of single events, alternating and in reversed order every other round; then one burst each."""
    rounds: dict[str, list[list[float]]] = {"native": [], "ours": []}
    for number in range(ROUNDS + 1):
        for side in sorted(rounds, reverse=bool(number % 2)):
            figures = singles(sides, side, SINGLE if number else 3)
            print(
                f"  round {number} {side}: p50 {percentile(figures, 0.5):.1f} ms", file=sys.stderr, flush=True
            )
            if number:
                rounds[side].append(figures)
    return rounds, {side: burst(sides, side, BURST) for side in rounds}


def main() -> int:
    """Run the benchmark; 1 when we are slower than allowed or a burst loses a run."""
    packages = ["apache-airflow", "airflow-provider-assets", "psycopg2-binary"]
    report = Report("latency", "From event to queued run", "python -m benchmarks.latency", packages)
    with ExitStack() as stack:
        database = stack.enter_context(postgres("track_commit_timestamp=on"))()
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="airflow-assets-bench-")))
        airflow = stack.enter_context(AirflowProcess(folder / "airflow", database_url=database.url))
        airflow.write_dag("latency.py", DAGS)
        for dag_id in ("native", "ours"):
            airflow.unpause(dag_id)
        rounds, made = measure(Sides(airflow, database))
        report.facts["PostgreSQL"] = database.about()
    slower = Bound(1.1, at_least=False)
    for share in (0.5, 0.95):
        of_all = {
            side: [percentile(list(itertools.chain(*figures)), share)] for side, figures in rounds.items()
        }
        what = f"event commit to run commit, p{share * 100:.0f} of {SINGLE * ROUNDS}"
        report.rows.append(Row(what, "native schedule", of_all["native"], of_all["ours"], "ms", (slower,)))
    each = Bound(BURST, at_least=True, of_ratio=False), Bound(BURST, at_least=False, of_ratio=False)
    what = f"runs made for a burst of {BURST} events"
    report.rows.append(Row(what, "native schedule", [made["native"]], [made["ours"]], "runs", each))
    report.notes.append(
        "scheduler intervals as in tests/support/airflow_config.py (idle sleep 0.5 s, default 1 s)"
    )
    return report.write()


if __name__ == "__main__":
    sys.exit(main())

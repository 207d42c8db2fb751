"""`python -m benchmarks.record`: recording task runs in process, beside Dagster and Airflow.

A record is one durable commit on every side, on one PostgreSQL server: 2,000 of them over 200 assets with
three metadata keys. Ours does more in it: lineage, usage, graph edge, merge of the metadata and its index
rows, the event with its diff.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from benchmarks.environments import (
    SIDES,
    Database,
    airflow_environment,
    dagster_environment,
    peer_python,
    postgres,
)
from benchmarks.harness import ROUNDS, Bound, Report, Row, Worker, alternate, workers

COUNT = 2000
WRITERS = 8
COUNTED = 100
PACKAGES = ["apache-airflow", "airflow-provider-assets", "SQLAlchemy", "psycopg2-binary"]
Side = tuple[Sequence[str], Mapping[str, str]]


def sides_of(airflow: Database, dagster: Database, folder: Path) -> dict[str, Side]:
    """Command and environment of each side; Airflow's and ours share one database, Dagster has its own."""
    airflow_env = airflow_environment(folder / "airflow", airflow)
    dagster_env = dagster_environment(folder / "dagster", dagster)
    return {
        "dagster": ([str(peer_python("dagster")), str(SIDES / "dagster_record.py")], dagster_env),
        "airflow": ([sys.executable, str(SIDES / "airflow_record.py")], airflow_env),
        "ours": ([sys.executable, str(SIDES / "our_record.py")], airflow_env),
    }


def rate(worker: Worker, writers: int, count: int, first: int, number: int) -> float:
    """Records per second of round `number`; the rounds write numbers from `first` on, none twice."""
    answer = worker.ask(first=first + number * count, count=count, writers=writers)
    return float(answer["count"] / answer["seconds"])


def rate_of_processes(team: Sequence[Worker], count: int, first: int, number: int) -> float:
    """Records per second of one round shared by as many processes as `team` has."""
    share = count // len(team)

    def one(place: int) -> float:
        start = first + number * count + place * share
        return float(team[place].ask(first=start, count=share, writers=1)["seconds"])

    with ThreadPoolExecutor(len(team)) as pool:
        return share * len(team) / max(pool.map(one, range(len(team))))


def statements(database: Database, side: Side, first: int) -> tuple[float, float]:
    """Statements beyond begin and commit, and commits, per record: counted in the server's own log."""
    command, env = side
    logging = {**env, "PGOPTIONS": "-c log_statement=all"}
    with workers({"counted": (command, logging)}) as started:
        started["counted"].ask(first=first, count=COUNTED, writers=1)
        before = database.log.stat().st_size
        started["counted"].ask(first=first + COUNTED, count=COUNTED, writers=1)
    with database.log.open(errors="replace") as log:
        log.seek(before)
        found = re.findall(r"LOG:  (?:statement|execute [^:]*): *(\w+)(.*)", log.read())
    verbs = [verb.upper() for verb, _ in found]
    # The last statement may carry the commit.
    commits = verbs.count("COMMIT") + sum(rest.endswith("; COMMIT") for _, rest in found)
    framing = {"BEGIN", "COMMIT", "ROLLBACK"}
    return sum(verb not in framing for verb in verbs) / COUNTED, commits / COUNTED


def main() -> int:
    """Run the benchmark; 1 when a ratio is below what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.record", description=__doc__)
    parser.add_argument("--count", type=int, default=COUNT, help="records a round (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="rounds (default: %(default)s)")
    arguments = parser.parse_args()
    command = " ".join(["python -m benchmarks.record", *sys.argv[1:]])
    report = Report("record", "Recording task runs, in process", command, PACKAGES)
    with ExitStack() as stack:
        new_database = stack.enter_context(postgres())
        airflow, dagster = new_database(), new_database()
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="airflow-assets-bench-")))
        sides = sides_of(airflow, dagster, folder)
        measure(report, airflow, sides, arguments.count, arguments.rounds)
    return report.write()


def measure(report: Report, database: Database, sides: dict[str, Side], count: int, rounds: int) -> None:
    """One writer, eight threads, eight processes; then the statements of a record."""
    with workers(sides) as started:
        one = alternate({name: partial(rate, started[name], 1, count, 1_000_000) for name in sides}, rounds)
        both = ("airflow", "ours")
        threads = {name: partial(rate, started[name], WRITERS, count, 2_000_000) for name in both}
        eight = alternate(threads, rounds)
    dagster = f"Dagster {_dagster_version()} `report_runless_asset_event`"
    airflow = "Airflow `register_asset_change`"
    report.rows += [
        Row("1 writer", dagster, one["dagster"], one["ours"], "records/s", (Bound(20),)),
        Row("1 writer", airflow, one["airflow"], one["ours"], "records/s", (Bound(5),)),
        Row(f"{WRITERS} threads", airflow, eight["airflow"], eight["ours"], "records/s", (Bound(8),)),
    ]
    processes = in_processes({name: sides[name] for name in both}, count, rounds)
    report.rows.append(
        Row(f"{WRITERS} processes", airflow, processes["airflow"], processes["ours"], "records/s")
    )
    counted = {name: statements(database, side, 9_000_000) for name, side in sides.items()}
    ours, peer = [counted["ours"][0]], [counted["airflow"][0]]
    limit = Bound(4, at_least=False, of_ratio=False)
    report.rows.append(Row("statements a record", airflow, peer, ours, "", (limit,)))
    report.notes.append(
        f"commits a record, from the server's log: ours {counted['ours'][1]:g}, "
        f"Airflow {counted['airflow'][1]:g}; Dagster runs {counted['dagster'][0]:g} statements a record, "
        "each committing by itself"
    )
    report.facts["PostgreSQL"] = database.about()
    report.facts["records a round"] = str(count)


def in_processes(sides: dict[str, Side], count: int, rounds: int) -> dict[str, list[float]]:
    """The same work shared by eight processes a side; both teams stay up, so both are warm."""
    with ExitStack() as stack:
        teams = {}
        for name, side in sides.items():
            names = {f"{name}{place}": side for place in range(WRITERS)}
            teams[name] = list(stack.enter_context(workers(names)).values())
        measures = {name: partial(rate_of_processes, team, count, 3_000_000) for name, team in teams.items()}
        return alternate(measures, rounds)


def _dagster_version() -> str:
    pins = (Path(__file__).parent / "constraints-dagster.txt").read_text()
    found = re.search(r"^dagster==(\S+)", pins, re.MULTILINE)
    return found.group(1) if found else "?"


if __name__ == "__main__":
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    sys.exit(main())

"""`python -m benchmarks.locks`: acquiring and releasing one lock in process, beside Dagster's pool slot.

One PostgreSQL server; one client, then eight processes that contend for the same lock. Whoever holds it
writes to a file that counts writers who meet another one inside: none may. Ours is a lease with an owner, an
expiry and a fencing number, kept by the database's clock; a slot of a Dagster pool has none of them.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.environments import SIDES, airflow_environment, dagster_environment, peer_python, postgres
from benchmarks.harness import ROUNDS, Bound, Report, Row, Worker, alternate, workers
from benchmarks.record import _dagster_version

SECONDS = 10.0
"""How long a round takes each side."""
EACH = 1_000_000
"""More runs than a client has in a round, so that none has the number of another."""
CLIENTS = 8
PACKAGES = ["apache-airflow", "airflow-provider-assets", "SQLAlchemy", "psycopg2-binary"]
Side = tuple[Sequence[str], Mapping[str, str]]


class Team:
    """The clients of one side, and the file that they guard."""

    def __init__(self, members: Sequence[Worker], guarded: Path) -> None:
        self._members = members
        self._guarded = guarded
        self.violations = 0
        guarded.write_text("")

    def rate(self, seconds: float, number: int) -> float:
        """Pairs of acquire and release per second in round `number`, of all members together."""

        def one(place: int) -> dict[str, Any]:
            first = (number * len(self._members) + place) * EACH
            return self._members[place].ask(first=first, seconds=seconds, guarded=str(self._guarded))

        with ThreadPoolExecutor(len(self._members)) as pool:
            answers = list(pool.map(one, range(len(self._members))))
        self.violations += sum(answer["violations"] for answer in answers)
        return sum(answer["count"] for answer in answers) / max(answer["seconds"] for answer in answers)


def measure(sides: Mapping[str, Side], clients: int, seconds: float, rounds: int, folder: Path) -> Row:
    """One row of the table; fails when anybody met another one inside."""
    with ExitStack() as stack:
        teams = {}
        for name, side in sides.items():
            names = {f"{name}{place}": side for place in range(clients)}
            members = list(stack.enter_context(workers(names)).values())
            teams[name] = Team(members, folder / f"{name}{clients}")
        figures = alternate({name: partial(team.rate, seconds) for name, team in teams.items()}, rounds)
    for name, team in teams.items():
        print(f"  {name}, {clients} clients: {team.violations} violations", file=sys.stderr)
    if teams["ours"].violations:
        raise SystemExit(f"{teams['ours'].violations} violations with {clients} clients")
    dagster = f"Dagster {_dagster_version()} pool slot"
    what = "1 client" if clients == 1 else f"{clients} processes, one lock"
    return Row(what, dagster, figures["dagster"], figures["ours"], "pairs/s", (Bound(20),))


def main() -> int:
    """Run the benchmark; 1 when a ratio is below what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.locks", description=__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of a round (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="rounds (default: %(default)s)")
    arguments = parser.parse_args()
    command = " ".join(["python -m benchmarks.locks", *sys.argv[1:]])
    report = Report("locks", "Acquiring and releasing a lock, in process", command, PACKAGES)
    with ExitStack() as stack:
        new_database = stack.enter_context(postgres())
        airflow, dagster = new_database(), new_database()
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="airflow-assets-bench-")))
        dagster_env = dagster_environment(folder / "dagster", dagster)
        sides: dict[str, Side] = {
            "dagster": ([str(peer_python("dagster")), str(SIDES / "dagster_locks.py")], dagster_env),
            "ours": (
                [sys.executable, str(SIDES / "our_locks.py")],
                airflow_environment(folder / "airflow", airflow),
            ),
        }
        for clients in (1, CLIENTS):
            report.rows.append(measure(sides, clients, arguments.seconds, arguments.rounds, folder))
        report.facts["PostgreSQL"] = airflow.about()
        report.facts["seconds a round"] = f"{arguments.seconds:g}"
    report.notes.append("violations, counted by the file that the lock guards: ours 0")
    return report.write()


if __name__ == "__main__":
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    sys.exit(main())

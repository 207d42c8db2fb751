"""`python -m benchmarks.purge`: purging half of the events under two writers, beside `airflow db clean`.

Each side deletes the older half of as many rows, with its own command, while two processes of its own write:
ours records task runs, Airflow registers asset changes. A writer begins at most `--rate` writes a second, so
what is compared is how long a write takes with and without the deletion, not how much two full cores can do.

How long a lock is held is sampled: every 10 ms the oldest transaction of the deleting command that has
written (and so holds row locks until its commit) is asked for its age. What is shown is the longest age that
was seen; a lock may have been held up to one sample longer.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime as dt
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.environments import SIDES, Database, airflow_environment, postgres
from benchmarks.harness import ROUNDS, Bound, Report, Row, Worker, percentile, workers

EVENTS, RATE, WRITERS, IDLE_SECONDS = 2_000_000, 50.0, 2, 20.0
SAMPLE_SECONDS = 0.01
PACKAGES = ["apache-airflow", "airflow-provider-assets", "SQLAlchemy", "psycopg2-binary"]
CUT = dt.datetime(2026, 3, 1, tzinfo=dt.timezone.utc)
"""Half of the rows are older than this."""
LOG = """
INSERT INTO airflow_assets_event
    (seq, event_id, tenant, asset_pk, kind, created, namespace, type, payload, diff, source, depth)
SELECT n + {first}, gen_random_uuid()::text, 'main', n % 200 + 1000000, 'UPDATED', {created}, 'bench', 'T',
    '{{"id": "a' || n % 200 || '", "type": "T", "namespace": "bench", "displayName": null, '
    || '"description": null, '
    || '"metadata": {{"rows": ' || n || ', "owner": "team1", "tier": 2}}, "tenantId": "main", '
    || '"created": "2026-01-01T00:00:00.000000Z", "updated": "2026-01-01T00:00:00.000000Z"}}',
    '{{"metadata.rows": [1, ' || n || ']}}', '{{"kind": "task", "dagId": "d", "runId": "r"}}', 0
FROM generate_series(1, {count}) AS n
"""
NUMBERS = """
INSERT INTO airflow_assets_sequence (name, value) VALUES ('log', {last})
ON CONFLICT (name) DO UPDATE SET value = greatest(airflow_assets_sequence.value, {last})
"""
NATIVE = """
INSERT INTO asset_event (asset_id, extra, source_map_index, timestamp)
SELECT (SELECT min(id) FROM asset), json_build_object('rows', n, 'owner', 'team1', 'tier', 2), -1, {created}
FROM generate_series(1, {count}) AS n
"""
OLDEST = """
SELECT coalesce(extract(epoch FROM max(clock_timestamp() - xact_start)), 0) FROM pg_stat_activity
WHERE application_name = %s AND backend_xid IS NOT NULL
"""


@dataclass(frozen=True)
class Side:
    """Who deletes, in which table, by which command, and whose writers write meanwhile."""

    name: str
    table: str
    fill: str
    writer: str
    command: Sequence[str]


@dataclass
class Outcome:
    """What one round of one side showed; latencies in milliseconds."""

    idle: list[float] = field(default_factory=list)
    busy: list[float] = field(default_factory=list)
    seconds: float = 0.0
    deleted: int = 0
    held: float = 0.0


def sides() -> tuple[Side, ...]:
    """Ours; Airflow with its default, one transaction, and with batches such as ours."""
    clean = ["db", "clean", "--clean-before-timestamp", CUT.isoformat(), "--tables", "asset_event"]
    clean += ["--skip-archive", "--yes"]
    ours = ["assets-catalog", "purge", "--end_date", CUT.isoformat(), "--events", "--yes"]
    ours += ["--no_assets", "--no_usages", "--no_lineages"]
    native = ("asset_event", NATIVE, "airflow_record.py")
    return (
        Side("ours", "airflow_assets_event", LOG, "our_record.py", ours),
        Side("db clean", *native, clean),
        Side("db clean, batches of 1,000", *native, [*clean, "--batch-size", "1000"]),
    )


def fill(database: Database, side: Side, count: int, first: int) -> None:
    """Put `count` rows in, half of them older than the cut; what an earlier round left is taken out."""
    database.sql(f"TRUNCATE {side.table} CASCADE")
    created = f"timestamptz '{CUT.isoformat()}' + (n - {count // 2}) * interval '1 second'"
    database.sql(side.fill.format(first=first, count=count, created=created))
    if side.fill is LOG:
        database.sql(NUMBERS.format(last=first + count))
    database.sql(f"VACUUM ANALYZE {side.table}")


class Writing:
    """Two writers that go on until they are told to stop."""

    def __init__(self, team: Sequence[Worker], rate: float, first: int) -> None:
        self._team, self._rate = team, rate
        self._next = [first + place * 10_000_000 for place in range(len(team))]
        self._stopped = threading.Event()

    def during(self, seconds: float) -> list[float]:
        """Write for so long; returns the latencies in milliseconds."""
        timer = threading.Timer(seconds, self._stopped.set)
        timer.start()
        with self.going() as latencies:
            self._stopped.wait()
        return latencies

    @contextlib.contextmanager
    def going(self) -> Iterator[list[float]]:
        """Write inside; the list is complete at the end."""
        self._stopped.clear()
        latencies: list[float] = []
        with ThreadPoolExecutor(len(self._team)) as pool:
            shares = [pool.submit(self._write, place) for place in range(len(self._team))]
            try:
                yield latencies
            finally:
                self._stopped.set()
                for share in shares:
                    latencies += share.result()

    def _write(self, place: int) -> list[float]:
        latencies: list[float] = []
        portion = max(1, int(self._rate / 2))  # half a second's
        while True:
            answer = self._team[place].ask(first=self._next[place], count=portion, rate=self._rate)
            self._next[place] += portion
            latencies += [1000 * second for second in answer["latencies"]]
            if self._stopped.is_set():
                return latencies


@contextlib.contextmanager
def sampled(database: Database, name: str, outcome: Outcome) -> Iterator[None]:
    """Note the longest age of a writing transaction of `name` inside."""
    import psycopg2

    ended = threading.Event()

    def watch() -> None:
        connection = psycopg2.connect(database.url.replace("+psycopg2", ""))
        connection.autocommit = True
        with contextlib.closing(connection), connection.cursor() as cursor:
            while not ended.wait(SAMPLE_SECONDS):
                cursor.execute(OLDEST, (name,))
                outcome.held = max(outcome.held, 1000 * float(cursor.fetchall()[0][0]))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def measure(
    database: Database, side: Side, env: Mapping[str, str], arguments: argparse.Namespace, number: int
) -> Outcome:
    """One round of one side: writes alone, then writes while the older half is deleted."""
    count, outcome = arguments.events, Outcome()
    fill(database, side, count, first=(number + 1) * 10 * EVENTS)
    command = [sys.executable, str(SIDES / side.writer)]
    with workers({f"writer {n}": (command, env) for n in range(WRITERS)}) as team:
        writing = Writing(list(team.values()), arguments.rate, first=100_000_000 * (number + 1))
        writing.during(min(2.0, arguments.idle))  # warm
        outcome.idle = writing.during(arguments.idle)
        with writing.going() as latencies, sampled(database, "deleting", outcome):
            began = time.perf_counter()
            deleting = [sys.executable, "-m", "airflow", *side.command]
            done = subprocess.run(
                deleting, env={**env, "PGAPPNAME": "deleting"}, capture_output=True, text=True, check=False
            )
            outcome.seconds = time.perf_counter() - began
        outcome.busy = latencies
    if done.returncode:
        raise RuntimeError(f"{side.name} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    rows = database.sql(f"SELECT count(*) FROM {side.table} WHERE {_time_of(side)} <= '{CUT.isoformat()}'")
    old = int(str(rows[0][0]))
    outcome.deleted = count // 2 - old
    if old > (side.name != "ours"):  # the peer's bound is exclusive
        raise RuntimeError(f"{side.name} left {old} of {count // 2} rows")
    return outcome


def _time_of(side: Side) -> str:
    return "created" if side.fill is LOG else "timestamp"


def main() -> int:
    """Run the benchmark; 1 when something that was asked for is not met."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.purge", description=__doc__)
    parser.add_argument(
        "--events", type=int, default=EVENTS, help="rows, half of which go (default: %(default)s)"
    )
    parser.add_argument(
        "--rate", type=float, default=RATE, help="writes a second and writer (default: %(default)s)"
    )
    parser.add_argument(
        "--idle", type=float, default=IDLE_SECONDS, help="seconds of writes alone (default: %(default)s)"
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="rounds (default: %(default)s)")
    arguments = parser.parse_args()
    command = " ".join(["python -m benchmarks.purge", *sys.argv[1:]])
    report = Report("purge", "Purging half of the events under two writers", command, PACKAGES)
    found: dict[str, list[Outcome]] = {side.name: [] for side in sides()}
    with ExitStack() as stack:
        database = stack.enter_context(postgres())()
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="airflow-assets-bench-")))
        env = airflow_environment(folder / "airflow", database)
        with workers({"once": ([sys.executable, str(SIDES / "airflow_record.py")], env)}):
            pass  # makes Airflow's assets, which its events belong to
        for number in range(arguments.rounds):
            for side in sides()[:: 1 if number % 2 else -1]:
                outcome = measure(database, side, env, arguments, number)
                print(f"  round {number} {side.name}: {_told(outcome)}", file=sys.stderr, flush=True)
                found[side.name].append(outcome)
        report.facts["PostgreSQL"] = database.about()
    report.facts["rows"] = f"{arguments.events}, {WRITERS} writers at {arguments.rate:g} writes/s each"
    report.rows += rows_of(found)
    report.notes += notes_of(found)
    return report.write()


def rows_of(found: Mapping[str, list[Outcome]]) -> list[Row]:
    """The figures of ours beside each of the peer's ways."""
    ours = found["ours"]
    at_most = {"at_least": False, "of_ratio": False}
    table = []
    for name in (name for name in found if name != "ours"):
        peer = found[name]
        table += [
            Row("p99 of a write, deleting ÷ idle", f"`airflow {name}`", slower(peer), slower(ours), "×",
                (Bound(2, **at_most),)),
            Row("longest age of a deleting transaction", f"`airflow {name}`", held(peer), held(ours), "ms",
                (Bound(200, **at_most),)),
            Row("rows deleted", f"`airflow {name}`", rates(peer), rates(ours), "rows/s"),
        ]  # fmt: skip
    return table


def slower(outcomes: Sequence[Outcome]) -> list[float]:
    """How many times as long the 99th percentile of a write was while rows were deleted."""
    return [percentile(one.busy, 0.99) / percentile(one.idle, 0.99) for one in outcomes]


def held(outcomes: Sequence[Outcome]) -> list[float]:
    """The longest ages, in milliseconds."""
    return [one.held for one in outcomes]


def rates(outcomes: Sequence[Outcome]) -> list[float]:
    """Deleted rows a second, the start of the command included."""
    return [one.deleted / one.seconds for one in outcomes]


def notes_of(found: Mapping[str, list[Outcome]]) -> list[str]:
    """What a reader needs to know to believe the figures."""
    how = (
        "locks are not seen directly: every 10 ms the age of the oldest writing transaction of the command "
        "is asked for, and it holds its locks until its end"
    )
    return [
        f"{name}: p99 idle {_median([percentile(o.idle, 0.99) for o in some]):.1f} ms, deleting "
        f"{_median([percentile(o.busy, 0.99) for o in some]):.1f} ms; longest write "
        f"{max(max(o.busy) for o in some):.0f} ms; {_median([o.seconds for o in some]):.1f} s"
        for name, some in found.items()
    ] + [how]


def _median(figures: Sequence[float]) -> float:
    return sorted(figures)[len(figures) // 2]


def _told(outcome: Outcome) -> str:
    return (
        f"{outcome.deleted} rows in {outcome.seconds:.1f} s, p99 {percentile(outcome.idle, 0.99):.1f} -> "
        f"{percentile(outcome.busy, 0.99):.1f} ms, held {outcome.held:.0f} ms"
    )


if __name__ == "__main__":
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    sys.exit(main())

"""`python -m benchmarks.query`: finding by metadata and paging among 100,000 assets, beside Airflow.

The question: owner = team3 and tier >= 2, the first 50 by name. Airflow cannot filter by metadata; its side
reads pages of 100 in order and filters in the client until it has 50. Paging: the whole list in pages of 100,
the last pages against the first.
"""

from __future__ import annotations

import sys
import tempfile
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks.environments import SIDES, Database, postgres
from benchmarks.harness import Bound, Report, Row, Worker, alternate, percentile, workers
from tests.support.airflow_process import AirflowProcess

ASSETS = 100_000
PAGES = ASSETS // 100
EDGE = 20
FINDS = {"airflow": 20, "ours": 100, "in process": 100}
LIMIT_MS = 20.0


def seed(database: Database, airflow: AirflowProcess) -> None:
    """The same 100,000 assets for both: Airflow's by SQL, ours through the catalogue's own batches."""
    extra = "json_build_object('rows', n, 'owner', 'team' || n % 10, 'tier', n / 10 % 5)"
    database.sql(
        'insert into asset (name, uri, "group", extra, created_at, updated_at) '
        f"select 'a' || to_char(n, 'FM000000'), 's3://bucket/a' || n, 'asset', {extra}, now(), now() "
        f"from generate_series(0, {ASSETS - 1}) n"
    )
    database.sql("insert into asset_active (name, uri) select name, uri from asset")
    with workers({"seed": ([sys.executable, str(SIDES / "our_query.py")], airflow.environment)}) as started:
        started["seed"].ask(do="seed", count=ASSETS)
    # What autovacuum does within a minute on a server that is not made for one benchmark.
    database.sql("vacuum analyze")


def find_p95(worker: Worker, count: int, _: int) -> float:
    """The 95th percentile of one round, in milliseconds."""
    return percentile(worker.ask(do="find", count=count)["times"], 0.95)


def walk(worker: Worker, _: int) -> float:
    """Last pages ÷ first pages of one round, medians of 20."""
    times: list[float] = worker.ask(do="walk", pages=PAGES, edge=EDGE)["times"]
    return median(times[EDGE:]) / median(times[:EDGE])


def main() -> int:
    """Run the benchmark; 1 when a bound is not kept."""
    packages = ["apache-airflow", "airflow-provider-assets", "SQLAlchemy", "psycopg2-binary"]
    report = Report(
        "query", f"Finding and paging among {ASSETS:,} assets", "python -m benchmarks.query", packages
    )
    with ExitStack() as stack:
        database = stack.enter_context(postgres())()
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="airflow-assets-bench-")))
        quiet = {"AIRFLOW__LOGGING__LOGGING_LEVEL": "WARNING"}
        airflow = stack.enter_context(
            AirflowProcess(
                folder / "airflow", database_url=database.url, components=("api-server",), env=quiet
            )
        )
        seed(database, airflow)
        sides = {
            name: (
                [
                    sys.executable,
                    str(SIDES / "query_load.py"),
                    name,
                    str(airflow.settings.port),
                    airflow.token(),
                ],
                airflow.environment,
            )
            for name in ("airflow", "ours")
        }
        sides["in process"] = ([sys.executable, str(SIDES / "our_query.py")], airflow.environment)
        started = stack.enter_context(workers(sides))
        found = alternate({name: partial(find_p95, started[name], FINDS[name]) for name in sides})
        walked = alternate({name: partial(walk, started[name]) for name in sides})
        report.facts["PostgreSQL"] = database.about()
    peer = "Airflow `GET /api/v2/assets`"
    quick, level = Bound(LIMIT_MS, at_least=False, of_ratio=False), Bound(1.5, at_least=False, of_ratio=False)
    for name, label in (("ours", "over HTTP"), ("in process", "in process")):
        report.rows += [
            Row(f"find by two conditions, p95, {label}", peer, found["airflow"], found[name], "ms", (quick,)),
            Row(f"last page ÷ first page, {label}", peer, walked["airflow"], walked[name], "", (level,)),
        ]
    counts = ", ".join(f"{name} {count}" for name, count in FINDS.items())
    report.notes.append(f"finds a round: {counts}; pages of 100, medians of the first and the last {EDGE}")
    return report.write()


if __name__ == "__main__":
    sys.exit(main())

"""`python -m benchmarks.http`: eight HTTP clients on one API server, beside Airflow's REST asset events.

Both sides go to the same API server process and the same PostgreSQL. A request of ours records the run of a
task instance of its own (lineage, usage, asset, event), with a token that the task signs for it.
"""

from __future__ import annotations

import json
import sys
import tempfile
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.environments import SIDES, Database, postgres
from benchmarks.harness import ROUNDS, Bound, Report, Row, Worker, alternate, workers
from tests.support.airflow_process import AirflowProcess

COUNT = 500
CLIENTS = 8
ASSETS = 200


def seed(database: Database) -> None:
    """Put in the tables what the requests refer to: Airflow's assets and a running task instance a record."""
    tasks = (ROUNDS + 2) * COUNT
    database.sql(
        'insert into asset (name, uri, "group", extra, created_at, updated_at) '
        "select 'a' || n, 's3://bucket/a' || n, 'asset', '{}', now(), now() "
        f"from generate_series(0, {ASSETS - 1}) n"
    )
    database.sql("insert into asset_active (name, uri) select name, uri from asset")
    database.sql(
        "insert into dag_run (dag_id, run_id, run_type, run_after, state) "
        "values ('bench', 'bench', 'manual', now(), 'running')"
    )
    # No dag row: the scheduler is not running here, and neither side looks at it.
    database.sql(
        "insert into task_instance (id, task_id, dag_id, run_id, map_index, try_number, pool, pool_slots, "
        "state, start_date) select lpad(to_hex(n), 32, '0')::uuid, 'bench', 'bench', 'bench', n, 1, "
        f"'default_pool', 1, 'running', now() from generate_series(0, {tasks}) n"
    )


def settings_of(airflow: AirflowProcess, database: Database) -> dict[str, Any]:
    """What the clients need: a user's token for Airflow's API, the managed secret for ours."""
    from airflow_assets.schemas.credentials import AUDIENCE

    secret = airflow.cli("connections", "get", "airflow_assets_default", "-o", "json").stdout
    extra = json.loads(secret)[0]["extra_dejson"]
    ids = database.sql("select id from asset where uri like 's3://bucket/a%' order by id")
    return {
        "token": airflow.token("admin"),
        "secret": extra["secret"],
        "audience": AUDIENCE,
        "assets": [row[0] for row in ids],
    }


def rate(worker: Worker, number: int) -> float:
    """Requests per second of one round."""
    answer = worker.ask(first=number * COUNT, count=COUNT, writers=CLIENTS)
    return float(answer["count"] / answer["seconds"])


def main() -> int:
    """Run the benchmark; 1 when the ratio is below what was asked for."""
    packages = ["apache-airflow", "airflow-provider-assets", "fastapi", "uvicorn", "psycopg2-binary"]
    report = Report("http", "Recording over HTTP", "python -m benchmarks.http", packages)
    with ExitStack() as stack:
        database = stack.enter_context(postgres())()
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="airflow-assets-bench-")))
        quiet = {"AIRFLOW__LOGGING__LOGGING_LEVEL": "WARNING"}
        airflow = stack.enter_context(
            AirflowProcess(
                folder / "airflow", database_url=database.url, components=("api-server",), env=quiet
            )
        )
        seed(database)
        settings = folder / "settings.json"
        settings.write_text(json.dumps(settings_of(airflow, database)))
        command = [sys.executable, str(SIDES / "http_load.py")]
        port = str(airflow.settings.port)
        sides = {
            name: ([*command, name, port, str(settings)], airflow.environment) for name in ("airflow", "ours")
        }
        started = stack.enter_context(workers(sides))
        figures = alternate({name: partial(rate, worker) for name, worker in started.items()})
        report.facts["PostgreSQL"] = database.about()
    peer = "`POST /api/v2/assets/events`"
    report.rows.append(
        Row(f"{CLIENTS} clients", peer, figures["airflow"], figures["ours"], "requests/s", (Bound(2),))
    )
    report.notes.append(
        f"{COUNT} requests a round; one API server process; clients and server share the machine"
    )
    return report.write()


if __name__ == "__main__":
    sys.exit(main())

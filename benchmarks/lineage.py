"""`python -m benchmarks.lineage`: three hops among 300,000 edges, and 1,000 outlets of one task.

The graph: 100,000 assets, 300,000 edges, half of them spread evenly and half at few assets, as where one
table feeds everything. Asked is the whole neighbourhood in both directions, with tasks, hidden ones counted:
of the busiest asset of all, and of one with some 40 edges. Beside it stands the search alone, as one
recursive statement in each direction, without names, tasks, permissions or a limit of nodes that is counted.

The outlets: one record of a task with 1,000 outlets, in a catalogue whose log is empty, and in one whose log
has 1,000,000 events and usages of these assets.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING, Any

from benchmarks.environments import postgres
from benchmarks.harness import ROUNDS, Bound, Report, Row, alternate, percentile

if TYPE_CHECKING:
    from collections.abc import Callable

    from airflow_assets.catalog.service import CatalogService
    from benchmarks.environments import Database
    from benchmarks.harness import Measure

ASSETS, EDGES, OUTLETS, HISTORY, ASKED, HOPS = 100_000, 300_000, 1_000, 1_000_000, 40, 3
PACKAGES = ["airflow-provider-assets", "SQLAlchemy", "psycopg2-binary"]
P95_MS, OUTLET_SECONDS, GROWTH = 100.0, 2.0, 1.3
ADD_ASSETS = """
INSERT INTO airflow_assets_asset
    (tenant, asset_key, id, id_sort, namespace, type, metadata, created, updated, deleted)
SELECT 'main', sha256(convert_to('bench' || n, 'UTF8')), 'a' || n, convert_to('a' || n, 'UTF8'),
    CASE WHEN n % 50 = 0 THEN 'closed' ELSE 'team' || n % 20 END, 'airflow_assets.types.Table',
    '{{"rows": ' || n || '}}', now() - interval '9 days', now(), false
FROM generate_series(1, {count}) AS n
"""
# Of a million draws few agree: what is drawn twice is left out.
ADD_EDGES = """
INSERT INTO airflow_assets_edge (edge_key, source_pk, target_pk, dag_id, task_id, first_seen, last_seen)
SELECT decode(md5(source || '-' || target), 'hex'), source, target, 'dag' || target % 3000,
    'task' || target % 7, now() - interval '9 days', now()
FROM (
    SELECT DISTINCT
        1 + floor({assets} * CASE WHEN n % 2 = 0 THEN random() ELSE power(random(), 4) END)::bigint AS source,
        1 + floor({assets} * random())::bigint AS target
    FROM generate_series(1, {edges} + {edges} / 20) AS n
) AS drawn WHERE source <> target LIMIT {edges}
"""
SEARCH = """
WITH RECURSIVE reached (pk, hop) AS (
    SELECT {start}::bigint, 0
    UNION
    SELECT edge.{far}, hop + 1 FROM reached JOIN airflow_assets_edge AS edge ON edge.{near} = reached.pk
    WHERE hop < {hops} AND edge.{far} > 0
)
SELECT count(DISTINCT pk) FROM reached
"""
ADD_HISTORY = (
    """
    INSERT INTO airflow_assets_event
        (seq, event_id, tenant, asset_pk, kind, created, namespace, type, payload, diff, source, depth)
    SELECT {first} + 2 * n, gen_random_uuid()::text, 'main', pk, 'UPDATED', now() - interval '1 day', 'bench',
        'airflow_assets.types.Table', '{{"id": "' || id || '"}}', '{{"metadata.rows": [1, 2]}}',
        '{{"kind": "task", "dagId": "d", "runId": "r"}}', 0
    FROM generate_series(0, {count} - 1) AS n
    JOIN (SELECT pk, id, row_number() OVER (ORDER BY pk) - 1 AS place FROM airflow_assets_asset) AS known
        ON known.place = n % {outlets}
    """,
    """
    INSERT INTO airflow_assets_usage (lineage_seq, asset_pk, role, created)
    SELECT seq + 1, asset_pk, 'o', created FROM airflow_assets_event WHERE seq >= {first}
    """,
    "UPDATE airflow_assets_sequence SET value = {first} + 2 * {count}",
)


def catalogue(database: Database) -> CatalogService:
    """A catalogue with its tables and nothing else."""
    from airflow_assets.catalog import tables
    from airflow_assets.catalog.engine import make_engine
    from airflow_assets.catalog.service import CatalogService

    engine = make_engine(database.url)
    tables.metadata.create_all(engine)
    return CatalogService(engine)


def hubs(database: Database) -> dict[str, int]:
    """The busiest asset, and the one with about 40 edges that has most on its smaller side."""
    counts = """
        SELECT pk, count(*) FILTER (WHERE source), count(*) FILTER (WHERE NOT source) FROM (
            SELECT source_pk AS pk, true AS source FROM airflow_assets_edge
            UNION ALL SELECT target_pk, false FROM airflow_assets_edge
        ) AS ends JOIN airflow_assets_asset AS asset USING (pk) WHERE asset.namespace <> 'closed' GROUP BY pk
    """
    busiest = f"SELECT pk FROM ({counts}) AS c (pk, down, up) ORDER BY down + up DESC, pk LIMIT 1"
    usual = f"""SELECT pk FROM ({counts}) AS c (pk, down, up) WHERE down + up BETWEEN 35 AND 45
        ORDER BY least(down, up) DESC, pk LIMIT 1"""
    found = {"the busiest asset": busiest, "an asset with 40 edges": usual}
    return {name: int(str(database.sql(statement)[0][0])) for name, statement in found.items()}


def p95_of(work: Callable[[], object], asked: int) -> float:
    """The 95th percentile of so many calls, in milliseconds."""
    times = []
    for _ in range(asked):
        began = time.perf_counter()
        work()
        times.append(1_000 * (time.perf_counter() - began))
    return percentile(times, 0.95)


def questions(report: Report, database: Database, wanted: argparse.Namespace) -> None:
    """Ask for three hops from each of the assets."""
    from airflow_assets.schemas.actors import Caller, Source, SourceKind
    from airflow_assets.schemas.queries import DependencyQuery

    service = catalogue(database)
    database.sql(ADD_ASSETS.format(count=wanted.assets))
    # The ids of assets made here have no key of theirs: only graphs are asked for, by an asset made properly.
    database.sql(ADD_EDGES.format(assets=wanted.assets, edges=wanted.edges))
    database.sql("VACUUM ANALYZE")
    caller = Caller(source=Source(kind=SourceKind.API, user="bench"), hidden_namespaces=("closed",))
    for name, pk in hubs(database).items():
        asset_id = _give_key(database, pk)
        query = DependencyQuery(asset_id=asset_id, depth=HOPS, max_nodes=wanted.nodes)
        graph = service.dependencies(caller, query)
        searches = [
            SEARCH.format(start=pk, near=near, far=far, hops=HOPS)
            for near, far in (("target_pk", "source_pk"), ("source_pk", "target_pk"))
        ]
        measures: dict[str, Measure] = {
            "peer": lambda _, these=searches: p95_of(  # type: ignore[misc]
                lambda: [database.sql(statement) for statement in these], max(2, wanted.asked // 10)
            ),
            "ours": lambda _, query=query: p95_of(  # type: ignore[misc]
                lambda: service.dependencies(caller, query), wanted.asked
            ),
        }
        figures = alternate(measures, wanted.rounds)
        what = f"p95 of {HOPS} hops from {name}"
        bound = Bound(P95_MS, at_least=False, of_ratio=False)
        report.rows.append(Row(what, "recursive statement", figures["peer"], figures["ours"], "ms", (bound,)))
        report.notes.append(
            f"{name}: {len(graph.nodes):,} nodes and {len(graph.edges):,} edges shown, {graph.truncated:,} "
            f"nodes counted beyond, {graph.hidden:,} hidden"
        )
    service.engine.dispose()


def _give_key(database: Database, pk: int) -> str:
    """Let an asset be found by its id."""
    from airflow_assets.schemas.rules import DEFAULT_TENANT, identity

    asset_id = f"a{pk}"
    key = identity(DEFAULT_TENANT, asset_id).hex()
    database.sql(f"UPDATE airflow_assets_asset SET asset_key = decode('{key}', 'hex') WHERE pk = {pk}")
    return asset_id


def outlets(report: Report, make: Callable[[], Database], wanted: argparse.Namespace) -> None:
    """Record the task in a young and in an old catalogue."""
    young, old = make(), make()
    services = {"peer": catalogue(young), "ours": catalogue(old)}
    for service in services.values():
        record(service, wanted.outlets, -1)
    for statement in ADD_HISTORY:
        old.sql(statement.format(count=wanted.history, outlets=wanted.outlets, first=10 * wanted.outlets))
    for database in (young, old):
        database.sql("VACUUM ANALYZE")
    measures: dict[str, Measure] = {
        name: lambda number, service=service: record(service, wanted.outlets, number)  # type: ignore[misc]
        for name, service in services.items()
    }
    figures = alternate(measures, wanted.rounds)
    bounds = (Bound(OUTLET_SECONDS, at_least=False, of_ratio=False), Bound(GROWTH, at_least=False))
    what = f"{wanted.outlets:,} outlets in one task, log of {wanted.history:,} events"
    report.rows.append(Row(what, "the same, empty log", figures["peer"], figures["ours"], "s", bounds))
    for service in services.values():
        service.engine.dispose()


def record(service: CatalogService, count: int, number: int) -> float:
    """Record run `number`, which writes every outlet anew; the seconds it took."""
    from airflow_assets.schemas.actors import Caller, Source, SourceKind
    from airflow_assets.schemas.assets import AssetInput
    from airflow_assets.schemas.lineage import Bundle, TaskRun, TaskRunRecord, TaskState

    place: dict[str, Any] = {"dag_id": "bench", "run_id": f"run_{number}", "task_id": "load", "try_number": 1}
    written = [
        AssetInput(
            id=f"out{n:05}", type="airflow_assets.types.Table", metadata={"rows": number + n, "tier": 2}
        )
        for n in range(count)
    ]
    body = TaskRunRecord(task=TaskRun(**place), state=TaskState.SUCCESS, bundles=[Bundle(outputs=written)])
    caller = Caller(source=Source(kind=SourceKind.TASK, map_index=-1, **place))
    began = time.perf_counter()
    result = service.record_task_run(caller, body)
    took = time.perf_counter() - began
    if result.duplicate or result.problems or len(result.stored) != count:
        raise RuntimeError(f"run {number} was not stored: {result.problems[:3]!r}")
    return took


def main() -> int:
    """Run the benchmark; 1 when a bound does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--assets", type=int, default=ASSETS)
    parser.add_argument("--edges", type=int, default=EDGES)
    parser.add_argument("--nodes", type=int, default=500, help="nodes of an answer")
    parser.add_argument("--outlets", type=int, default=OUTLETS)
    parser.add_argument("--history", type=int, default=HISTORY)
    parser.add_argument("--asked", type=int, default=ASKED, help="questions a round")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    wanted = parser.parse_args()
    title = f"Questions about lineage among {wanted.assets:,} assets and {wanted.edges:,} edges"
    report = Report("lineage", title, "python -m benchmarks.lineage", PACKAGES)
    with postgres() as make:
        database = make()
        report.facts["PostgreSQL"] = database.about()
        questions(report, database, wanted)
        outlets(report, make, wanted)
    return report.write()


if __name__ == "__main__":
    sys.exit(main())

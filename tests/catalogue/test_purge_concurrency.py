"""A purge beside writers, beside another purge, and killed in the middle."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from sqlalchemy import func, select

from airflow_assets.catalog import tables
from airflow_assets.catalog.engine import db_now
from tests.catalogue.test_concurrency import busy_sessions, deadlocks
from tests.support.catalog_log import add_events, add_lineage, add_reader, count
from tests.support.catalog_purges import EVERYTHING, kill_half_way, purge_again_and_again, steps
from tests.support.catalog_rows import add_assets
from tests.support.catalog_writers import record_overlapping, together
from tests.support.processes import wait_until

if TYPE_CHECKING:
    from airflow_assets.catalog.service import CatalogService

ASSETS = [{"id": f"a{n}", "metadata": {"n": n}} for n in range(300)]


def fill(service: CatalogService, events: int, lineage: int) -> None:
    with service.engine.begin() as conn:
        pks = add_assets(conn, ASSETS)
        add_events(conn, events, asset_pk=pks["a0"], asset_id="a0")
        add_lineage(conn, [(("a0", None, pks["a0"]), ("a1", None, pks["a1"]))] * lineage)


def test_a_purge_killed_half_way_goes_on_where_it_was(service: CatalogService, database_url: str) -> None:
    fill(service, 2_000, 50)
    with service.engine.begin() as conn:
        add_reader(conn, "dag", "slow", 1_900, db_now(conn))

    def left() -> int:
        with service.engine.connect() as conn:
            return count(conn, tables.event)

    told = kill_half_way(database_url, EVERYTHING, 400, done=lambda: 2_000 - left())
    wait_until(lambda: not busy_sessions(service), 60, "the killed purge's session")
    with service.engine.connect() as conn:
        usages, lineage, events = (
            count(conn, table) for table in (tables.usage, tables.lineage, tables.event)
        )
    assert 100 < events <= 1_600
    assert told <= 100 + 50 + (2_000 - events), "no record is told that is not gone"
    again = list(steps(service, EVERYTHING))
    sums = [
        sum(getattr(one, name) for one in again)
        for name in (
            "purged_asset_usages_count",
            "purged_asset_lineages_count",
            "purged_asset_events_count",
            "purged_assets_count",
        )
    ]
    assert sums == [usages, lineage, events - 100, 300]
    with service.engine.connect() as conn:
        kept = conn.scalars(select(tables.event.c.seq).where(tables.event.c.seq <= 2_050)).all()
        assert sorted(kept) == list(range(1_901, 2_001)), "what the reader needs is all there"


def test_two_purges_and_two_writers(service: CatalogService, database_url: str) -> None:
    """Writers lock overlapping assets in random order while two purges take everything from under them."""
    fill(service, 1_000, 100)
    before = deadlocks(service)
    jobs = [(record_overlapping, (seed, 12, 30, 10)) for seed in range(2)]
    answers = together(database_url, [*jobs, *[(purge_again_and_again, (3, 300))] * 2])
    assert answers[:2] == [12] * 2
    assert deadlocks(service) == before
    first, second = answers[2:]
    final = purge_again_and_again(service, 1, 10_000)
    purged = [sum(column) for column in zip(first, second, final, strict=True)]
    written = 2 * 12
    assert purged[1:3] == [200 + written * 12, 100 + written]
    with service.engine.connect() as conn:
        assert [count(conn, t) for t in (tables.asset, tables.usage)] == [0, 0]
        assert count(conn, tables.lineage) == written, "shells: a repeat of a young record finds it"
        last = conn.execute(select(func.max(tables.sequence.c.value))).scalar_one()
        left = count(conn, tables.event)
        # Each number of the log went to an event or a lineage event, and each is gone or here.
        assert purged[2] + purged[3] + left == last
        dangling = select(tables.edge.c.edge_key).where(
            tables.edge.c.source_pk.not_in(select(tables.purged_asset.c.asset_pk)),
            tables.edge.c.source_pk != 0,
        )
        assert conn.execute(dangling).all() == []
        for payload in conn.scalars(select(tables.event.c.payload)):
            assert json.loads(payload)["id"]

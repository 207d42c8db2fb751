"""No reader of the log that has seen number n ever finds a number <= n later, and none is missing.

Writers are real processes that commit all the time, the reader polls as fast as it can. That this can fail is kept
as a test of its own: with numbers taken early and committed at once, as an identity column or a database sequence
gives them, the reader misses events on PostgreSQL and MariaDB.
"""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

import pytest

from airflow_assets.catalog import engine as engine_module
from airflow_assets.catalog import write_set
from airflow_assets.catalog.log import last_seq, read_after
from airflow_assets.schemas.assets import AssetInput
from tests.support.catalog_writers import CALLER, record_overlapping, together

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection, Engine

    from airflow_assets.catalog.service import CatalogService

WRITERS = 5


class Follower:
    """Reads the log with a cursor, as the dispatcher does."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.seen: list[int] = []
        self.polls = 0

    def poll(self) -> bool:
        self.polls += 1
        with engine_module.read(self._engine) as conn:
            found = read_after(conn, "main", self.seen[-1] if self.seen else 0, 7)
        self.seen.extend(event.seq for event in found)
        return bool(found)

    def follow(self, ended: Callable[[], bool]) -> None:
        while not ended():
            self.poll()
        while self.poll():
            pass


def stored(engine: Engine) -> list[int]:
    with engine_module.read(engine) as conn:
        return [event.seq for event in read_after(conn, "main", 0, 1_000_000)]


def test_a_reader_sees_every_event_once_in_order(service: CatalogService, database_url: str) -> None:
    follower = Follower(service.engine)
    jobs = [(record_overlapping, (seed, 20, 40, 3)) for seed in range(WRITERS)]
    together(database_url, jobs, meanwhile=follower.follow)
    assert follower.polls > 20
    assert follower.seen == stored(service.engine)
    assert len(follower.seen) >= WRITERS * 20 * 5
    with engine_module.read(service.engine) as conn:
        assert last_seq(conn) >= follower.seen[-1]


def record_early(service: CatalogService, seed: int, records: int) -> int:
    """The mistake: numbers that are committed before the work, which then takes up to 30 ms."""
    real, other = write_set.take_numbers, engine_module.make_engine(service.engine.url, pool_size=1)

    def numbers_of_their_own(conn: Connection, count: int) -> int:
        with other.begin() as early:
            number = real(early, count)
        time.sleep(random.uniform(0, 0.03))  # noqa: S311 - any spread will do
        return number

    write_set.take_numbers = numbers_of_their_own
    for n in range(records):
        service.upsert_asset(CALLER, AssetInput(id=f"{seed}.{n}", type="T"))
    other.dispose()
    return records


def test_numbers_taken_early_are_seen_out_of_order(service: CatalogService, database_url: str) -> None:
    """The proof that the test above can fail. SQLite has one writer at a time and cannot make this mistake."""
    if service.engine.dialect.name == "sqlite":
        pytest.skip(
            "SQLite: a second writing transaction waits for the first, so numbers cannot be taken early"
        )
    follower = Follower(service.engine)
    together(database_url, [(record_early, (seed, 30)) for seed in range(WRITERS)], meanwhile=follower.follow)
    assert set(stored(service.engine)) - set(follower.seen), (
        "every event was seen although numbers came early"
    )

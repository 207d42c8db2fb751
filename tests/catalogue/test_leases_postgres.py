"""The short way to acquire and release on PostgreSQL: when it is taken, and that it sees what it waited for."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from sqlalchemy import text

from airflow_assets.catalog import leases, leases_release, tables
from airflow_assets.catalog.engine import make_engine
from airflow_assets.catalog.service import CatalogService
from airflow_assets.exceptions import AssetLocked
from airflow_assets.schemas.assets import AssetInput, AssetUpdate
from tests.support.lock_callers import Locks, task, with_tokens
from tests.support.processes import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Engine

ONE, OTHER = task("r1"), task("r2")


@pytest.fixture(scope="module")
def engine(postgres_url: str) -> Iterator[Engine]:
    made = make_engine(postgres_url)
    tables.metadata.create_all(made)
    yield made
    made.dispose()


@pytest.fixture
def locks(engine: Engine) -> Locks:
    with engine.begin() as conn:
        for table in reversed(tables.metadata.sorted_tables):
            conn.execute(table.delete())
    found = Locks(CatalogService(engine))
    found.service.create_asset(ONE, AssetInput(id="a", type="T"))
    return found


@pytest.fixture
def only_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the general way an error."""

    def fail(*_: Any, **__: Any) -> None:
        raise AssertionError("the general way was taken")

    for module in (leases, leases_release):
        monkeypatch.setattr(module, "lock_assets", fail)


@pytest.mark.usefixtures("only_short")
def test_the_usual_acquisition_refusal_and_release_are_short(locks: Locks) -> None:
    for number in range(1, 4):
        lease = locks.acquire(ONE, "a", ttl=60)
        assert (lease.fencing_token, lease.owner) == (number, "dag / r1")
        with pytest.raises(AssetLocked, match=r"'a' is locked by dag / r1 \(EXECUTION\)"):
            locks.acquire(OTHER, "a")
        assert locks.of("a") == lease
        token = number if number % 2 else None
        assert locks.release(with_tokens(ONE, a=token) if token else ONE, "a") == ["a"]
        assert locks.of("a") is None
    locks.acquire(ONE, "a")
    locks.expire("a")
    assert locks.acquire(OTHER, "a", wait_id=uuid4()).fencing_token == 5


@pytest.mark.parametrize("commits", [True, False])
def test_an_acquisition_sees_the_lease_that_it_waited_for(
    locks: Locks, engine: Engine, commits: bool
) -> None:
    """It begins while another transaction, not committed yet, makes the very first lease of the asset."""
    outcome: list[Any] = []

    def acquire() -> None:
        try:
            outcome.append(locks.acquire(OTHER, "a").fencing_token)
        except AssetLocked as error:
            outcome.append(error.members["owner"])

    with engine.connect() as first:
        transaction = first.begin()
        asset = tables.asset.c
        first.execute(tables.asset.select().where(asset.id == "a").with_for_update())
        thread = threading.Thread(target=acquire)
        thread.start()
        wait_until(lambda: _waiting(engine), 20, "the second acquisition waits")
        _lock_by_hand(first)
        (transaction.commit if commits else transaction.rollback)()
    thread.join(20)
    assert outcome == (["dag / r1"] if commits else [1])


def test_a_write_sees_the_lease_that_it_waited_for(locks: Locks, engine: Engine) -> None:
    outcome: list[str] = []

    def write() -> None:
        try:
            locks.service.update_asset(OTHER, "a", AssetUpdate(description="x"))
        except AssetLocked as error:
            outcome.append(error.members["owner"])

    with engine.connect() as first, first.begin():
        first.execute(tables.asset.select().where(tables.asset.c.id == "a").with_for_update())
        thread = threading.Thread(target=write)
        thread.start()
        wait_until(lambda: _waiting(engine), 20, "the write waits")
        _lock_by_hand(first)
    thread.join(20)
    assert outcome == ["dag / r1"]


def _waiting(engine: Engine) -> bool:
    """Whether somebody waits for a row lock in this database."""
    with engine.connect() as conn:
        found = conn.execute(
            text(
                "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
            )
        )
        return bool(found.scalar_one())


def _lock_by_hand(conn: Any) -> None:
    from datetime import timedelta

    from airflow_assets.catalog.engine import db_now
    from airflow_assets.catalog.leases_owner import Owner
    from airflow_assets.schemas.lease import LeaseScope
    from airflow_assets.schemas.rules import identity

    now, key = db_now(conn), identity("main", "a")
    until = now + timedelta(seconds=60)
    conn.execute(tables.asset.update().where(tables.asset.c.asset_key == key).values(lock_until=until))
    conn.execute(
        tables.lease.insert().values(
            asset_key=key, tenant="main", fencing=1, queued=False, acquired=now, locked_until=until,
            ttl=60_000_000, hold_after_run=False, **Owner.of(ONE, LeaseScope.RUN).columns(),
        )
    )  # fmt: skip

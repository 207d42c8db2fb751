"""Locks: who gets one, for how long, under which number, and who is next."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from airflow_assets.catalog import tables
from airflow_assets.catalog.engine import db_now
from airflow_assets.catalog.leases_owner import RUNS_ENDED
from airflow_assets.catalog.leases_queue import turns
from airflow_assets.exceptions import AssetLocked, AssetNotFound, InvalidRequest
from airflow_assets.schemas.actors import SourceKind
from airflow_assets.schemas.assets import AssetInput, AssetUpdate, Rename
from airflow_assets.schemas.leases import (
    AcquireLeases,
    ForcedUnlockQuery,
    ForceUnlock,
    LeaseQuery,
    LeaseScope,
    OwnerType,
)
from airflow_assets.schemas.queries import AssetQuery, FacetQuery
from tests.support.lock_callers import Locks, task, user, with_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from airflow_assets.catalog.service import CatalogService

ONE, OTHER = task("r1"), task("r2")


@pytest.fixture
def locks(service: CatalogService) -> Locks:
    for name in ("a", "b", "c"):
        service.create_asset(ONE, AssetInput(id=name, type="T"))
    return Locks(service)


@pytest.fixture
def ended(service: CatalogService) -> Iterator[set[tuple[str, str]]]:
    """Runs that have ended, as Airflow would tell."""
    found: set[tuple[str, str]] = set()
    service.engine.update_execution_options(**{RUNS_ENDED: lambda _conn, runs: found & set(runs)})
    yield found
    service.engine.update_execution_options(**{RUNS_ENDED: None})


def test_a_run_locks_and_the_lease_says_so(locks: Locks) -> None:
    lease = locks.acquire(task("r1", "load", attempt=2, index=3), "a", ttl=60)
    assert (lease.owner_type, lease.execution_id, lease.dag_id) == (OwnerType.EXECUTION, "r1", "dag")
    assert (lease.task_id, lease.map_index, lease.try_number, lease.user) == ("load", 3, 2, None)
    assert lease.fencing_token == 1
    assert lease.locked_until - lease.acquired == timedelta(seconds=60)
    with locks.service.engine.begin() as conn:
        assert abs(lease.acquired - db_now(conn)) < timedelta(seconds=10)
    assert locks.of("a") == lease
    assert locks.of("b") is None


def test_a_foreign_lock_is_refused_with_holder_and_expiry(locks: Locks) -> None:
    lease = locks.acquire(ONE, "a")
    with pytest.raises(AssetLocked, match=r"'a' is locked by dag / r1 \(EXECUTION\) until 20") as caught:
        locks.acquire(OTHER, "a")
    members = caught.value.members
    assert (members["asset_id"], members["owner"], members["owner_type"]) == ("a", "dag / r1", "EXECUTION")
    assert members["locked_until"].startswith(lease.locked_until.isoformat()[:19])
    with pytest.raises(AssetLocked):
        locks.acquire(user(), "a")


def test_the_same_run_extends_and_never_shortens(locks: Locks) -> None:
    first = locks.acquire(ONE, "a", ttl=60)
    longer = locks.acquire(task("r1", "another task", attempt=5), "a", ttl=600)
    assert longer.locked_until > first.locked_until + timedelta(seconds=500)
    assert (longer.fencing_token, longer.task_id, longer.acquired) == (1, "t", first.acquired)
    assert locks.acquire(ONE, "a", ttl=1).locked_until == longer.locked_until


def test_a_task_locks_for_its_map_index_alone(locks: Locks) -> None:
    mine = task("r1", index=0)
    lease = locks.acquire(mine, "a", scope=LeaseScope.TASK)
    assert (lease.owner_type, lease.owner) == (OwnerType.TASK, "dag.t[0] / r1")
    assert locks.acquire(mine, "a", scope=LeaseScope.TASK).fencing_token == 1
    for foreign in (task("r1", index=1), task("r1", "other"), ONE, OTHER):
        with pytest.raises(AssetLocked):
            locks.acquire(foreign, "a", scope=LeaseScope.TASK)
    with pytest.raises(AssetLocked):  # as the run it would not be alone
        locks.acquire(mine, "a", scope=LeaseScope.RUN)


def test_a_user_is_another_one_than_the_host_user_of_that_name(locks: Locks) -> None:
    lease = locks.acquire(user("ann"), "a")
    assert (lease.owner_type, lease.owner, lease.user) == (OwnerType.USER, "ann", "ann")
    assert locks.acquire(user("ann", SourceKind.UI), "a").fencing_token == 1
    for foreign in (user("bob"), user("ann", SourceKind.CLI), ONE):
        with pytest.raises(AssetLocked):
            locks.acquire(foreign, "a")


def test_what_has_run_out_is_taken_over_under_the_next_number(locks: Locks) -> None:
    assert locks.acquire(ONE, "a").fencing_token == 1
    locks.expire("a")
    assert locks.of("a") is None
    assert locks.acquire(OTHER, "a").fencing_token == 2
    assert locks.release(ONE, "a") == []
    assert locks.of("a") is not None


def test_who_comes_late_and_meets_nobody_goes_on_under_his_number(locks: Locks) -> None:
    locks.acquire(ONE, "a")
    locks.expire("a")
    assert locks.acquire(ONE, "a").fencing_token == 1


@pytest.mark.parametrize("change", ["retry", "clear"])
def test_a_retry_and_a_clear_are_the_same_owner_with_a_new_number(locks: Locks, change: str) -> None:
    before = task("r1", clear_number=0)
    after = task("r1", attempt=2, clear_number=0) if change == "retry" else task("r1", clear_number=1)
    assert locks.acquire(before, "a").fencing_token == 1
    assert locks.acquire(after, "a").fencing_token == 2
    with pytest.raises(AssetLocked, match="number 1; by now the asset's is 2"):
        locks.service.update_asset(with_tokens(before, a=1), "a", AssetUpdate(description="late"))
    with pytest.raises(AssetLocked):
        locks.acquire(with_tokens(before, a=1), "a")
    assert locks.release(with_tokens(before, a=1), "a") == []
    # A renewal shows its number, and is none of these.
    assert locks.acquire(with_tokens(task("r1", attempt=2, clear_number=7), a=2), "a").fencing_token == 2


def test_release(locks: Locks) -> None:
    locks.acquire(ONE, "a", "b")
    assert locks.release(OTHER, "a", "b") == []
    assert locks.release(user(), "a") == []
    assert locks.release(task("r1", "any task of the run"), "b", "c", "nowhere", "a") == ["b", "a"]
    assert locks.release(ONE, "a") == []
    assert locks.of("a") is None
    assert locks.acquire(OTHER, "a").fencing_token == 2


def test_numbers_grow_over_release_deletion_revival_and_rename(locks: Locks) -> None:
    service = locks.service
    assert locks.acquire(ONE, "a").fencing_token == 1
    service.delete_asset(ONE, "a")
    with pytest.raises(AssetNotFound):
        locks.acquire(OTHER, "a")
    assert locks.acquire(ONE, "a").fencing_token == 1  # its holder may still extend it
    with pytest.raises(AssetLocked):  # the deletion keeps the lease
        service.create_asset(OTHER, AssetInput(id="a", type="T"))
    service.create_asset(ONE, AssetInput(id="a", type="T"))
    locks.release(ONE, "a")
    assert locks.acquire(OTHER, "a").fencing_token == 2
    service.rename_asset(OTHER, Rename(old_id="a", new_id="z"))
    assert locks.of("z") == locks.of("a")
    assert locks.acquire(OTHER, "a").asset_id == "z"
    with pytest.raises(AssetLocked, match="'z' is locked by dag / r2"):
        locks.acquire(ONE, "a")
    locks.release(OTHER, "a")
    assert locks.acquire(ONE, "z").fencing_token == 3
    service.delete_asset(ONE, "z")
    locks.release(ONE, "z")
    service.create_asset(ONE, AssetInput(id="a", type="T"))  # takes its former id back
    assert locks.acquire(ONE, "a").fencing_token == 3


def test_numbers_grow_over_purge_and_re_creation(locks: Locks) -> None:
    service = locks.service
    locks.acquire(ONE, "a")
    locks.release(ONE, "a")
    with service.engine.begin() as conn:  # what a purge leaves: no asset, its lease
        conn.execute(tables.asset.delete().where(tables.asset.c.id == "a"))
    with pytest.raises(AssetNotFound):
        locks.acquire(ONE, "a")
    stale = with_tokens(ONE, a=0)
    with pytest.raises(AssetLocked, match="number 0; by now the asset's is 1"):
        service.create_asset(stale, AssetInput(id="a", type="T"))
    service.create_asset(with_tokens(ONE, a=1), AssetInput(id="a", type="T"))
    assert locks.acquire(OTHER, "a").fencing_token == 2


def test_a_rename_onto_a_name_with_a_larger_number_keeps_the_larger(locks: Locks) -> None:
    service = locks.service
    for _ in range(3):
        locks.acquire(ONE, "b")
        locks.release(ONE, "b")
    with service.engine.begin() as conn:
        conn.execute(tables.asset.delete().where(tables.asset.c.id == "b"))
    assert locks.acquire(ONE, "a").fencing_token == 1
    service.rename_asset(ONE, Rename(old_id="a", new_id="b"))
    with pytest.raises(AssetLocked):
        service.update_asset(with_tokens(ONE, a=1), "a", AssetUpdate(description="x"))
    held = locks.of("b")
    assert held is not None
    assert held.fencing_token == 3


def test_all_or_none(locks: Locks) -> None:
    locks.acquire(OTHER, "b")
    with pytest.raises(AssetLocked, match="'b'"):
        locks.acquire(ONE, "a", "b", "c")
    assert locks.of("a") is None
    assert locks.of("c") is None
    with pytest.raises(AssetNotFound, match="'nowhere'"):
        locks.acquire(ONE, "a", "nowhere")
    assert locks.of("a") is None
    granted = locks.service.acquire_leases(ONE, AcquireLeases(asset_ids=["c", "a", "c"]))
    assert [lease.asset_id for lease in granted.leases] == ["c", "a"]


@pytest.mark.parametrize("ttl", ["PT0.9S", "PT24H0.1S", 0, -5, "P1M", "soon", None])
def test_a_ttl_is_one_second_to_one_day(ttl: object) -> None:
    with pytest.raises(InvalidRequest, match="1 second to 24 hours"):
        AcquireLeases.model_validate({"asset_ids": ["a"], "ttl": ttl})


def test_what_a_request_may_hold() -> None:
    assert AcquireLeases.model_validate({"asset_ids": ["a"], "ttl": "PT24H"}).to_json()["ttl"] == "P1D"
    assert AcquireLeases(asset_ids=["a"]).ttl == timedelta(minutes=5)
    with pytest.raises(InvalidRequest, match="1 to 100"):
        AcquireLeases(asset_ids=[f"a{n}" for n in range(101)])
    with pytest.raises(InvalidRequest, match="1 to 100"):
        AcquireLeases(asset_ids=[])
    for reason in ("", "  ", "x" * 1_001):
        with pytest.raises(InvalidRequest, match="reason"):
            ForceUnlock(asset_id="a", reason=reason)


def test_the_lock_of_an_ended_run_is_free_at_once(locks: Locks, ended: set[tuple[str, str]]) -> None:
    locks.acquire(ONE, "a")
    locks.acquire(task("r1", index=4), "b", scope=LeaseScope.TASK)
    locks.acquire(ONE, "c", hold_after_run=True)
    with pytest.raises(AssetLocked):
        locks.acquire(OTHER, "a")
    ended.add(("dag", "r1"))
    assert locks.of("a") is None
    assert [lease.asset_id for lease in locks.service.list_leases(ONE, LeaseQuery()).items] == ["c"]
    locks.service.update_asset(OTHER, "a", AssetUpdate(description="written"))
    assert locks.acquire(OTHER, "a").fencing_token == 2
    assert locks.acquire(OTHER, "b").fencing_token == 2
    with pytest.raises(AssetLocked):
        locks.acquire(OTHER, "c")


def test_first_come_first_served(locks: Locks) -> None:
    locks.acquire(ONE, "a")
    first, second = uuid4(), uuid4()
    for run, wait in (("w1", first), ("w2", second)):
        with pytest.raises(AssetLocked, match="locked by dag / r1"):
            locks.acquire(task(run), "a", wait_id=wait)
    locks.release(ONE, "a")
    with pytest.raises(AssetLocked, match="'a' is free, and 1 came earlier"):
        locks.acquire(task("w2"), "a", wait_id=second)
    with pytest.raises(AssetLocked, match="2 came earlier"):
        locks.acquire(OTHER, "a")
    assert locks.acquire(task("w1"), "a", wait_id=first).fencing_token == 2
    locks.release(task("w1"), "a")
    assert locks.acquire(task("w2"), "a", wait_id=second).fencing_token == 3
    locks.release(task("w2"), "a")
    assert locks.acquire(OTHER, "a").fencing_token == 4
    with locks.service.engine.connect() as conn:
        assert conn.execute(tables.waiter.select()).all() == []


def test_who_does_not_come_back_loses_his_place(locks: Locks) -> None:
    locks.acquire(ONE, "a")
    gone, waiting = uuid4(), uuid4()
    for run, wait in (("w1", gone), ("w2", waiting)):
        with pytest.raises(AssetLocked):
            locks.acquire(task(run), "a", wait_id=wait)
    locks.release(ONE, "a")
    locks.forget_waiter(gone)
    assert locks.acquire(task("w2"), "a", wait_id=waiting).fencing_token == 2
    with pytest.raises(AssetLocked):
        locks.acquire(task("w1"), "a", wait_id=gone)
    locks.release(task("w2"), "a")
    locks.release(task("w1"), "a", wait_id=gone)  # gives up
    assert locks.acquire(OTHER, "a").fencing_token == 3


def test_the_holder_extends_past_those_who_wait(locks: Locks) -> None:
    locks.acquire(ONE, "a")
    with pytest.raises(AssetLocked):
        locks.acquire(OTHER, "a", wait_id=uuid4())
    assert locks.acquire(ONE, "a", ttl=600).fencing_token == 1
    locks.expire("a")
    with pytest.raises(AssetLocked, match="1 came earlier"):
        locks.acquire(ONE, "a")


def test_a_wait_for_several_is_in_all_their_queues(locks: Locks) -> None:
    locks.acquire(ONE, "a")
    both, one = uuid4(), uuid4()
    with pytest.raises(AssetLocked, match="'a' is locked"):
        locks.acquire(task("w1"), "a", "b", wait_id=both)
    with pytest.raises(AssetLocked, match="'b' is free, and 1 came earlier"):
        locks.acquire(task("w2"), "b", "c", wait_id=one)
    locks.release(ONE, "a")
    with locks.service.engine.begin() as conn:
        assert turns(conn, [str(both), str(one), "unknown"]) == {str(both), "unknown"}
    locks.acquire(task("w1"), "a", "b", wait_id=both)
    with locks.service.engine.begin() as conn:
        assert turns(conn, [str(one)]) == set()
    locks.release(task("w1"), "a", "b")
    with locks.service.engine.begin() as conn:
        assert turns(conn, [str(one)]) == {str(one)}
    locks.acquire(task("w2"), "b", "c", wait_id=one)


def test_a_look_after_waiters_keeps_their_places(locks: Locks, ended: set[tuple[str, str]]) -> None:
    locks.acquire(ONE, "a")
    wait = uuid4()
    with pytest.raises(AssetLocked):
        locks.acquire(OTHER, "a", wait_id=wait)
    locks.forget_waiter(wait)
    with locks.service.engine.begin() as conn:
        assert turns(conn, [str(wait)]) == set()
    ended.add(("dag", "r1"))
    with locks.service.engine.begin() as conn:
        assert turns(conn, [str(wait)]) == {str(wait)}
    with pytest.raises(AssetLocked, match="1 came earlier"):
        locks.acquire(task("r3"), "a")
    locks.acquire(OTHER, "a", wait_id=wait)


def test_forced_unlock_is_recorded_and_fences_the_holder(locks: Locks) -> None:
    service = locks.service
    lease = locks.acquire(ONE, "a")
    done = service.force_unlock(user("boss"), ForceUnlock(asset_id="a", reason=" hangs "))
    assert done.unlocked is not None
    assert (done.unlocked.reason, done.unlocked.source.user, done.unlocked.lease) == ("hangs", "boss", lease)
    with pytest.raises(AssetLocked, match="number 1; by now the asset's is 2"):
        service.update_asset(with_tokens(ONE, a=1), "a", AssetUpdate(description="x"))
    service.update_asset(OTHER, "a", AssetUpdate(description="y"))
    assert service.force_unlock(user("boss"), ForceUnlock(asset_id="a", reason="again")).unlocked is None
    service.rename_asset(OTHER, Rename(old_id="a", new_id="z"))
    locks.acquire(ONE, "b")
    service.force_unlock(user("boss"), ForceUnlock(asset_id="b", reason="too"))
    page = service.list_forced_unlocks(user(), ForcedUnlockQuery(limit=1))
    rest = service.list_forced_unlocks(user(), ForcedUnlockQuery(limit=1, cursor=page.next_cursor))
    assert [one.reason for one in (*page.items, *rest.items)] == ["too", "hangs"]
    for name in ("a", "z"):
        assert service.list_forced_unlocks(user(), ForcedUnlockQuery(asset_id=name)).items == [done.unlocked]
    with pytest.raises(AssetNotFound):
        service.force_unlock(user(), ForceUnlock(asset_id="nowhere", reason="x"))


def test_listings_show_locks(locks: Locks) -> None:
    service = locks.service
    locks.acquire(ONE, "b")
    locks.acquire(user(), "a")
    locks.acquire(ONE, "c")
    locks.release(ONE, "c")
    page = service.list_leases(user(), LeaseQuery(limit=1))
    rest = service.list_leases(user(), LeaseQuery(limit=1, cursor=page.next_cursor))
    assert [one.asset_id for one in (*page.items, *rest.items)] == ["b", "a"]
    assert rest.next_cursor is None
    assert [one.owner for one in service.list_leases(user(), LeaseQuery(asset_id="a")).items] == ["ann"]
    found = {one.id: one.lock for one in service.search_assets(user(), AssetQuery()).items}
    assert {name: lock and lock.owner for name, lock in found.items()} == {
        "a": "ann", "b": "dag / r1", "c": None,
    }  # fmt: skip
    for wanted, ids in ((True, ["a", "b"]), (False, ["c"])):
        assert [one.id for one in service.search_assets(user(), AssetQuery(locked=wanted)).items] == ids
        assert service.facets(user(), FacetQuery(facets=["type"], locked=wanted)).total == len(ids)


def test_hidden_assets_are_neither_locked_nor_listed(locks: Locks) -> None:
    service = locks.service
    service.create_asset(ONE, AssetInput(id="h", type="T", namespace="closed"))
    locks.acquire(ONE, "h")
    service.force_unlock(ONE, ForceUnlock(asset_id="h", reason="r"))
    locks.acquire(ONE, "h")
    stranger = user("eve", hidden_namespaces=("closed",))
    with pytest.raises(AssetNotFound):
        locks.acquire(stranger, "h")
    with pytest.raises(AssetNotFound):
        service.force_unlock(stranger, ForceUnlock(asset_id="h", reason="r"))
    assert service.list_leases(stranger, LeaseQuery()).items == []
    assert service.list_forced_unlocks(stranger, ForcedUnlockQuery()).items == []


def test_locks_leave_no_trace_in_log_and_times(locks: Locks) -> None:
    before = locks.stored("a")
    locks.acquire(ONE, "a")
    locks.release(ONE, "a")
    assert locks.stored("a") == before


def test_a_trigger_or_dag_file_holds_no_lock(locks: Locks) -> None:
    with pytest.raises(InvalidRequest, match="cannot hold a lock"):
        locks.acquire(user("trigger:7", SourceKind.TRIGGER), "a")

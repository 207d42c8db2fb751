"""`with asset_lock(...)` on the real catalogue in process; on a real Airflow it runs in tests/airflow."""

from __future__ import annotations

import threading
import time
from datetime import datetime, timedelta, timezone

import pytest

from airflow_assets.client import get_client
from airflow_assets.client.fencing import current_tokens
from airflow_assets.exceptions import AssetLocked, AssetNotFound, InvalidRequest
from airflow_assets.locks import LockLost, asset_lock, fenced
from airflow_assets.schemas.assets import AssetInput, AssetUpdate
from airflow_assets.schemas.leases import AcquireLeases, ForceUnlock, ReleaseLeases
from tests.support.local_catalog import catalog
from tests.support.processes import wait_until
from tests.support.task_identity import elsewhere, in_task

__all__ = ["catalog"]


@pytest.fixture(autouse=True)
def assets(catalog) -> None:
    for asset_id in ("a", "b"):
        get_client().create_asset(AssetInput(id=asset_id, type="T"))


def write(asset_id: str = "a", **metadata) -> None:
    get_client().update_asset(asset_id, AssetUpdate(metadata=metadata))


def acquire(*asset_ids: str) -> None:
    get_client().acquire_leases(AcquireLeases(asset_ids=list(asset_ids)))


def enter(asset_id: str | list[str] = "a", **arguments) -> None:
    with asset_lock(asset_id, **arguments):
        pass


def owner(asset_id: str = "a") -> str | None:
    lock = get_client().get_asset(asset_id).lock
    return lock.owner if lock else None


def force(asset_id: str = "a") -> None:
    elsewhere(lambda: get_client().force_unlock(ForceUnlock(asset_id=asset_id, reason="test")))


def test_it_is_held_inside_and_free_outside() -> None:
    with in_task(), asset_lock("a") as lock:
        assert owner() == "d.t / r1"
        assert lock.fencing_token == lock.tokens["a"] == get_client().get_asset("a").lock.fencing_token
        assert timedelta(minutes=4) < lock.locked_until - datetime.now(timezone.utc) <= timedelta(minutes=5)
        write(by="holder")
        with pytest.raises(AssetLocked, match=r"'a' is locked by d\.t / r1"):
            elsewhere(lambda: write(by="other"))
    assert owner() is None
    assert get_client().get_asset("a").metadata == {"by": "holder"}


def test_every_tenure_has_a_larger_number() -> None:
    numbers = []
    for run in ("r1", "r2", "r1"):
        with in_task(run), asset_lock("a") as lock:
            numbers.append(lock.fencing_token)
    assert numbers == sorted(set(numbers))


def test_several_are_locked_all_or_none() -> None:
    with in_task("r1"), asset_lock("b"):
        with pytest.raises(AssetLocked, match="'b'"):
            elsewhere(lambda: enter(["a", "b"]))
        assert owner("a") is None
    with in_task("r2"), asset_lock(["a", "b"]) as lock:
        assert set(lock.tokens) == {"a", "b"}
        with pytest.raises(InvalidRequest, match="2 fencing numbers"):
            _ = lock.fencing_token
    assert (owner("a"), owner("b")) == (None, None)


def test_the_mapped_tasks_of_a_run_exclude_each_other() -> None:
    with in_task(map_index=0), asset_lock("a"), pytest.raises(AssetLocked, match=r"d\.t\[0\]"):
        elsewhere(enter, "r1", map_index=1)


def test_an_inner_block_leaves_the_outer_ones_lock_alone() -> None:
    with in_task(), asset_lock("a") as outer:
        with asset_lock(["a", "b"]) as inner:
            assert inner.tokens["a"] == outer.fencing_token
        assert (owner("a"), owner("b")) == ("d.t / r1", None)
        write()
    assert owner("a") is None


def test_a_loop_that_never_pauses_keeps_it() -> None:
    with in_task(), asset_lock("a", ttl=1) as lock:
        begun, number = time.monotonic(), 0
        while time.monotonic() - begun < 3.5:
            number += 1
        assert owner() == "d.t / r1"
        write(number=number)
        lock.check()


def test_a_lock_that_was_taken_by_force_stops_the_next_write_and_the_task() -> None:
    def body() -> None:
        with in_task(), asset_lock("a") as lock:
            force()
            with pytest.raises(LockLost, match="'a' is lost"):
                write(by="loser")
            assert lock.lost
            with pytest.raises(LockLost):
                write("b", by="loser")
            assert get_client().get_asset("a").metadata == {}, "reads go on"

    with pytest.raises(LockLost, match="'a' is lost"):
        body()
    assert get_client().get_asset("a").metadata == get_client().get_asset("b").metadata == {}


def test_a_lock_that_was_lost_unnoticed_is_told_on_leaving() -> None:
    def body() -> None:
        with in_task(), asset_lock("a"):
            force()
            elsewhere(lambda: acquire("a"))

    with pytest.raises(LockLost, match="removed by force"):
        body()
    assert owner() == "d / r2", "what somebody else holds by now is not released"


def test_the_thread_notices_the_loss_by_itself() -> None:
    def body() -> None:
        with in_task(), asset_lock("a", ttl=1) as lock:
            force()
            elsewhere(lambda: acquire("a"))
            wait_until(lambda: lock.lost, 10, "the renewal to be refused")
            lock.check()

    with pytest.raises(LockLost, match="by now the asset's is 3"):
        body()


def test_a_lock_that_cannot_be_renewed_in_time_is_lost(monkeypatch) -> None:
    """In process there is no connection to cut: a double stands for the catalogue that is away."""
    from airflow_assets.client import in_process
    from airflow_assets.exceptions import CatalogUnavailable

    call = in_process.InProcessTransport.call
    down = threading.Event()

    def maybe(self, operation, *arguments):
        if down.is_set():
            raise CatalogUnavailable("down")
        return call(self, operation, *arguments)

    monkeypatch.setattr(in_process.InProcessTransport, "call", maybe)

    def body() -> None:
        with in_task(), asset_lock("a", ttl=1) as lock:
            down.set()
            assert not lock.lost
            wait_until(lambda: lock.lost, 10, "the ttl to pass")

    with pytest.raises(LockLost, match="could not be renewed for 1 s"):
        body()


def test_a_renewal_that_failed_is_tried_again_soon(monkeypatch) -> None:
    """A double stands for the catalogue that is away, as above."""
    from airflow_assets.client import in_process
    from airflow_assets.exceptions import CatalogUnavailable

    call, outages = in_process.InProcessTransport.call, [CatalogUnavailable("away")] * 2

    def maybe(self, operation, *arguments):
        if (
            operation.name == "acquire_leases"
            and outages
            and threading.current_thread().name.startswith("renewal")
        ):
            raise outages.pop()
        return call(self, operation, *arguments)

    monkeypatch.setattr("airflow_assets.locks.SOON", 0.1)
    monkeypatch.setattr(in_process.InProcessTransport, "call", maybe)
    with in_task(), asset_lock("a", ttl=3) as lock:
        before = lock.locked_until
        wait_until(lambda: lock.locked_until > before, 3, "the renewal to succeed at last")
    assert not outages


def test_the_bodys_own_error_is_the_one_that_counts() -> None:
    def body() -> None:
        with in_task(), asset_lock("a"):
            force()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        body()
    assert owner() is None


def test_it_waits_for_its_turn(monkeypatch) -> None:
    monkeypatch.setattr("airflow_assets.client.locking.FIRST_POLL", 0.05)
    order: list[str] = []

    def wait(run: str) -> None:
        with in_task(run), asset_lock("a", wait=True, timeout="PT30S"):
            order.append(run)

    with in_task("r0"), asset_lock("a"):
        threads = []
        for run in ("r1", "r2", "r3"):
            threads.append(threading.Thread(target=wait, args=(run,)))
            threads[-1].start()
            time.sleep(0.3)  # the order of arrival is what is tested
        assert order == []
    for thread in threads:
        thread.join(30)
    assert order == ["r1", "r2", "r3"]


def test_it_gives_up_after_the_timeout_and_leaves_the_queue() -> None:
    with in_task("r0"), asset_lock("a"), pytest.raises(AssetLocked, match=r"waited for, for 0\.3 s"):
        elsewhere(lambda: enter(wait=True, timeout=0.3), "r1")
    with in_task("r2"), asset_lock("a"):
        assert owner() == "d.t / r2"


def test_numbers_from_elsewhere_go_with_the_writes_of_a_block() -> None:
    with in_task("r1"), asset_lock("a") as old:
        pass
    elsewhere(enter)
    with in_task("r1"), fenced(old.tokens):
        assert current_tokens() == old.tokens
        with pytest.raises(AssetLocked, match="by now the asset's is"):
            write(by="late")
    elsewhere(lambda: write(by="anybody"), "r1")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"ttl": "PT0.5S"}, "1 second to 24 hours"),
        ({"ttl": "soon"}, "no duration"),
        ({"scope": "dag"}, "neither run nor task"),
        ({"wait": True, "timeout": -1}, "no time to wait"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_asked(arguments, words) -> None:
    with pytest.raises(InvalidRequest, match=words):
        asset_lock("a", **arguments)


def test_only_an_asset_that_is_there_can_be_locked() -> None:
    with in_task(), pytest.raises(AssetNotFound):
        enter("nobody")


def test_a_task_does_not_wait_for_its_own_run() -> None:
    with in_task("r1", "first"):
        acquire("a")
    with in_task("r1", "second"), pytest.raises(AssetLocked, match="own run holds it"):
        enter("a", wait=True)
    assert owner() == "d / r1"
    with in_task("r1", "first"):
        get_client().release_leases(ReleaseLeases(asset_ids=["a"]))
    elsewhere(enter)
    with in_task("r1", "second"), asset_lock("a", wait=True, scope="run"):
        assert owner() == "d / r1"


def test_a_block_under_a_lost_lock_does_not_wait_for_ever() -> None:
    def body() -> None:
        with in_task(), asset_lock("a"):
            force()
            enter("a", wait=True)

    with pytest.raises(AssetLocked, match="by now the asset's is 2"):
        body()

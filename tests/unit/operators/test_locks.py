"""The operators of locks on the real catalogue in process; how they wait in Airflow is shown in tests/airflow."""

from __future__ import annotations

import asyncio
import inspect
from datetime import timedelta

import pytest
from airflow.sdk.exceptions import TaskDeferred

from airflow_assets import operators
from airflow_assets.client import get_client
from airflow_assets.exceptions import AssetLocked, AssetNotFound, InvalidAsset, InvalidRequest
from airflow_assets.operators import (
    AcquireAssetLockOperator,
    DeleteAssetOperator,
    ReleaseAssetLockOperator,
    SetAssetOperator,
)
from airflow_assets.schemas.assets import AssetInput, AssetUpdate
from airflow_assets.schemas.leases import AcquireLeases
from airflow_assets.triggers.locks import LockTrigger
from tests.support.task_identity import elsewhere, in_task, task

TIME_IS_OVER = {"error": "Trigger timeout"}


@pytest.fixture(autouse=True)
def assets(catalog) -> None:
    for asset_id in ("a", "b"):
        get_client().create_asset(AssetInput(id=asset_id, type="T"))


def run(kind, run_id: str = "r1", **arguments):
    from airflow_assets.client.identity import acting_as

    ti = task(run_id)
    with acting_as(ti):
        return kind(task_id="t", **arguments).execute({"ti": ti})


def acquire(*asset_ids: str, ttl: str = "PT5M") -> None:
    get_client().acquire_leases(AcquireLeases(asset_ids=list(asset_ids), ttl=ttl))


@pytest.mark.parametrize("kind", [AcquireAssetLockOperator, ReleaseAssetLockOperator])
def test_every_argument_is_a_template_field(kind) -> None:
    own = {
        name
        for cls in kind.__mro__
        if cls.__module__.startswith("airflow_assets.")
        for name, parameter in inspect.signature(cls.__init__).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }
    assert own == set(kind.template_fields)


def test_the_short_names_are_the_same_classes() -> None:
    assert operators.Acquire is AcquireAssetLockOperator
    assert operators.Release is ReleaseAssetLockOperator


def test_acquire_gives_the_contracts_outputs() -> None:
    outputs = run(AcquireAssetLockOperator, asset_id="a", ttl="PT15M")
    lock = get_client().get_asset("a").lock
    assert outputs == {
        "lockedUntil": lock.to_json()["lockedUntil"],
        "ownerType": "EXECUTION",
        "executionId": "r1",
        "fencingToken": lock.fencing_token,
        "fencingTokens": {"a": lock.fencing_token},
    }
    assert lock.ttl == timedelta(minutes=15)
    assert AcquireAssetLockOperator(task_id="t", asset_id="a").multiple_outputs


def test_a_list_is_locked_as_one() -> None:
    outputs = run(AcquireAssetLockOperator, asset_id=["b", "a"], scope="task", hold_after_run="true")
    assert (outputs["fencingToken"], outputs["ownerType"]) == (None, "TASK")
    assert set(outputs["fencingTokens"]) == {"a", "b"}
    assert get_client().get_asset("a").lock.hold_after_run
    with pytest.raises(AssetLocked):
        run(AcquireAssetLockOperator, "r2", asset_id=["a"])


def test_release_frees_only_its_own() -> None:
    run(AcquireAssetLockOperator, "r1", asset_id=["a", "b"])
    for run_id, left in (("r2", True), ("r1", False), ("r1", False)):
        assert run(ReleaseAssetLockOperator, run_id, asset_id=["a", "b"]) is None
        assert (get_client().get_asset("a").lock is not None) is left
    assert run(ReleaseAssetLockOperator, asset_id="nobody") is None


def test_without_wait_a_conflict_fails_and_names_the_holder() -> None:
    elsewhere(lambda: acquire("a"))
    with pytest.raises(AssetLocked, match=r"'a' is locked by d / r2 \(EXECUTION\) until 20"):
        run(AcquireAssetLockOperator, asset_id="a")
    with pytest.raises(AssetNotFound):
        run(AcquireAssetLockOperator, asset_id="nobody", wait=True)


def test_waiting_defers_and_goes_on_with_the_same_place() -> None:
    from airflow_assets.client.identity import acting_as

    elsewhere(lambda: acquire("a"))
    ti = task("r1")
    operator = AcquireAssetLockOperator(task_id="t", asset_id="a", wait=True, timeout="PT10M")
    with acting_as(ti):
        with pytest.raises(TaskDeferred) as first:
            operator.execute({"ti": ti})
        assert (first.value.timeout, first.value.method_name) == (timedelta(minutes=10), "resumed")
        assert isinstance(first.value.trigger, LockTrigger)
        path, arguments = first.value.trigger.serialize()
        assert path == "airflow_assets.triggers.locks.LockTrigger"
        assert arguments["wait_id"] == str(ti.id)
        assert LockTrigger(**arguments).serialize() == (path, arguments)
        # Woken too early, it waits for the rest of its time.
        with pytest.raises(TaskDeferred) as second:
            operator.resumed({"ti": ti}, {"waited": 60.0}, **first.value.kwargs)
        assert second.value.timeout == timedelta(minutes=9)
    with pytest.raises(AssetLocked, match="1 came earlier"):
        elsewhere(lambda: _release_and_acquire("a"), "r2")
    with acting_as(ti):
        outputs = operator.resumed({"ti": ti}, {"waited": 1.0}, **second.value.kwargs)
    assert outputs["executionId"] == "r1"


def _release_and_acquire(asset_id: str) -> None:
    run(ReleaseAssetLockOperator, "r2", asset_id=asset_id)
    run(AcquireAssetLockOperator, "r3", asset_id=asset_id)


def test_when_the_time_is_over_it_tries_a_last_time_and_leaves_the_queue() -> None:
    from airflow_assets.client.identity import acting_as

    elsewhere(lambda: acquire("a"))
    ti = task("r1")
    operator = AcquireAssetLockOperator(task_id="t", asset_id="a", wait=True, timeout=30)
    with acting_as(ti), pytest.raises(TaskDeferred):
        operator.execute({"ti": ti})
    with acting_as(ti), pytest.raises(AssetLocked, match="waited for, for 30 s"):
        operator.resume_execution("__fail__", dict(TIME_IS_OVER), {"ti": ti})
    run(ReleaseAssetLockOperator, "r2", asset_id="a")
    assert run(AcquireAssetLockOperator, "r3", asset_id="a")["executionId"] == "r3"

    late = task("r4")
    with acting_as(late), pytest.raises(TaskDeferred):
        operator.execute({"ti": late})
    run(ReleaseAssetLockOperator, "r3", asset_id="a")
    with acting_as(late):
        outputs = operator.resume_execution("__fail__", dict(TIME_IS_OVER), {"ti": late})
    assert outputs["executionId"] == "r4"


def test_a_failing_trigger_fails_the_task() -> None:
    from airflow.sdk.exceptions import TaskDeferralError

    operator = AcquireAssetLockOperator(task_id="t", asset_id="a", wait=True)
    with pytest.raises(TaskDeferralError, match="broken"):
        operator.resume_execution("__fail__", {"error": "broken"}, {"ti": task()})


def test_set_and_delete_may_carry_a_number() -> None:
    old = run(AcquireAssetLockOperator, "r1", asset_id="a")["fencingToken"]
    run(ReleaseAssetLockOperator, "r1", asset_id="a")
    new = run(AcquireAssetLockOperator, "r2", asset_id="a")["fencingToken"]
    run(ReleaseAssetLockOperator, "r2", asset_id="a")
    assert new > old
    with pytest.raises(AssetLocked, match="by now the asset's is"):
        run(DeleteAssetOperator, asset_id="a", fencing_token=old)
    run(DeleteAssetOperator, asset_id="a", fencing_token=str(new))
    with pytest.raises(AssetLocked, match="by now the asset's is"):
        run(SetAssetOperator, asset_id="a", asset_type="T", fencing_token=old)
    run(SetAssetOperator, asset_id="a", asset_type="T", fencing_token="")
    with in_task("r1"):
        get_client().update_asset("a", AssetUpdate(metadata={"k": 1}))


@pytest.mark.parametrize(
    ("kind", "arguments", "error", "words"),
    [
        (AcquireAssetLockOperator, {"asset_id": ""}, InvalidAsset, "id is empty"),
        (AcquireAssetLockOperator, {"asset_id": []}, InvalidRequest, "a list of ids"),
        (AcquireAssetLockOperator, {"asset_id": "a", "ttl": "PT25H"}, InvalidRequest, "1 second to 24 hours"),
        (AcquireAssetLockOperator, {"asset_id": "a", "ttl": timedelta(0)}, InvalidRequest, "out of range"),
        (AcquireAssetLockOperator, {"asset_id": "a", "scope": "dag"}, InvalidRequest, "neither run nor task"),
        (AcquireAssetLockOperator, {"asset_id": "a", "wait": "perhaps"}, InvalidRequest, "wait must be true"),
        (AcquireAssetLockOperator, {"asset_id": "a", "timeout": "long"}, InvalidRequest, "no time to wait"),
        (ReleaseAssetLockOperator, {"asset_id": 7}, InvalidRequest, "a list of ids"),
        (DeleteAssetOperator, {"asset_id": "a", "fencing_token": 0}, InvalidRequest, "whole number from 1"),
    ],
)
def test_a_wrong_constant_is_said_when_the_dag_is_parsed(kind, arguments, error, words) -> None:
    with pytest.raises(error, match=words):
        kind(task_id="t", **arguments)


def test_templates_are_checked_in_the_run() -> None:
    operator = AcquireAssetLockOperator(
        task_id="t", asset_id="{{ i }}", ttl="{{ t }}", scope="{{ s }}", wait="{{ w }}", timeout="{{ o }}"
    )
    operator.asset_id, operator.ttl, operator.scope = "a", "PT1H", "task"
    operator.wait, operator.timeout = "False", ""
    with in_task():
        assert operator.execute({"ti": task()})["ownerType"] == "TASK"
    operator.ttl = "P2D"
    with in_task(), pytest.raises(InvalidRequest, match="P2D"):
        operator.execute({"ti": task()})


def test_the_trigger_fires_when_the_turn_may_have_come_and_bears_an_outage(monkeypatch) -> None:
    """An outage is played by a double, since in process there is no connection to cut."""
    from airflow_assets.client import in_process
    from airflow_assets.client.identity import acting_as
    from airflow_assets.exceptions import CatalogUnavailable

    call, outage = in_process.InProcessTransport.call, [CatalogUnavailable("away")]

    def once_away(self, operation, *arguments):
        if operation.name == "wait_leases" and outage:
            raise outage.pop()
        return call(self, operation, *arguments)

    elsewhere(lambda: acquire("a"))
    ti = task("r1")
    operator = AcquireAssetLockOperator(task_id="t", asset_id="a", wait=True)
    with acting_as(ti), pytest.raises(TaskDeferred) as deferred:
        operator.execute({"ti": ti})
    assert deferred.value.timeout is None
    monkeypatch.setattr(in_process.InProcessTransport, "call", once_away)

    async def fire() -> dict:
        first = asyncio.ensure_future(anext(deferred.value.trigger.run()))
        done, _ = await asyncio.wait([first], timeout=1.0)
        assert not done
        await asyncio.to_thread(run, ReleaseAssetLockOperator, "r2", asset_id="a")
        return (await asyncio.wait_for(first, 30)).payload

    event = asyncio.run(fire())
    assert event["waited"] >= 1.0
    assert not outage
    with acting_as(ti):
        outputs = operator.resumed({"ti": ti}, event, **deferred.value.kwargs)
    assert outputs["executionId"] == "r1"

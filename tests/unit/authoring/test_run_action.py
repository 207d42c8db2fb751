"""Actions of a repository's assets: order, keys, outcomes, locks. Rows Bnn: the behaviour table."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from airflow_assets.authoring.actions import (
    ActionConcurrency,
    ActionOrdering,
    ActionPartitioning,
    ActionResult,
    AssetAction,
    Outcome,
)
from airflow_assets.authoring.assets import Asset
from airflow_assets.authoring.contexts import ActionContext  # noqa: TC001 - bodies are annotated with it
from airflow_assets.authoring.deps import AssetDef
from airflow_assets.authoring.errors import (
    AssetNotFoundError,
    ExecutionError,
    GraphValidationError,
    PartitionValidationError,
)
from airflow_assets.authoring.handlers.memory import InMemoryIOHandler
from airflow_assets.authoring.hooks import Hook
from airflow_assets.authoring.metadata_values import MetadataValue
from airflow_assets.authoring.partitions.definitions import PartitionsDefinition
from airflow_assets.authoring.partitions.keys import PartitionKey
from airflow_assets.authoring.repository import CodeRepository
from airflow_assets.authoring.resources import Resource
from airflow_assets.authoring.retries import RetryPolicy

ABC = PartitionsDefinition.static_(["a", "b", "c"])


def key(*keys: str) -> PartitionKey:
    return PartitionKey.single(list(keys))


def kinds(repo: CodeRepository, run_id: str) -> list[tuple[str, str, str | None]]:
    """Node, kind and partition of what a run said, without starts and successes."""
    return [
        (one.asset_key or "", one.event_type, str(one.partition_key) if one.partition_key else None)
        for one in repo.storage.get_events_for_run(run_id)
        if one.event_type not in {"StepStart", "StepSuccess"}
    ]


def with_action(
    body: Any, outcome: Outcome = Outcome.Unchanged, name: str = "verb", **settings: Any
) -> AssetAction:
    return AssetAction(name, outcome, **settings)(body)


def gives(result: Any) -> Any:
    return lambda ctx: result


@pytest.mark.parametrize("outcome", [Outcome.Unchanged, Outcome.MayMaterialize, Outcome.Unmaterialize])
@pytest.mark.parametrize("result", ["none", "unchanged", "materialized", "other"])
def test_b70_outcome_and_return_value(outcome: Outcome, result: str) -> None:
    values = {
        "none": None,
        "unchanged": ActionResult.unchanged({"rows": 3}),
        "materialized": ActionResult.materialized({"rows": 3}, data_version="v2"),
        "other": 5,
    }
    expected: dict[tuple[Outcome, str], str] = {
        (Outcome.MayMaterialize, "materialized"): "Materialization",
        (Outcome.Unmaterialize, "none"): "Deletion",
    }
    fails = result == "other" or (result == "materialized" and outcome is not Outcome.MayMaterialize)
    kind = "StepFailure" if fails else expected.get((outcome, result), "ActionCompleted")
    asset = Asset(lambda up: up, name="a", actions=[with_action(gives(values[result]), outcome)])
    repo = CodeRepository(assets=[Asset(lambda: 1, name="up"), asset])
    repo.materialize()
    before = repo.storage.get_asset_record("a")
    ran = repo.run_action("verb", raise_on_error=False)
    events = [one for one in repo.storage.get_events_for_run(ran.run_id) if one.event_type.startswith(kind)]
    assert (ran.success, len(events)) == (not fails, 1)
    after = repo.storage.get_asset_record("a")
    assert before
    assert after
    if fails:
        assert dict(events[0].metadata)["rivers/failure_reason"] == "error"
        assert ran.failed_assets[0][1].startswith("ExecutionError")
        return
    metadata = {name: MetadataValue.from_json(json.loads(text)) for name, text in events[0].metadata}
    if kind == "Materialization":
        assert (after.last_data_version, after.last_input_data_versions) == (
            "v2",
            before.last_input_data_versions,
        )
        assert metadata == {"rows": MetadataValue.int(3)}
    elif kind == "Deletion":
        assert (after.last_data_version, after.last_run_id, after.last_timestamp) == (None, None, None)
        assert repo.storage.compute_staleness()["a"][0] == "Missing"
        assert repo.load_node("a") == 1
    else:
        assert after.last_data_version == before.last_data_version
    if kind in {"Deletion", "ActionCompleted"}:
        assert metadata["action"] == MetadataValue.text("verb")


def test_b72_unmaterialize_clears_a_partition_or_all() -> None:
    drop = with_action(gives(None), Outcome.Unmaterialize, partitioning=ActionPartitioning.Optional)
    repo = CodeRepository(assets=[Asset(lambda: 1, name="a", partitions_def=ABC, actions=[drop])])
    repo.materialize(partition_key=key("a", "b"))
    repo.run_action("verb", partition_key=key("a"))
    assert repo.storage.get_materialized_partitions("a") == [key("b")]
    assert repo.storage.compute_staleness()["a"][0] == "UpToDate"
    repo.run_action("verb")
    assert repo.storage.get_materialized_partitions("a") == []
    assert repo.storage.compute_staleness()["a"][0] == "Missing"


def chain(x: AssetAction, z: AssetAction) -> CodeRepository:
    return CodeRepository(
        assets=[
            Asset(lambda: 1, name="x", actions=[x]),
            Asset(lambda x: x, name="y"),
            Asset(lambda y: y, name="z", actions=[z]),
        ]
    )


@pytest.mark.parametrize(
    ("ordering", "order"), [(ActionOrdering.DownstreamFirst, "zx"), (ActionOrdering.UpstreamFirst, "xz")]
)
def test_b74_related_targets_have_an_order_through_others(ordering: ActionOrdering, order: str) -> None:
    ran: list[str] = []

    def body(ctx: Any) -> None:
        ran.append(ctx.asset_name)

    verb = with_action(body, ordering=ordering)
    chain(verb, verb).run_action("verb")
    assert "".join(ran) == order

    def fails(ctx: Any) -> None:
        raise KeyError(ctx.asset_name)

    ran.clear()
    failing, other = with_action(fails, ordering=ordering), verb
    repo = chain(failing, other) if order[0] == "x" else chain(other, failing)
    result = repo.run_action("verb", raise_on_error=False)
    assert ran == []
    assert result.failed_assets == [
        (order[0], f"KeyError: '{order[0]}'"), (order[1], "ExecutionError: Skipped: ordering dependency failed"),
    ]  # fmt: skip


def test_orders_that_contradict_each_other_are_a_cycle() -> None:
    body = gives(None)
    down = with_action(body, ordering=ActionOrdering.DownstreamFirst)
    with pytest.raises(GraphValidationError, match="x"):
        chain(down, with_action(body, ordering=ActionOrdering.UpstreamFirst)).run_action("verb")


def test_b76_hooks_hear_nothing_of_actions_and_readers_are_not_loaded() -> None:
    heard: list[str] = []
    hooks = [Hook.success(lambda ctx: heard.append("ok")), Hook.failure(lambda ctx: heard.append("bad"))]

    def fails(ctx: Any) -> None:
        raise ConnectionError("gone")

    verbs = [with_action(gives(None)), with_action(fails, name="fails")]
    repo = CodeRepository(
        assets=[Asset(lambda: 1, name="up"), Asset(lambda up: up, name="a", hooks=hooks, actions=verbs)]
    )
    assert repo.run_action("verb").success
    assert not repo.run_action("fails", raise_on_error=False).success
    with pytest.raises(ConnectionError):
        repo.run_action("fails")
    assert heard == []


class Settings(BaseModel):
    """The configuration of an action."""

    depth: int = 1


class Client(Resource):
    """Something an action uses."""


def test_b80_the_context_and_what_else_a_body_gets() -> None:
    seen: list[Any] = []

    async def body(anything: ActionContext[Settings], client: Client) -> None:
        assert anything.config
        seen.append(
            (anything.asset_name, anything.action, anything.config.depth, type(client), anything.run_id)
        )
        seen.append((type(anything.io_handler), anything.asset_metadata))

    verbs = [with_action(body), with_action(lambda: None, name="bare")]
    asset = Asset(lambda: 1, name="a", metadata={"k": "v"}, actions=verbs)
    repo = CodeRepository(assets=[asset], resources={"client": Client})
    ran = repo.run_action("verb", config={"assets": {"a": {"config": {"depth": 7}}}})
    assert seen == [("a", "verb", 7, Client, ran.run_id), (InMemoryIOHandler, {"k": "v"})]
    assert repo.run_action("bare").success
    with pytest.raises(ValidationError):
        repo.run_action("verb", config={"assets": {"a": {"config": {"depth": "deep"}}}})
    assert len(seen) == 2
    stranger = Asset(lambda: 1, name="a", actions=[with_action(lambda ctx, nobody: None)])
    with pytest.raises(GraphValidationError, match="'nobody'"):
        CodeRepository(assets=[stranger]).run_action("verb")


def partitioned(partitioning: ActionPartitioning | None, body: Any = None, **more: Any) -> CodeRepository:
    verb = with_action(body or gives(None), partitioning=partitioning, **more)
    return CodeRepository(
        assets=[
            Asset(lambda: 1, name="p", partitions_def=ABC, actions=[verb]),
            Asset(lambda: 1, name="u", actions=[verb]),
        ]
    )


@pytest.mark.parametrize(
    ("partitioning", "target", "keys", "error"),
    [
        (None, "p", None, ExecutionError),
        (None, "p", ["z"], ExecutionError),
        (None, "u", ["a"], PartitionValidationError),
        (ActionPartitioning.Keyless, "p", ["a"], ExecutionError),
        (ActionPartitioning.Keyless, "p", None, None),
        (ActionPartitioning.Optional, "p", None, None),
        (ActionPartitioning.Optional, "p", ["a"], None),
        (ActionPartitioning.Required, "p", ["a", "b"], None),
        (ActionPartitioning.Required, "u", None, None),
    ],
)
def test_which_verbs_take_a_key(partitioning: Any, target: str, keys: Any, error: Any) -> None:
    repo = partitioned(partitioning)
    wanted = key(*keys) if keys else None
    if error:
        with pytest.raises(error):
            repo.run_action("verb", [target], partition_key=wanted)
    else:
        ran = repo.run_action("verb", [target], partition_key=wanted)
        assert kinds(repo, ran.run_id) == [(target, "ActionCompleted", one) for one in keys or [None]]


@pytest.mark.parametrize(
    ("verb", "selection", "error"),
    [
        ("nothing", None, AssetNotFoundError),
        ("verb", [], AssetNotFoundError),
        ("verb", ["nobody"], AssetNotFoundError),
        ("verb", ["plain"], GraphValidationError),
        ("materialize", ["a"], GraphValidationError),
    ],
)
def test_targets_that_are_none(verb: str, selection: Any, error: type[Exception]) -> None:
    repo = CodeRepository(
        assets=[
            Asset(lambda: 1, name="a", actions=[with_action(gives(None))]),
            Asset(lambda: 1, name="plain"),
        ]
    )
    with pytest.raises(error):
        repo.run_action(verb, selection)


def test_a_partition_that_one_verb_fails_on_is_withheld_from_the_next() -> None:
    seen: list[list[str]] = []

    def first(ctx: Any) -> None:
        ctx.mark_partition_failed("a", "no rows")

    order = ActionOrdering.UpstreamFirst
    repo = CodeRepository(
        assets=[
            Asset(lambda: 1, name="x", partitions_def=ABC, actions=[with_action(first, ordering=order)]),
            Asset(
                lambda x: x, name="y", partitions_def=ABC,
                actions=[with_action(lambda ctx: seen.append(list(map(str, ctx.partition.keys))), ordering=order)],
            ),
        ]
    )  # fmt: skip
    ran = repo.run_action("verb", partition_key=key("a", "b"))
    assert (ran.success, seen) == (True, [["b"]])
    assert sorted(kinds(repo, ran.run_id), key=str) == [
        ("x", "ActionCompleted", "b"), ("x", "StepFailure", "a"),
        ("y", "ActionCompleted", "b"), ("y", "StepFailure", "a"),
    ]  # fmt: skip
    every = repo.run_action("verb", partition_key=key("a"), raise_on_error=False)
    assert every.failed_assets == [("y", "ExecutionError: Skipped: ordering dependency failed on every key")]


def counted(times: int) -> tuple[Any, list[int]]:
    calls: list[int] = []

    def body(ctx: Any) -> None:
        calls.append(1)
        if len(calls) <= times:
            raise OSError("busy")

    return body, calls


def test_only_the_verbs_own_policy_retries_it() -> None:
    body, calls = counted(1)
    asset = Asset(lambda: 1, name="a", retry=RetryPolicy(5), actions=[with_action(body)])
    repo = CodeRepository(assets=[asset], default_retry_policy=RetryPolicy(5))
    assert not repo.run_action("verb", raise_on_error=False).success
    body, calls = counted(1)
    named = Asset(lambda: 1, name="a", actions=[with_action(body, retry="once")])
    assert CodeRepository(assets=[named], retries={"once": RetryPolicy(1)}).run_action("verb").success
    assert len(calls) == 2


def test_a_verb_is_not_run_again_by_a_run_that_goes_on() -> None:
    done, done_calls = counted(0)
    fails, fail_calls = counted(1)
    repo = CodeRepository(
        assets=[
            Asset(lambda: 1, name="done", actions=[with_action(done)]),
            Asset(lambda: 1, name="fails", actions=[with_action(fails)]),
        ]
    )
    assert not repo.run_action("verb", run_id_override="r", raise_on_error=False).success
    again = repo.run_action("verb", run_id_override="r", raise_on_error=False, resume=True)
    assert (len(done_calls), len(fail_calls)) == (1, 1)
    assert [name for name, _ in again.failed_assets] == ["fails"]
    assert "earlier launch" in again.failed_assets[0][1]


def test_a_verb_that_was_cut_off_has_used_a_try() -> None:
    def killed(ctx: Any) -> None:
        raise SystemExit

    repo = CodeRepository(assets=[Asset(lambda: 1, name="a", actions=[with_action(killed)])])
    with pytest.raises(SystemExit):
        repo.run_action("verb", run_id_override="r")
    again = repo.run_action("verb", run_id_override="r", resume=True, raise_on_error=False)
    assert "no try left" in again.failed_assets[0][1]


def test_an_exclusive_verb_waits_for_a_materialize_of_the_same_partitions() -> None:
    inside, go = threading.Event(), threading.Event()
    order: list[str] = []

    def body() -> int:
        inside.set()
        assert go.wait(60)
        order.append("materialized")
        return 1

    verb = with_action(
        lambda ctx: order.append(str(ctx.partition.key)), concurrency=ActionConcurrency.Exclusive
    )
    repo = CodeRepository(assets=[Asset(body, name="a", partitions_def=ABC, actions=[verb], pool="p")])
    repo.resolve()
    making = threading.Thread(target=repo.materialize, kwargs={"partition_key": key("a")})
    making.start()
    assert inside.wait(60)
    other = repo.run_action("verb", partition_key=key("b"))
    assert kinds(repo, other.run_id)[0][1] == "StepSlotClaimed"
    acting = threading.Thread(
        target=repo.run_action, args=("verb",), kwargs={"partition_key": key("a"), "run_id_override": "r"}
    )
    acting.start()
    try:
        while ("a", "StepSlotWaiting", None) not in kinds(repo, "r"):
            assert acting.is_alive()
            time.sleep(0.01)
    finally:
        go.set()
        making.join()
        acting.join()
    assert order == ["b", "materialized", "a"]
    assert [kind for _, kind, _ in kinds(repo, "r")] == [
        "StepSlotWaiting", "StepSlotClaimed", "ActionCompleted", "StepSlotReleased",
    ]  # fmt: skip


def test_an_outputs_own_verb_is_its_own() -> None:
    ran: list[str] = []

    def verb(name: str) -> AssetAction:
        return with_action(lambda ctx: ran.append(f"{name} {ctx.asset_name}"))

    multi = Asset.from_multi(
        lambda: {"x": 1, "y": 2},
        [AssetDef("x", actions=[verb("own")]), AssetDef("y")],
        name="m",
        actions=[verb("all")],
    )
    assert CodeRepository(assets=[multi]).run_action("verb").materialized_assets == ["x", "y"]
    assert ran == ["own x", "all y"]

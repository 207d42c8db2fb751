"""Backfills: which runs, how many at a time, what a failure means. Rows Bnn: the behaviour table."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from airflow_assets.authoring.actions import ActionPartitioning, AssetAction, Outcome
from airflow_assets.authoring.assets import Asset
from airflow_assets.authoring.contexts import AssetExecutionContext  # noqa: TC001 - bodies are annotated with it
from airflow_assets.authoring.errors import ConfigurationError, ExecutionError
from airflow_assets.authoring.partitions.definitions import PartitionsDefinition
from airflow_assets.authoring.partitions.keys import PartitionKey, PartitionKeyRange
from airflow_assets.authoring.partitions.strategy import BackfillStrategy
from airflow_assets.authoring.repository import CodeRepository

DAYS = PartitionsDefinition.static_(["1", "2", "3", "4"])
KEYS = [PartitionKey.single(day) for day in "1234"]


def of_days(body: Any, **settings: Any) -> CodeRepository:
    return CodeRepository(assets=[Asset(body, name="a", partitions_def=DAYS, **settings)])


def fails_on_3(context: AssetExecutionContext) -> int:  # type: ignore[type-arg]
    if context.partition_key == "3":
        raise KeyError(3)
    return 1


@pytest.mark.parametrize(
    ("policy", "counts", "status"),
    [("continue", (3, 1, 0), "CompletedFailed"), ("stop_on_failure", (2, 1, 1), "CompletedFailed")],
)
def test_b86_a_failure_stops_the_rest_or_not(policy: str, counts: tuple[int, ...], status: str) -> None:
    repo = of_days(fails_on_3)
    result = repo.backfill(["a"], partition_keys=KEYS, failure_policy=policy, max_concurrency=1)
    assert (result.completed, result.failed, result.canceled) == counts
    assert (result.status, len(result.run_ids), result.num_runs) == (status, sum(counts[:2]), 4)
    state = repo.get_backfill(result.backfill_id)
    assert state is not None
    assert (state.completed_partitions, state.failed_partitions, state.canceled_partitions) == counts
    run = repo.storage.get_run(result.run_ids[0])
    assert run is not None
    assert (run.launched_by.backfill_id, run.priority) == (result.backfill_id, -10)
    assert ("rivers/priority", "-10") in run.tags
    again = repo.rerun_backfill(result.backfill_id)
    assert again.backfill_id != result.backfill_id
    assert again.num_partitions == 4


def test_b88_runs_per_dimension() -> None:
    seen: list[list[str]] = []

    def body(context: AssetExecutionContext) -> int:  # type: ignore[type-arg]
        assert context.partition
        seen.append(list(map(str, context.partition.keys)))
        return 1

    both = PartitionsDefinition.multi(
        {"d": PartitionsDefinition.static_(["1", "2"]), "r": PartitionsDefinition.static_(["eu", "us"])}
    )
    repo = CodeRepository(assets=[Asset(body, name="a", partitions_def=both)])
    result = repo.backfill(
        partition_range=PartitionKeyRange.multi({"d": ("1", "2")}),
        strategy=BackfillStrategy.per_dimension(["d"], ["r"]),
        max_concurrency=1,
    )
    assert (result.num_partitions, result.num_runs, result.completed) == (4, 2, 4)
    assert seen == [["d=1|r=eu", "d=1|r=us"], ["d=2|r=eu", "d=2|r=us"]]
    assert repo.storage.count_materialized_partitions("a") == 4


def test_the_nearest_strategy_counts() -> None:
    repo = of_days(lambda: 1, backfill_strategy=BackfillStrategy.single_run())
    assert repo.backfill(partition_keys=KEYS).num_runs == 1
    assert (
        repo.backfill(partition_keys=KEYS, strategy=BackfillStrategy.multi_run(), dry_run=True).num_runs == 4
    )


def test_a_dry_run_only_tells() -> None:
    repo = of_days(lambda: 1)
    result = repo.backfill(["a"], partition_range=PartitionKeyRange.single("2", "3"), dry_run=True)
    assert (result.status, result.is_dry_run, result.backfill_id, result.run_ids) == ("dry_run", True, "", [])
    assert result.partition_keys == KEYS[1:3]
    assert repo.storage.get_runs() == []


def test_runs_overlap_as_far_as_allowed() -> None:
    together = threading.Barrier(2, timeout=60)

    def body() -> int:
        together.wait()
        return 1

    assert of_days(body).backfill(partition_keys=KEYS[:2], max_concurrency=2).completed == 2


def test_a_backfill_in_the_background_can_be_canceled() -> None:
    inside, go = threading.Event(), threading.Event()

    def body() -> int:
        inside.set()
        assert go.wait(60)
        return 1

    repo = of_days(body)
    result = repo.backfill(partition_keys=KEYS, max_concurrency=1, block=False)
    assert (result.status, result.completed) == ("Requested", 0)
    assert inside.wait(60)
    name = f"airflow-assets-backfill-{result.backfill_id}"
    (running,) = (thread for thread in threading.enumerate() if thread.name == name)
    assert repo.cancel_backfill(result.backfill_id)
    go.set()
    running.join()
    state = repo.get_backfill(result.backfill_id)
    assert state is not None
    assert (state.status, state.completed_partitions, state.canceled_partitions) == ("Canceled", 1, 3)
    assert not repo.cancel_backfill(result.backfill_id)


def test_verbs_are_backfilled_too() -> None:
    acted: list[str] = []
    verb = AssetAction("verb", Outcome.Unchanged)(lambda ctx: acted.append(ctx.partition_key))
    whole = AssetAction("whole", Outcome.Unchanged, partitioning=ActionPartitioning.Keyless)(lambda ctx: None)
    repo = of_days(lambda: 1, actions=[verb, whole])
    result = repo.backfill(partition_keys=KEYS, action="verb", max_concurrency=1)
    assert acted == ["1", "2", "3", "4"]
    state = repo.get_backfill(result.backfill_id)
    assert state is not None
    assert state.action == "verb"
    with pytest.raises(ExecutionError, match="whole asset"):
        repo.backfill(partition_keys=KEYS, action="whole", dry_run=True)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({}, ExecutionError),
        ({"partition_keys": []}, ExecutionError),
        ({"partition_keys": [PartitionKey.single("9")]}, ExecutionError),
        ({"partition_range": PartitionKeyRange.single("3", "2")}, ExecutionError),
        ({"partition_keys": KEYS, "partition_range": PartitionKeyRange.single("1", "2")}, ExecutionError),
        ({"selection": ["plain"], "partition_range": PartitionKeyRange.single("1", "2")}, ExecutionError),
        ({"partition_keys": KEYS, "failure_policy": "retry"}, ConfigurationError),
        ({"partition_keys": KEYS, "max_concurrency": 0}, ConfigurationError),
    ],
)
def test_what_cannot_be_backfilled(arguments: dict[str, Any], error: type[Exception]) -> None:
    repo = CodeRepository(
        assets=[Asset(lambda: 1, name="a", partitions_def=DAYS), Asset(lambda: 1, name="plain")]
    )
    arguments.setdefault("selection", ["a"])
    with pytest.raises(error):
        repo.backfill(**arguments)
    assert repo.storage.get_runs() == []


def test_backfills_that_are_not_there() -> None:
    repo = of_days(lambda: 1)
    assert repo.get_backfill("zz") is None
    for ask in (repo.cancel_backfill, repo.rerun_backfill):
        with pytest.raises(ExecutionError, match="'zz'"):
            ask("zz")

"""Local runs of a repository: what is run, loaded, skipped and recorded. Rows Bnn: the behaviour table."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from airflow_assets.authoring.actions import ActionConcurrency, AssetAction, Outcome
from airflow_assets.authoring.assets import Asset
from airflow_assets.authoring.contexts import AssetExecutionContext  # noqa: TC001 - bodies are annotated with it
from airflow_assets.authoring.deps import AssetDef, SelfDependency
from airflow_assets.authoring.errors import (
    AssetDefinitionError,
    AssetNotFoundError,
    ConfigurationError,
    ExecutionError,
    GraphValidationError,
    NodeNotFoundError,
    PartitionValidationError,
)
from airflow_assets.authoring.handlers.memory import InMemoryIOHandler
from airflow_assets.authoring.hooks import Hook
from airflow_assets.authoring.metadata_values import MetadataValue
from airflow_assets.authoring.partitions.definitions import PartitionsDefinition
from airflow_assets.authoring.partitions.keys import PartitionKey
from airflow_assets.authoring.repository import CodeRepository
from airflow_assets.authoring.resources import Resource
from airflow_assets.authoring.results import DynamicOutput, Observation, Output
from airflow_assets.authoring.retries import Backoff, RetryPolicy
from airflow_assets.authoring.storage.direct import DirectStorage
from airflow_assets.authoring.tasks import Task
from airflow_assets.exceptions import AssetLocked
from airflow_assets.testing import memory_storage

AB = PartitionsDefinition.static_(["a", "b"])


def key(*keys: str) -> PartitionKey:
    return PartitionKey.single(list(keys))


def told(repo: CodeRepository, run_id: str, *names: str) -> list[tuple[str, str]]:
    """Node and kind of a run's events, of some nodes or all."""
    events = repo.storage.get_events_for_run(run_id)
    return [(one.asset_key or "", one.event_type) for one in events if not names or one.asset_key in names]


def failing(times: int, value: Any = 1) -> Any:
    """A body that fails so often before it gives something, and how often it was called."""
    calls: list[int] = []

    def body() -> Any:
        calls.append(1)
        if len(calls) <= times:
            raise KeyError("day")
        return value

    body.calls = calls  # type: ignore[attr-defined]
    return body


def test_a_run_makes_records_and_loads() -> None:
    repo = CodeRepository(assets=[Asset(lambda: 2, name="up"), Asset(lambda up: up * 3, name="down")])
    result = repo.materialize(tags=[("team", "sales"), ("rivers/priority", "3")])
    assert (result.success, result.materialized_assets, result.failed_assets) == (True, ["up", "down"], [])
    assert repo.load_node("down") == 6
    run = repo.storage.get_run(result.run_id)
    assert run is not None
    assert (run.status, run.action, run.node_names, run.priority) == ("Success", None, ["up", "down"], 3)
    assert ("team", "sales") in run.tags
    assert told(repo, result.run_id, "down") == [
        ("down", "StepStart"), ("down", "Materialization"), ("down", "StepSuccess"),
    ]  # fmt: skip
    up, down = repo.storage.get_asset_records(["up", "down"])[::-1]
    assert down.last_input_data_versions == [("up", up.last_data_version)]


def test_b42_what_is_not_selected_is_loaded_or_the_plan_fails() -> None:
    calls: list[str] = []
    kept = InMemoryIOHandler()

    def down(up: int) -> int:
        calls.append("down")
        return up + 1

    explicit = CodeRepository(
        assets=[Asset(lambda: calls.append("up") or 1, name="up", io_handler=kept), Asset(down)]
    )
    explicit.materialize()
    explicit.materialize(["down"])
    assert calls == ["up", "down", "down"]
    default = CodeRepository(assets=[Asset(lambda: 1, name="up"), Asset(down)])
    with pytest.raises(GraphValidationError, match="no io_handler"):
        default.materialize(["down"])
    override = AssetDef.input("up", io_handler=kept)
    assert (
        CodeRepository(assets=[Asset(lambda: 1, name="up"), Asset(down, deps=[override])])
        .materialize(["down"])
        .success
    )
    only_order = Asset(lambda: 1, name="late", deps=[AssetDef.dep("up")])
    assert CodeRepository(assets=[Asset(lambda: 1, name="up"), only_order]).materialize(["late"]).success


def test_b44_a_handler_may_be_a_resource() -> None:
    kept = InMemoryIOHandler()
    asset = Asset(lambda: 5, name="a", io_handler="kept")
    CodeRepository(assets=[asset], resources={"kept": kept}).materialize()
    assert "a" in kept._values
    with pytest.raises(AssetDefinitionError, match="'kept'"):
        CodeRepository(assets=[asset]).resolve()


def test_b46_upstreams_come_along_when_asked_for() -> None:
    assets = [Asset(lambda: 1, name="a"), Asset(lambda a: a, name="b"), Asset(lambda b: b, name="c")]
    assert CodeRepository(assets=assets).materialize(["b"], include_upstream=True).materialized_assets == [
        "a",
        "b",
    ]


def test_b48_a_run_that_goes_on_repeats_nothing_that_succeeded() -> None:
    first, second = failing(0), failing(1)
    repo = CodeRepository(assets=[Asset(first, name="a"), Asset(lambda a: second(), name="b")])
    failed = repo.materialize(run_id_override="r", raise_on_error=False)
    assert failed.failed_assets == [("b", "KeyError: 'day'")]
    resumed = repo.materialize(run_id_override="r", resume=True)
    assert (resumed.success, resumed.run_id, len(first.calls), len(second.calls)) == (True, "r", 1, 2)
    run = repo.storage.get_run("r")
    assert run is not None
    assert run.status == "Success"
    assert [kind for _, kind in told(repo, "r", "b")] == [
        "StepStart", "StepFailure", "StepStart", "Materialization", "StepSuccess",
    ]  # fmt: skip
    repo.materialize(run_id_override="r")
    assert len(first.calls) == 2


def test_a_failure_skips_what_needs_it_and_nothing_else() -> None:
    heard: list[str] = []

    @Hook.failure
    def failed(ctx: Any) -> None:
        heard.append(ctx.asset_name)

    repo = CodeRepository(
        assets=[
            Asset(failing(9), name="bad", hooks=[failed]),
            Asset(lambda bad: bad, name="after", hooks=[failed]),
            Asset(lambda after: after, name="later"),
            Asset(lambda: 1, name="other"),
        ]
    )
    result = repo.materialize(raise_on_error=False)
    skipped = "ExecutionError: Skipped: upstream dependency failed"
    assert sorted(result.failed_assets) == [
        ("after", skipped), ("bad", "KeyError: 'day'"), ("later", skipped),
    ]  # fmt: skip
    assert (result.success, heard, repo.load_node("other")) == (False, ["bad"], 1)
    assert told(repo, result.run_id, "after") == [("after", "StepFailure")]
    with pytest.raises(KeyError, match="day"):
        repo.materialize()


def test_one_output_that_fails_holds_back_only_its_readers() -> None:
    multi = Asset.from_multi(lambda: {"x": 1}, [AssetDef("x"), AssetDef("y")], name="both")
    repo = CodeRepository(assets=[multi, Asset(lambda x: x, name="of_x"), Asset(lambda y: y, name="of_y")])
    result = repo.materialize(raise_on_error=False)
    assert {name for name, _ in result.failed_assets} == {"y", "of_y"}
    assert repo.load_node("of_x") == 1
    with pytest.raises(AssetNotFoundError, match="'both'"):
        repo.materialize(["both"])
    assert repo.materialize(["x"]).materialized_assets == ["x"]


def test_a_run_is_canceled_between_its_steps() -> None:
    def asks(context: AssetExecutionContext) -> int:  # type: ignore[type-arg]
        repo.storage.request_cancellation(str(context.run_id))
        return 1

    repo = CodeRepository(assets=[Asset(asks), Asset(lambda asks: 1, name="never")])
    result = repo.materialize()
    assert (result.success, result.failed_assets) == (False, [])
    assert told(repo, result.run_id, "never") == []
    run = repo.storage.get_run(result.run_id)
    assert run is not None
    assert run.status == "Canceled"


def test_an_interruption_ends_the_run_in_the_records_too() -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    repo = CodeRepository(assets=[Asset(interrupted)])
    with pytest.raises(KeyboardInterrupt):
        repo.materialize(run_id_override="r")
    run = repo.storage.get_run("r")
    assert run is not None
    assert (run.status, run.end_time is None) == ("Canceled", False)


@pytest.mark.parametrize(
    ("selection", "keys", "error", "said"),
    [
        (["part"], None, ExecutionError, "without partition_key"),
        (["part"], ["z"], ExecutionError, "Invalid partition_key 'z'"),
        (["whole"], ["a"], PartitionValidationError, "has no partitions"),
        (["dynamic"], ["a"], ExecutionError, r"add_dynamic_partitions\('regions'"),
        (["nothing"], None, AssetNotFoundError, "'nothing'"),
        (["plain"], None, ExecutionError, "no observe function"),
    ],
)
def test_what_cannot_be_run(selection: list[str], keys: Any, error: type[Exception], said: str) -> None:
    repo = CodeRepository(
        assets=[
            Asset(lambda: 1, name="part", partitions_def=AB),
            Asset(lambda: 1, name="whole"),
            Asset(lambda: 1, name="dynamic", partitions_def=PartitionsDefinition.dynamic("regions")),
            Asset.external(name="plain", io_handler=InMemoryIOHandler()),
        ]
    )
    with pytest.raises(error, match=said):
        repo.materialize(selection, partition_key=key(*keys) if keys else None)


def test_nothing_selected_is_a_run_of_nothing() -> None:
    repo = CodeRepository(assets=[Asset(lambda: 1, name="a")])
    result = repo.materialize([])
    assert (result.success, result.materialized_assets) == (True, [])
    run = repo.storage.get_run(result.run_id)
    assert run is not None
    assert run.status == "Success"


def test_b12_outputs_with_keys_in_common_run_together_and_others_by_selection() -> None:
    defs = [
        AssetDef("x", partitions_def=PartitionsDefinition.static_(["a", "b"])),
        AssetDef("y", partitions_def=PartitionsDefinition.static_(["b", "c"])),
    ]
    repo = CodeRepository(assets=[Asset.from_multi(lambda: {"x": 1, "y": 2}, defs, name="both")])
    assert repo.materialize(partition_key=key("b")).materialized_assets == ["x", "y"]
    assert repo.materialize(["y"], partition_key=key("c")).materialized_assets == ["y"]
    with pytest.raises(ExecutionError, match="'x'"):
        repo.materialize(partition_key=key("c"))


def test_dynamic_keys_are_those_of_the_storage() -> None:
    regions = PartitionsDefinition.dynamic("regions")
    repo = CodeRepository(assets=[Asset(lambda: 1, name="a", partitions_def=regions)])
    repo.storage.add_dynamic_partitions("regions", ["eu"])
    assert repo.materialize(partition_key=key("eu")).success
    assert repo.storage.get_materialized_partitions("a") == [key("eu")]


def test_a_failed_partition_is_known_by_its_key() -> None:
    repo = CodeRepository(assets=[Asset(failing(1), name="a", partitions_def=AB)])
    repo.materialize(partition_key=key("a", "b"), raise_on_error=False)
    assert [(str(one.partition_key), one.failed) for one in repo.storage.get_partition_states("a")] == [
        ("a", True), ("b", True),
    ]  # fmt: skip
    repo.materialize(partition_key=key("a"))
    assert {str(one.partition_key): one.failed for one in repo.storage.get_partition_states("a")} == {
        "a": False, "b": True,
    }  # fmt: skip


def test_b62_a_failed_task_fails_its_graph_and_what_reads_it() -> None:
    heard: list[tuple[str, str]] = []

    @Hook.failure
    def failed(ctx: Any) -> None:
        heard.append((ctx.asset_name, str(ctx.error)))

    boom, one = Task(failing(9), name="boom"), Task(lambda: 1, name="one")
    add = Task(lambda a, b: a + b, name="add")

    @Asset.from_graph(hooks=[failed])
    def graph() -> Any:
        return add(boom(), one())

    repo = CodeRepository(assets=[graph, Asset(lambda graph: graph, name="down")])
    result = repo.materialize(raise_on_error=False)
    assert told(repo, result.run_id, "graph") == [("graph", "StepStart"), ("graph", "StepFailure")]
    assert [name for name, _ in result.failed_assets] == ["graph/boom", "graph/add", "graph", "down"]
    assert ("graph/one", "Materialization") in told(repo, result.run_id)
    assert heard == [("graph", "'day'")]


def test_b60_b92_a_graph_has_a_version_and_success_hooks_hear_its_output_once() -> None:
    heard: list[Any] = []

    @Hook.success
    def done(ctx: Any) -> None:
        heard.append((ctx.asset_name, ctx.output))

    double = Task(lambda up: 2 * up, name="double")

    @Asset.from_graph(hooks=[done])
    def graph(up: int) -> Any:
        return double(up)

    repo = CodeRepository(
        assets=[Asset(lambda: 4, name="up"), graph, Asset(lambda graph: graph, name="down")]
    )
    result = repo.materialize()
    assert (heard, repo.load_node("graph"), repo.load_node("graph/double")) == ([("graph", 8)], 8, 8)
    states = repo.storage.compute_staleness()
    assert {states[name][0] for name in ("up", "graph", "down")} == {"UpToDate"}
    assert [kind for _, kind in told(repo, result.run_id, "graph")] == [
        "StepStart", "Materialization", "StepSuccess",
    ]  # fmt: skip


def summed(values: Any) -> Any:
    return sum(values)


def mapped(produce: Any, each: Any, **more: Any) -> Asset:
    """A graph asset that fans out and sums up."""
    produces, runs, total = Task(produce, name="produce"), Task(each, name="each"), Task(summed, name="total")

    def graph() -> Any:
        return total(produces().map(runs, **more).collect())

    return Asset.from_graph(graph)


def test_fan_out_runs_a_task_for_each_element() -> None:
    repo = CodeRepository(assets=[mapped(lambda: [1, 2, 3], lambda x: 10 * x)])
    result = repo.materialize()
    assert repo.load_node("graph") == 60
    assert repo.load_node("graph/each__1") == 20
    assert result.materialized_assets == [
        "graph/produce", "graph/each", "graph/each__collect", "graph/total", "graph",
    ]  # fmt: skip
    assert [kind for _, kind in told(repo, result.run_id, "graph/each__2")] == [
        "StepStart", "Materialization", "StepSuccess",
    ]  # fmt: skip
    assert repo.storage.compute_staleness()["graph"][0] == "UpToDate"


def test_elements_may_have_keys() -> None:
    elements = [DynamicOutput("eu", 1), DynamicOutput("us", 2)]
    repo = CodeRepository(assets=[mapped(lambda: elements, lambda x: x)])
    repo.materialize()
    assert (repo.load_node("graph/produce"), repo.load_node("graph/each__us")) == ([1, 2], 2)


@pytest.mark.parametrize(
    ("produced", "failed"),
    [
        ([DynamicOutput("a", 1), 2], ("graph/produce", "TypeError")),
        ([DynamicOutput("a", 1), DynamicOutput("a", 2)], ("graph/produce", "ExecutionError")),
        (5, ("graph/each", "ExecutionError")),
        ([1, 0, 2], ("graph/each__1", "ZeroDivisionError")),
    ],
)
def test_what_fails_in_a_fan_out(produced: Any, failed: tuple[str, str]) -> None:
    repo = CodeRepository(assets=[mapped(lambda: produced, lambda x: 1 / x)])
    result = repo.materialize(raise_on_error=False)
    name, error = result.failed_assets[0]
    assert (name, error.partition(":")[0]) == failed
    assert result.failed_assets[-1][0] == "graph"
    if name == "graph/each__1":
        assert ("graph/each__2", "StepSuccess") in told(repo, result.run_id)
        assert ("graph/each", "StepFailure") in told(repo, result.run_id)


def test_no_elements_collect_to_an_empty_list() -> None:
    repo = CodeRepository(assets=[mapped(list, lambda x: x, max_concurrency=2)])
    assert repo.materialize().success
    assert repo.load_node("graph") == 0


def test_a_fan_out_that_goes_on_repeats_only_what_failed() -> None:
    calls: list[int] = []

    def each(x: int) -> int:
        calls.append(x)
        if x == 2 and calls.count(2) == 1:
            raise KeyError("x")
        return x

    repo = CodeRepository(assets=[mapped(lambda: [DynamicOutput(f"k{n}", n) for n in (1, 2, 3)], each)])
    assert not repo.materialize(run_id_override="r", raise_on_error=False).success
    assert repo.materialize(run_id_override="r", resume=True).success
    assert (calls, repo.load_node("graph")) == ([1, 2, 3, 2], 6)


def test_b66_b68_external_assets_are_observed() -> None:
    @Asset.external(io_handler=InMemoryIOHandler())
    def source(context: AssetExecutionContext) -> Observation:  # type: ignore[type-arg]
        context.add_output_metadata({"a": 1, "b": 2})
        return Observation(metadata={"b": 3}, data_version="v7")

    plain = Asset.external(name="plain", io_handler=InMemoryIOHandler())
    repo = CodeRepository(assets=[source, plain])
    result = repo.observe()
    (event,) = [
        one for one in repo.storage.get_events_for_run(result.run_id) if one.event_type == "Observation"
    ]
    metadata = {name: MetadataValue.from_json(json.loads(text)) for name, text in event.metadata}
    assert metadata == {"a": MetadataValue.int(1), "b": MetadataValue.int(3)}
    record = repo.storage.get_asset_record("source")
    run = repo.storage.get_run(result.run_id)
    assert record is not None
    assert run is not None
    assert (record.last_data_version, run.action, result.materialized_assets) == ("v7", "observe", ["source"])
    nothing = repo.observe(["plain"])
    assert (nothing.success, nothing.run_id) == (True, "")
    assert repo.run_action("observe").materialized_assets == ["source"]
    with pytest.raises(GraphValidationError, match="'plain'"):
        repo.run_action("observe", ["plain"])
    assert repo.materialize().materialized_assets == ["source"]


def test_what_an_observe_function_raises_comes_out() -> None:
    @Asset.external(io_handler=InMemoryIOHandler())
    def source() -> None:
        raise PermissionError("no")

    with pytest.raises(PermissionError):
        CodeRepository(assets=[source]).observe()
    with pytest.raises(GraphValidationError, match="'upstream'"):
        CodeRepository(
            assets=[Asset.external(lambda upstream: 1, name="s", io_handler=InMemoryIOHandler())]
        ).resolve()


def test_b92_a_new_upstream_version_makes_its_readers_stale() -> None:
    kept = InMemoryIOHandler()
    repo = CodeRepository(
        assets=[Asset(lambda: 1, name="up", io_handler=kept), Asset(lambda up: up, name="down")]
    )
    repo.materialize()
    repo.materialize(["up"])
    state, (cause,) = repo.storage.compute_staleness()["down"]
    assert (state, cause.category, cause.dependency) == ("Stale", "Data", "up")
    repo.materialize(["down"])
    assert repo.storage.compute_staleness()["down"] == ("UpToDate", [])


class Settings(BaseModel):
    """The configuration of an asset."""

    rows: int = 1


def test_a_launch_document_changes_one_run() -> None:
    def body(context: AssetExecutionContext[Settings]) -> Any:
        assert context.config
        return context.config.rows, context.asset_metadata

    repo = CodeRepository(assets=[Asset(body, metadata={"path": "x"})])
    repo.materialize(config={"assets": {"body": {"config": {"rows": 5}, "metadata": {"mode": "append"}}}})
    assert repo.load_node("body") == (5, {"path": "x", "mode": "append"})
    repo.materialize(config={"execution": {"executor": "in_process"}})
    assert repo.load_node("body") == (1, {"path": "x"})
    with pytest.raises(ValidationError):
        repo.materialize(config={"assets": {"body": {"config": {"rows": "many"}}}})


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"body": {"rows": 5}}, "unknown section 'body'; expected assets, execution, resources"),
        ({"assets": {"zz": {}}}, "'zz', which this launch does not run"),
        ({"assets": {"a": {"rows": 5}}}, "unknown key 'rows'; expected config, metadata"),
        ({"execution": {"executor": "pods"}}, "no executor 'pods'"),
        ({"resources": {"db": {}}}, "unknown resource 'db'"),
        ({"assets": 5}, "config.assets is a mapping"),
    ],
)
def test_a_launch_document_is_checked_before_the_run(document: Any, said: str) -> None:
    repo = CodeRepository(assets=[Asset(lambda: 1, name="a")])
    with pytest.raises(ConfigurationError, match=said):
        repo.materialize(config=document)
    assert repo.storage.get_runs() == []


def test_resources_are_set_up_once_and_made_anew_for_a_launch() -> None:
    seen: list[str] = []

    class Warehouse(Resource):
        url: str = "local"

        def setup(self) -> None:
            seen.append(f"setup {self.url}")

        def teardown(self) -> None:
            seen.append(f"teardown {self.url}")

    asset = Asset(lambda db: db.url, name="a")
    with CodeRepository(assets=[asset], resources={"db": Warehouse(url="file")}) as repo:
        repo.materialize()
        repo.materialize(config={"resources": {"db": {"url": "other"}}})
        assert repo.load_node("a") == "other"
    assert seen == ["setup file", "setup other", "teardown other", "teardown file"]
    CodeRepository(assets=[asset], resources={"db": Warehouse}).materialize()
    with pytest.raises(ConfigurationError, match="'db'"):
        CodeRepository(assets=[asset], resources={"db": 5})


def test_the_nearest_retry_policy_counts() -> None:
    own, launched, default = failing(1), failing(2), failing(3)
    assets = [Asset(own, name="own", retry="once"), Asset(default, name="default")]
    policies = {"once": RetryPolicy(1), "thrice": RetryPolicy(3)}
    repo = CodeRepository(assets=assets, retries=policies, default_retry_policy="thrice")
    assert repo.materialize().success
    other = CodeRepository(assets=[Asset(launched, name="launched")], retries={"twice": RetryPolicy(2)})
    assert other.materialize(retry="twice").success
    assert [len(body.calls) for body in (own, launched, default)] == [2, 3, 4]
    with pytest.raises(ConfigurationError, match="'twice'"):
        repo.materialize(retry="twice")
    with pytest.raises(ConfigurationError, match="'zz'"):
        CodeRepository(assets=assets, default_retry_policy="zz")


def test_slots_are_claimed_before_the_start_and_given_back_after_the_end() -> None:
    repo = CodeRepository(assets=[Asset(lambda: 1, name="a", pool=["p", "q"])], pool_limits={"p": 1})
    result = repo.materialize()
    assert [kind for _, kind in told(repo, result.run_id)] == [
        "StepSlotClaimed", "StepStart", "Materialization", "StepSuccess", "StepSlotReleased",
    ]  # fmt: skip
    assert repo.storage.get_pool_info("p").claimed_count == 0
    with pytest.raises(ConfigurationError, match="2 slots of the pool 'p'"):
        CodeRepository(
            assets=[Asset(lambda: 1, name="a", pool="p", pool_slots=2)], pool_limits={"p": 1}
        ).validate()


def test_a_full_pool_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    repo = CodeRepository(assets=[Asset(lambda: 1, name="a", pool="p")], pool_limits={"p": 1})
    assert repo.storage.claim("other", "step", [("p", 1)]).is_claimed
    monkeypatch.setenv("AIRFLOW_ASSETS_POOL_TIMEOUT", "0.05")
    with pytest.raises(ExecutionError, match="has waited"):
        repo.materialize(run_id_override="late")
    monkeypatch.delenv("AIRFLOW_ASSETS_POOL_TIMEOUT")
    running = threading.Thread(target=repo.materialize, kwargs={"run_id_override": "r"})
    running.start()
    try:
        while ("a", "StepSlotWaiting") not in told(repo, "r"):
            assert running.is_alive()
            time.sleep(0.01)
    finally:
        repo.storage.release("other")
        running.join()
    assert told(repo, "r")[-1] == ("a", "StepSlotReleased")


def test_slots_are_free_while_a_step_waits_for_another_try() -> None:
    retry = RetryPolicy(1, backoff=Backoff.constant(0.01))
    repo = CodeRepository(assets=[Asset(failing(1), name="a", pool="p", retry=retry)], pool_limits={"p": 1})
    result = repo.materialize()
    assert [kind for _, kind in told(repo, result.run_id) if "Slot" in kind or kind == "StepRetry"] == [
        "StepSlotClaimed", "StepRetry", "StepSlotReleased", "StepSlotClaimed", "StepSlotReleased",
    ]  # fmt: skip


def test_b78_a_fan_out_does_not_block_itself() -> None:
    vacuum = AssetAction("vacuum", Outcome.Unchanged, ActionConcurrency.Exclusive)(lambda ctx: None)
    each, total = Task(lambda x: x, name="each"), Task(summed, name="total")

    @Asset.from_graph(actions=[vacuum])
    def graph(up: Any) -> Any:
        return total(up.map(each).collect())

    repo = CodeRepository(assets=[Asset(lambda: [1, 2], name="up"), graph])
    result = repo.materialize()
    assert (result.success, repo.load_node("graph")) == (True, 3)
    assert ("graph/each__1", "StepSlotClaimed") in told(repo, result.run_id)


def test_an_asset_reads_its_own_last_output() -> None:
    def grows(self: SelfDependency[list[int]]) -> list[int]:
        return [*(self.get_inner() or []), 1]

    repo = CodeRepository(assets=[Asset(grows)])
    repo.materialize()
    repo.materialize()
    assert repo.load_node("grows") == [1, 1]


def test_what_a_repository_refuses() -> None:
    with pytest.raises(ConfigurationError, match="takes no jobs"):
        CodeRepository(assets=[], jobs=[object()])
    repo = CodeRepository(assets=[Asset(lambda: 1, name="a")])
    for ask in (repo.load_node, repo.io_handler_for_output):
        with pytest.raises(NodeNotFoundError, match="'zz'"):
            ask("zz")
    with pytest.raises(FileNotFoundError):
        repo.load_node("a")
    with pytest.raises(TypeError):
        repo.materialize("a")  # type: ignore[arg-type]


def test_a_storage_may_be_shared_and_resolving_again_changes_nothing() -> None:
    storage = memory_storage()
    first = CodeRepository(assets=[Asset(lambda: 1, name="a", tags=["x"])])
    first.resolve(storage)
    first.resolve()
    assert first.storage is storage
    first.materialize()
    other = CodeRepository(assets=[Asset(lambda: 1, name="b")])
    other.resolve(storage)
    assert [record.asset_key for record in storage.get_asset_records()] == ["a", "b"]
    assert [record.asset_key for record in storage.get_assets_by_tag("x")] == ["a"]
    assert set(first.assets) == {"a"}


def test_async_bodies_run_beside_the_loop_of_a_notebook() -> None:
    async def later() -> int:
        await asyncio.sleep(0)
        return 5

    async def stream() -> Any:
        for name in "xy":
            await asyncio.sleep(0)
            yield Output(1, output_name=name)

    async def notebook() -> CodeRepository:
        repo = CodeRepository(assets=[Asset(later), Asset.from_multi(stream, [AssetDef("x"), AssetDef("y")])])
        assert repo.materialize().success
        return repo

    assert asyncio.run(notebook()).load_node("later") == 5


class OneIsLocked(DirectStorage):
    """As if another user held the lock of ``b``: whoever runs this test is one user only."""

    def record(self, run_id: str, events: Any, *, run: Any = None) -> None:
        """Refuse a batch whole, as the catalogue does."""
        if any(one.step == "b" and one.event.event_type.value == "Materialization" for one in events):
            raise AssetLocked("b is locked")
        super().record(run_id, events, run=run)


def test_a_locked_asset_ends_the_run_and_takes_nothing_else_along() -> None:
    repo = CodeRepository(assets=[Asset(lambda: 1, name="a"), Asset(lambda: 1, name="b")])
    storage = OneIsLocked()
    repo.resolve(storage)
    with pytest.raises(AssetLocked):
        repo.materialize(run_id_override="r")
    run = storage.get_run("r")
    assert run is not None
    assert run.status == "Failure"
    events = [(one.asset_key, one.event_type) for one in storage.get_events_for_run("r")]
    assert ("a", "Materialization") in events
    assert ("b", "Materialization") not in events


SCRIPT = """
import sys
import sqlalchemy
from airflow_assets import testing
from airflow_assets.authoring.assets import Asset
from airflow_assets.authoring.repository import CodeRepository

@Asset
def orders():
    return [1, 2]

@Asset
def revenue(orders):
    return sum(orders)

repo = CodeRepository(assets=[orders, revenue])
assert repo.materialize().success
assert repo.load_node("revenue") == 3
print([name for name in sys.modules if name == "airflow" or name.startswith("airflow.")])
"""


def test_a_script_that_materializes_imports_no_airflow() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr

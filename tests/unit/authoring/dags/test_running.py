"""What tasks do: the step engine in each, on a real storage; a stand-in runs the tasks instead of Airflow."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import pytest

from airflow_assets.authoring.actions import (
    ActionConcurrency,
    ActionOrdering,
    ActionPartitioning,
    ActionResult,
    AssetAction,
    Outcome,
)
from airflow_assets.authoring.assets import Asset
from airflow_assets.authoring.automation import AutomationCondition
from airflow_assets.authoring.dags import claiming, launches
from airflow_assets.authoring.dags.compile import to_dags
from airflow_assets.authoring.deps import AssetDef
from airflow_assets.authoring.errors import ConfigurationError, ExecutionError
from airflow_assets.authoring.graph.resolve import Registered, resolve
from airflow_assets.authoring.handlers.files import PickleIOHandler
from airflow_assets.authoring.hooks import Hook
from airflow_assets.authoring.partitions.definitions import PartitionsDefinition
from airflow_assets.authoring.partitions.keys import PartitionKey
from airflow_assets.authoring.partitions.mappings import PartitionMapping
from airflow_assets.authoring.results import Observation, Output
from airflow_assets.authoring.retries import Backoff, RetryOn, RetryPolicy
from airflow_assets.authoring.storage.records import AssetClaim
from airflow_assets.authoring.tasks import Task
from airflow_assets.testing import memory_storage
from tests.support.task_runs import TaskRuns

if TYPE_CHECKING:
    from pathlib import Path

    from airflow.sdk import DAG

    from airflow_assets.authoring.contexts import ActionContext, AssetExecutionContext

DAYS = PartitionsDefinition.daily(datetime(2026, 1, 1), end=datetime(2026, 1, 5))  # noqa: DTZ001 - naive UTC


@pytest.fixture
def tasks(monkeypatch: pytest.MonkeyPatch) -> TaskRuns:
    return TaskRuns(memory_storage(), monkeypatch)


@pytest.fixture
def store(tmp_path: Path) -> PickleIOHandler:
    return PickleIOHandler(path=str(tmp_path))


def made(*assets: Any, **registered: Any) -> dict[str, DAG]:
    return to_dags(resolve(assets, Registered(**registered)))


def kinds(tasks: TaskRuns, run_id: str) -> list[tuple[str, str]]:
    return [(one.event_type, one.asset_key or "") for one in tasks.storage.get_events_for_run(run_id)]


def value(store: PickleIOHandler, name: str, key: str | None = None) -> Any:
    from airflow_assets.authoring.contexts import InputContext, PartitionContext

    return store.load_input(
        InputContext(name, "test", partition=PartitionContext([key], None) if key else None)
    )


class TestSteps:
    def test_values_pass_through_handlers_and_each_step_is_recorded_once(
        self, tasks: TaskRuns, store: PickleIOHandler
    ) -> None:
        @Asset(io_handler=store, code_version="1")
        def orders() -> Output:
            return Output([1, 2, 3], metadata={"rows": 3}, data_version="v1")

        @Asset(io_handler=store)
        def revenue(orders: list[int]) -> int:
            return sum(orders)

        dag = made(orders, revenue)["orders.materialize"]
        run_id = tasks.run(dag)
        assert tasks.states == {"orders": "success", "revenue": "success"}
        assert value(store, "revenue") == 6
        assert kinds(tasks, run_id) == [
            (kind, name)
            for name in ("orders", "revenue")
            for kind in ("StepStart", "Materialization", "StepSuccess")
        ]
        run = tasks.storage.get_run(run_id)
        assert run is not None
        assert (run.status, run.node_names, run.job_name) == ("Success", ["orders", "revenue"], dag.dag_id)
        assert tasks.storage.get_run_progress(run_id) == (2, 2)
        record = tasks.storage.get_asset_record("revenue")
        assert record is not None
        assert record.last_input_data_versions == [("orders", "v1")]
        assert {name: status for name, (status, _) in tasks.storage.compute_staleness().items()} == {
            "orders": "UpToDate",
            "revenue": "UpToDate",
        }

    def test_a_failure_is_said_once_with_those_that_are_skipped_and_ends_the_run(
        self, tasks: TaskRuns, store: PickleIOHandler
    ) -> None:
        called: list[str] = []

        @Asset(io_handler=store, hooks=[Hook.failure(lambda ctx: called.append(ctx.asset_name))])
        def a() -> int:
            raise ValueError("no data")

        @Asset(io_handler=store)
        def b(a: int) -> int:
            return a

        @Asset(io_handler=store, deps=[AssetDef.dep("a")])
        def beside() -> int:
            return 1

        run_id = tasks.run(made(a, b, beside)["a.materialize"])
        assert tasks.states == {"a": "failed", "b": "upstream_failed", "beside": "upstream_failed"}
        assert kinds(tasks, run_id) == [
            ("StepStart", "a"),
            ("StepFailure", "a"),
            ("StepFailure", "b"),
            ("StepFailure", "beside"),
        ]
        assert isinstance(tasks.errors["a"], ValueError)
        run = tasks.storage.get_run(run_id)
        assert run is not None
        assert run.status == "Failure"
        assert called == ["a"]

    def test_a_cleared_task_goes_on_with_the_run(self, tasks: TaskRuns, store: PickleIOHandler) -> None:
        broken = [True]

        @Asset(io_handler=store)
        def a() -> int:
            if broken[0]:
                raise ValueError("broken")
            return 1

        @Asset(io_handler=store)
        def b(a: int) -> int:
            return a + 1

        dag = made(a, b)["a.materialize"]
        run_id = tasks.run(dag, run_id="r")
        broken[0] = False
        assert tasks.run(dag, run_id="r", only={"a", "b"}, first_try=2) == run_id
        run = tasks.storage.get_run(run_id)
        assert run is not None
        assert (run.status, value(store, "b")) == ("Success", 2)

    def test_tries_wait_exactly_as_the_policy_says_and_hooks_hear_of_the_last(
        self, tasks: TaskRuns, store: PickleIOHandler
    ) -> None:
        heard: list[str] = []
        policy = RetryPolicy(3, backoff=Backoff.exponential(2, factor=3), retry_on=[ConnectionError])
        errors: list[Exception] = [ConnectionError("1"), ConnectionResetError("2"), KeyError("3")]

        @Asset(io_handler=store, retry=policy, hooks=[Hook.failure(lambda ctx: heard.append(str(ctx.error)))])
        def flaky() -> int:
            raise errors.pop(0)

        run_id = tasks.run(made(flaky)["flaky.materialize"])
        assert (tasks.waits, tasks.tries["flaky"], heard) == ([2.0, 6.0], 3, ["'3'"])
        assert [kind for kind, _ in kinds(tasks, run_id)] == [
            *("StepStart", "StepRetry") * 2,
            "StepStart",
            "StepFailure",
        ]

    def test_a_try_that_runs_out_of_time_is_told_and_tried_again(
        self, tasks: TaskRuns, store: PickleIOHandler
    ) -> None:
        from airflow.sdk.exceptions import AirflowTaskTimeout

        policy = RetryPolicy(1, backoff=Backoff.constant(4), retry_on=RetryOn.TRANSIENT)

        @Asset(io_handler=store, retry=policy)
        def slow() -> int:
            raise AirflowTaskTimeout("3 s")  # raised where Airflow's timer would

        @Asset(io_handler=store)
        def after(slow: int) -> int:
            return slow

        run_id = tasks.run(made(slow, after)["slow.materialize"])
        assert (tasks.states, tasks.waits) == ({"slow": "failed", "after": "upstream_failed"}, [4.0])
        found = kinds(tasks, run_id)
        assert found == [
            ("StepStart", "slow"),
            ("StepRetry", "slow"),
            ("StepStart", "slow"),
            ("StepFailure", "slow"),
            ("StepFailure", "after"),
        ]
        run = tasks.storage.get_run(run_id)
        assert run is not None
        assert run.status == "Failure"

    def test_what_a_step_materialized_is_what_airflow_is_told(
        self, tasks: TaskRuns, store: PickleIOHandler
    ) -> None:
        @Asset.from_multi(output_defs=[AssetDef("m"), AssetDef("n")], io_handler=store)
        def both() -> Any:
            return {"m": 1, "n": Observation()}

        tasks.run(made(both)["m.materialize"])
        assert tasks.outlets == {"both": ["m"]}

    def test_resources_are_set_up_for_the_step_that_uses_them(
        self, tasks: TaskRuns, store: PickleIOHandler
    ) -> None:
        from airflow_assets.authoring.resources import Resource

        calls: list[str] = []

        class Warehouse(Resource):
            url: str

            def setup(self) -> None:
                calls.append(f"setup {self.url}")

            def teardown(self) -> None:
                calls.append(f"teardown {self.url}")

        @Asset(io_handler=store)
        def a(warehouse: Warehouse) -> str:
            calls.append("body")
            return warehouse.url

        @Asset(io_handler=store, deps=[AssetDef.dep("a")])
        def b() -> int:
            return 1

        dag = made(a, b, resources={"warehouse": Warehouse(url="x")})["a.materialize"]
        assert calls == []
        tasks.run(dag, config={"resources": {"warehouse": {"url": "y"}}})
        assert value(store, "a") == "y"
        assert calls == ["setup y", "body", "teardown y"]


class TestSelection:
    def test_what_is_not_selected_is_skipped_and_loaded(
        self, tasks: TaskRuns, store: PickleIOHandler
    ) -> None:
        @Asset(io_handler=store)
        def a() -> int:
            return 1

        @Asset(io_handler=store)
        def b(a: int) -> int:
            return a + 1

        dag = made(a, b)["a.materialize"]
        tasks.run(dag)
        run_id = tasks.run(dag, selection=["b"])
        assert tasks.states == {"a": "skipped", "b": "success"}
        run = tasks.storage.get_run(run_id)
        assert run is not None
        assert (run.status, run.node_names) == ("Success", ["b"])

    def test_a_selection_of_another_dag_is_refused(self, tasks: TaskRuns, store: PickleIOHandler) -> None:
        @Asset(io_handler=store, group="x")
        def a() -> int:
            return 1

        @Asset(io_handler=store, group="y")
        def b() -> int:
            return 1

        tasks.run(made(a, b)["x.materialize"], selection=["b"])
        assert isinstance(tasks.errors["a"], ConfigurationError)
        assert "'b'" in str(tasks.errors["a"])

    def test_a_tick_is_for_its_assets_and_those_that_follow(
        self, tasks: TaskRuns, store: PickleIOHandler
    ) -> None:
        @Asset(io_handler=store, group="g", automation_condition=AutomationCondition.on_cron("0 6 * * *"))
        def a() -> int:
            return 1

        @Asset(io_handler=store, group="g")
        def follows(a: int) -> int:
            return a

        @Asset(io_handler=store, group="g")
        def other() -> int:
            return 1

        tasks.run(made(a, follows, other)["g.materialize"], run_type="scheduled")
        assert tasks.states == {"a": "success", "follows": "success", "other": "skipped"}

    def test_an_event_is_for_those_that_read_its_asset(
        self, tasks: TaskRuns, store: PickleIOHandler, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A Dag that another one reads and that reads it in turn does not run in circles."""

        @Asset(io_handler=store, group="one")
        def a1() -> int:
            return 1

        @Asset(io_handler=store, group="two")
        def b1(a1: int) -> int:
            return a1 + 1

        @Asset(io_handler=store, group="one")
        def a2(b1: int) -> int:
            return b1 + 1

        dags = made(a1, b1, a2)
        tasks.run(dags["one.materialize"], selection=["a1"])
        tasks.run(dags["two.materialize"])
        monkeypatch.setattr(launches, "_event", lambda _: {"id": "b1", "triggerIds": ["b1"]})
        tasks.run(dags["one.materialize"], run_type="asset_triggered")
        assert tasks.states == {"a1": "skipped", "a2": "success"}
        assert value(store, "a2") == 3


class TestMultiAssets:
    def test_readers_of_what_was_made_go_on_and_those_of_the_rest_do_not(
        self, tasks: TaskRuns, store: PickleIOHandler
    ) -> None:
        @Asset.from_multi(output_defs=[AssetDef("m"), AssetDef("n")], io_handler=store)
        def both() -> Any:
            yield Output(1, output_name="m")
            raise ValueError("half way")

        @Asset(io_handler=store)
        def of_m(m: int) -> int:
            return m + 1

        @Asset(io_handler=store)
        def of_n(n: int) -> int:
            return n + 1

        @Asset(io_handler=store)
        def last(of_n: int) -> int:
            return of_n

        run_id = tasks.run(made(both, of_m, of_n, last)["m.materialize"])
        assert tasks.states == {
            "both": "failed",
            "of_m": "success",
            "of_n": "failed",
            "last": "upstream_failed",
        }
        found = kinds(tasks, run_id)
        assert {name for kind, name in found if kind == "Materialization"} == {"m", "of_m"}
        assert sorted(name for kind, name in found if kind == "StepFailure") == ["last", "n", "of_n"]
        run = tasks.storage.get_run(run_id)
        assert run is not None
        assert run.status == "Failure"


class TestGraphAssets:
    @pytest.mark.parametrize("broken", [False, True])
    def test_a_fan_out_is_mapped_and_collected(
        self, tasks: TaskRuns, store: PickleIOHandler, broken: bool
    ) -> None:
        @Task
        def parts() -> list[int]:
            return [1, 2, 3]

        @Task
        def double(part: int) -> int:
            if broken and part == 2:
                raise ValueError("two")
            return 2 * part

        @Task
        def total(values: list[int]) -> int:
            return sum(values)

        @Asset.from_graph(io_handler=store)
        def report() -> Any:
            return total(parts().map(double).collect())

        @Asset(io_handler=store)
        def after(report: int) -> int:
            return report + 1

        run_id = tasks.run(made(report, after)["report.materialize"])
        found = kinds(tasks, run_id)
        assert found[0] == ("StepStart", "report")
        assert found.count(("StepStart", "report")) == 1
        run = tasks.storage.get_run(run_id)
        assert run is not None
        if broken:
            failed = {name for kind, name in found if kind == "StepFailure"}
            assert failed == {
                "report/double__1", "report/double", "report/double__collect", "report/total", "report", "after",
            }  # fmt: skip
            assert run.status == "Failure"
            return
        assert value(store, "after") == 13
        assert run.status == "Success"
        assert {status for status, _ in tasks.storage.compute_staleness().values()} == {"UpToDate"}
        names = [name for kind, name in found if kind == "Materialization"]
        assert sorted(names) == sorted(
            [
                "report/parts",
                *(f"report/double__{n}" for n in range(3)),
                "report/double",
                "report/double__collect",
                "report/total",
                "report",
                "after",
            ]
        )


class TestPartitions:
    def test_a_run_by_hand_has_airflows_key_or_the_param(
        self, tasks: TaskRuns, store: PickleIOHandler
    ) -> None:
        @Asset(io_handler=store, partitions_def=DAYS)
        def daily(context: AssetExecutionContext) -> str:
            return context.partition_key

        dag = made(daily)["daily.materialize"]
        tasks.run(dag, partition_key="2026-01-02")
        run_id = tasks.run(dag, partition_key=None)
        assert "needs" in str(tasks.errors["daily"]) or "partition_key" in str(tasks.errors["daily"])
        assert tasks.storage.get_run(run_id) is None
        assert value(store, "daily", "2026-01-02") == "2026-01-02"
        assert tasks.storage.get_materialized_partitions("daily") == [PartitionKey.single("2026-01-02")]

    def test_a_key_that_is_none_fails_before_the_body(self, tasks: TaskRuns, store: PickleIOHandler) -> None:
        @Asset(io_handler=store, partitions_def=DAYS)
        def daily() -> str:
            raise AssertionError("was called")

        tasks.run(made(daily)["daily.materialize"], partition_key="2027-01-01")
        assert isinstance(tasks.errors["daily"], ExecutionError)

    def test_a_tick_is_for_the_latest_window(self, tasks: TaskRuns, store: PickleIOHandler) -> None:
        latest = AutomationCondition.on_cron("30 6 * * *") & AutomationCondition.in_latest_time_window()

        @Asset(io_handler=store, partitions_def=DAYS, automation_condition=latest)
        def daily(context: AssetExecutionContext) -> str:
            return context.partition_key

        ticked = datetime(2026, 1, 3, 6, 30, tzinfo=timezone.utc)
        tasks.run(made(daily)["daily.materialize"], run_type="scheduled", logical_date=ticked)
        assert value(store, "daily", "2026-01-03") == "2026-01-03"

    def test_an_event_of_a_partition_is_for_those_that_read_it(
        self, tasks: TaskRuns, store: PickleIOHandler, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        @Asset(io_handler=store, group="up", partitions_def=DAYS)
        def daily(context: AssetExecutionContext) -> str:
            return context.partition_key

        @Asset(
            io_handler=store,
            group="down",
            partitions_def=DAYS,
            deps=[AssetDef.input("daily", PartitionMapping.time_window(-1))],
        )
        def after(context: AssetExecutionContext, daily: str) -> str:
            return f"{context.partition_key} after {daily}"

        dags = made(daily, after)
        tasks.run(dags["up.materialize"], partition_key="2026-01-02")
        event = {
            "id": "daily",
            "triggerIds": ["daily"],
            "metadata": {"materialization": {"partition_key": {"single": ["2026-01-02"]}}},
        }
        monkeypatch.setattr(launches, "_event", lambda _: event)
        tasks.run(dags["down.materialize"], run_type="asset_triggered")
        assert value(store, "after", "2026-01-03") == "2026-01-03 after 2026-01-02"
        event["metadata"] = {"materialization": {"partition_key": {"single": ["2026-01-04"]}}}
        tasks.run(dags["down.materialize"], run_type="asset_triggered")
        assert tasks.states == {"after": "skipped"}


class TestVerbs:
    def test_an_action_is_recorded_and_ordered_and_what_fails_holds_back_the_next(
        self, tasks: TaskRuns, store: PickleIOHandler
    ) -> None:
        def vacuum(context: ActionContext) -> ActionResult:
            if context.asset_name == "b":
                raise ValueError("busy")
            return ActionResult.unchanged({"files": 2})

        verb = AssetAction("vacuum", Outcome.Unchanged, ordering=ActionOrdering.DownstreamFirst)(vacuum)

        @Asset(io_handler=store, actions=[verb])
        def a() -> int:
            return 1

        @Asset(io_handler=store, actions=[verb])
        def b(a: int) -> int:
            return a

        dag = made(a, b)["assets.vacuum"]
        run_id = tasks.run(dag)
        assert tasks.states == {"b": "failed", "a": "upstream_failed"}
        run = tasks.storage.get_run(run_id)
        assert run is not None
        assert (run.action, run.status) == ("vacuum", "Failure")
        run_id = tasks.run(dag, selection=["a"])
        assert tasks.states == {"b": "skipped", "a": "success"}
        assert ("ActionCompleted", "a") in kinds(tasks, run_id)

    def test_an_action_for_all_partitions_has_to_be_meant(
        self, tasks: TaskRuns, store: PickleIOHandler
    ) -> None:
        verb = AssetAction("check", Outcome.Unchanged, partitioning=ActionPartitioning.Optional)(
            lambda ctx: None
        )

        @Asset(io_handler=store, partitions_def=DAYS, actions=[verb])
        def daily() -> int:
            return 1

        dag = made(daily)["assets.check"]
        tasks.run(dag)
        assert "whole_asset" in str(tasks.errors["daily"])
        tasks.run(dag, whole_asset=True)
        assert tasks.states == {"daily": "success"}

    def test_observing_is_a_run_of_its_own(self, tasks: TaskRuns, store: PickleIOHandler) -> None:
        @Asset.external(name="feed", io_handler=store)
        def feed() -> Observation:
            return Observation(data_version="7")

        run_id = tasks.run(made(feed)["assets.observe"])
        record = tasks.storage.get_asset_record("feed")
        assert record is not None
        assert record.last_data_version == "7"
        assert kinds(tasks, run_id) == [
            ("StepStart", "feed"),
            ("Observation", "feed"),
            ("StepSuccess", "feed"),
        ]

    def test_an_exclusive_action_waits_for_a_running_materialize(
        self, tasks: TaskRuns, store: PickleIOHandler, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        verb = AssetAction("compact", Outcome.Unchanged, ActionConcurrency.Exclusive)(lambda ctx: None)

        @Asset(io_handler=store, actions=[verb])
        def a() -> int:
            return 1

        dags = made(a)
        storage = tasks.storage
        assert storage.claim("other", "a", (), [AssetClaim("a", exclusive=False)]).is_claimed
        monkeypatch.setattr(claiming.time, "sleep", lambda _: storage.release("other", "a"))
        run_id = tasks.run(dags["assets.compact"])
        assert [kind for kind, _ in kinds(tasks, run_id)] == [
            "StepSlotWaiting",
            "StepSlotClaimed",
            "StepStart",
            "ActionCompleted",
            "StepSuccess",
            "StepSlotReleased",
        ]
        tasks.run(dags["a.materialize"])
        assert storage.claim("other", "a", (), [AssetClaim("a", exclusive=True)]).is_claimed

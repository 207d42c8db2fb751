"""The Dags that a graph becomes: which there are, their tasks, their order, and that two parses agree."""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from airflow.sdk import DAG
from airflow.sdk import Asset as NativeAsset
from airflow.serialization.serialized_objects import DagSerialization

from airflow_assets.authoring.actions import ActionOrdering, AssetAction, Outcome
from airflow_assets.authoring.assets import Asset
from airflow_assets.authoring.automation import AutomationCondition
from airflow_assets.authoring.dags.compile import to_dags
from airflow_assets.authoring.dags.compiled import compiled_of
from airflow_assets.authoring.dags.compute import executor_config
from airflow_assets.authoring.dags.names import safe
from airflow_assets.authoring.deps import AssetDef, SelfDependency
from airflow_assets.authoring.errors import ConfigurationError
from airflow_assets.authoring.graph.resolve import Registered, resolve
from airflow_assets.authoring.handlers.files import PickleIOHandler
from airflow_assets.authoring.handlers.memory import InMemoryIOHandler
from airflow_assets.authoring.hooks import Hook
from airflow_assets.authoring.partitions.definitions import PartitionsDefinition
from airflow_assets.authoring.partitions.mappings import PartitionMapping
from airflow_assets.authoring.retries import Backoff, Compute, RetryPolicy
from airflow_assets.authoring.tasks import Task

if TYPE_CHECKING:
    from collections.abc import Callable

STORE = PickleIOHandler(path="/nowhere")
AB = PartitionsDefinition.static_(["a", "b"])


def made(*assets: Any, **options: Any) -> dict[str, DAG]:
    return to_dags(resolve(assets, Registered()), **options)


def edges(dag: DAG) -> set[tuple[str, str]]:
    return {(task.task_id, other) for task in dag.tasks for other in task.downstream_task_ids}


def asset(name: str, *reads: str, **settings: Any) -> Asset:
    """An asset that reads others, by a body of these parameters."""
    scope: dict[str, Any] = {}
    exec(f"def body({', '.join(reads)}): return 1", scope)  # noqa: S102 - parameters are what an asset reads
    settings.setdefault("io_handler", STORE)
    return Asset(name=name, **settings)(scope["body"])


def serialized(dags: dict[str, DAG]) -> str:
    return json.dumps({name: DagSerialization.to_dict(dag) for name, dag in dags.items()}, sort_keys=True)


class TestUnits:
    def test_a_group_is_a_dag_and_so_is_a_component_of_assets_without_one(self) -> None:
        dags = made(
            asset("a", group="sales"),
            asset("b", group="sales"),
            asset("x"),
            asset("y", "x"),
            asset("lonely"),
        )
        assert {name: sorted(dag.task_dict) for name, dag in dags.items()} == {
            "sales.materialize": ["a", "b"],
            "x.materialize": ["x", "y"],
            "lonely.materialize": ["lonely"],
        }

    def test_a_group_and_a_component_of_one_name_are_two_dags(self) -> None:
        dags = made(asset("sales"), asset("a", group="sales"))
        assert {name: list(dag.task_dict) for name, dag in dags.items()} == {
            "sales.alone.materialize": ["sales"],
            "sales.materialize": ["a"],
        }

    def test_assets_with_other_partitions_have_a_dag_of_their_own(self) -> None:
        dags = made(
            asset("raw", group="g", partitions_def=AB),
            asset("all", group="g"),
            asset("more", "raw", group="g", partitions_def=AB),
        )
        assert {name: sorted(dag.task_dict) for name, dag in dags.items()} == {
            "g.materialize": ["more", "raw"],
            "g.all.materialize": ["all"],
        }

    def test_tasks_wait_for_what_they_read_and_for_what_only_orders(self) -> None:
        dags = made(asset("a"), asset("b", "a"), asset("c", "b", deps=[AssetDef.dep("a")]))
        assert edges(dags["a.materialize"]) == {("a", "b"), ("a", "c"), ("b", "c")}

    def test_no_id_is_an_identifier_so_a_dag_file_keeps_its_names(self) -> None:
        dags = made(asset("orders"), asset("x", group="sales"))
        assert not [name for name in dags if name.isidentifier()]


class TestNames:
    def test_names_that_airflow_would_not_take_get_safe_ids_and_are_shown(self) -> None:
        dag = made(asset("größe & preis", group="Vertrieb Süd"))[f"{safe('Vertrieb Süd')}.materialize"]
        (task,) = dag.tasks
        assert dag.dag_display_name == "Vertrieb Süd"
        assert (task.task_id, task.task_display_name) == (safe("größe & preis"), "größe & preis")
        (outlet,) = task.outlets
        assert outlet.extra["airflow_assets"]["id"] == "größe & preis"

    def test_two_names_never_share_an_id(self) -> None:
        names = ["a/b", "a b", "a_b", "a.b", "ä", "ö", "x" * 300, "x" * 301]
        assert len({safe(name) for name in names}) == len(names)

    def test_a_task_of_a_graph_and_an_asset_with_a_dot_share_no_id(self) -> None:
        @Task
        def b() -> int:
            return 1

        graph = Asset.from_graph(name="a", group="g", io_handler=STORE)(lambda: b())  # noqa: PLW0108 - its name would be the task's
        dag = made(asset("a.b", group="g"), graph)["g.materialize"]
        assert len(dag.task_dict) == 3


class TestOutlets:
    def test_every_output_is_an_outlet_with_the_mark_of_its_step(self) -> None:
        multi = Asset.from_multi(
            output_defs=[AssetDef("m"), AssetDef("n", group="g2")], name="both", group="g"
        )(lambda: {"m": 1, "n": 2})
        (task,) = made(multi)["g.materialize"].tasks
        assert task.task_id == "both"
        assert [(one.name, one.group) for one in task.outlets] == [("m", "g"), ("n", "g2")]
        assert all(one.extra["airflow_assets"]["authored"] for one in task.outlets)

    def test_nobody_else_records_what_a_step_records_itself(self) -> None:
        from airflow_assets.airflow_bridge import declared_runs, follower
        from airflow_assets.recording.body import TaskBody

        (task,) = made(asset("a"))["a.materialize"].tasks
        (outlet,) = task.outlets
        assert TaskBody(SimpleNamespace(task=task)).outlets == []
        assert declared_runs._declared(None, outlet) is None  # what the reconciler reads
        event = {"name": "a", "uri": "a", "group": "asset", "asset_extra": outlet.extra}
        of_task = SimpleNamespace(**event, source_task_id="a")
        by_hand = SimpleNamespace(**event, source_task_id=None)
        assert follower._names_no_asset(of_task)
        assert not follower._names_no_asset(by_hand)

    def test_tasks_inside_a_graph_have_none_but_the_graph_has(self) -> None:
        dag = graph_dag()
        outlets = {task.task_id: [one.name for one in task.outlets] for task in dag.tasks}
        assert {name for name, found in outlets.items() if found} == {"report.publish"}
        assert outlets["report.publish"] == ["report"]


def graph_dag(**more: Any) -> DAG:
    @Task
    def parts() -> list[int]:
        return [1, 2]

    @Task
    def one(part: int) -> int:
        return part

    @Task
    def total(values: list[int]) -> int:
        return sum(values)

    @Asset.from_graph(name="report", io_handler=STORE, **more)
    def report() -> Any:
        return total(parts().map(one, max_concurrency=3).collect())

    return made(report)["report.materialize"]


class TestGraphAssets:
    def test_it_is_a_task_group_with_its_fan_out_mapped(self) -> None:
        dag = graph_dag()
        assert sorted(dag.task_dict) == [
            "report.one",
            "report.one__collect",
            "report.one__elements",
            "report.parts",
            "report.publish",
            "report.total",
        ]
        mapped: Any = dag.get_task("report.one")
        assert mapped.is_mapped
        assert mapped.max_active_tis_per_dagrun == 3
        assert {("report.parts", "report.one__elements"), ("report.one__elements", "report.one")} <= edges(
            dag
        )
        assert ("report.one", "report.one__collect") in edges(dag)
        assert dag.task_group.get_task_group_dict()["report"].label == "report"

    def test_a_mapped_task_holds_no_object_of_the_graph(self) -> None:
        assert "object at 0x" not in serialized({"d": graph_dag()})


class TestOptions:
    def test_options_reach_every_dag(self) -> None:
        vacuum = AssetAction("vacuum", Outcome.Unchanged)(lambda ctx: None)
        dags = made(asset("a", actions=[vacuum]), asset("b"), tags=["team"], max_active_runs=7)
        assert {(*dag.tags, dag.max_active_runs) for dag in dags.values()} == {("team", 7)}

    @pytest.mark.parametrize("option", ["dag_id", "schedule", "params"])
    def test_what_the_assets_say_is_no_option(self, option: str) -> None:
        with pytest.raises(ConfigurationError, match=option):
            made(asset("a"), **{option: None})

    def test_one_run_at_a_time_where_two_would_write_the_same(self) -> None:
        def again(self: SelfDependency[int]) -> int:
            return (self.get_inner() or 0) + 1

        plain = made(asset("a"))["a.materialize"]
        keyed = made(asset("a", partitions_def=AB))["a.materialize"]
        itself = made(Asset(name="a", io_handler=STORE, partitions_def=AB)(again))["a.materialize"]
        assert (plain.max_active_runs, itself.max_active_runs) == (1, 1)
        assert keyed.max_active_runs > 1

    def test_retries_are_the_policy_and_its_own_wait(self) -> None:
        policy = RetryPolicy(3, backoff=Backoff.constant(7), retry_on=[KeyError])
        (task,) = made(asset("a", retry=policy))["a.materialize"].tasks
        assert task.retries == 3
        again = task.retry_policy.evaluate(KeyError("x"), 1, 3)
        assert (again.action.value, again.retry_delay.total_seconds()) == ("retry", 7)
        assert task.retry_policy.evaluate(ValueError("x"), 1, 3).action.value == "fail"

    def test_without_a_policy_airflows_default_retries_do_not_apply(self) -> None:
        (task,) = made(asset("a"), default_args={"retries": 5})["a.materialize"].tasks
        assert (task.retries, task.retry_policy) == (0, None)


class TestCompute:
    ASKED = Compute(cpu="500m", memory="2Gi", gpu="1")

    def test_it_is_the_pod_of_the_kubernetes_executor(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A stand-in for the kubernetes package, which is not installed here, keeps what it is told."""
        names = ("V1ResourceRequirements", "V1Container", "V1Pod", "V1PodSpec")
        models = SimpleNamespace(**dict.fromkeys(names, lambda **told: told))
        client = ModuleType("kubernetes.client")
        client.models = models  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "kubernetes", ModuleType("kubernetes"))
        monkeypatch.setitem(sys.modules, "kubernetes.client", client)
        found = executor_config(self.ASKED)
        quantities = {"cpu": "500m", "memory": "2Gi", "nvidia.com/gpu": "1"}
        container = {"name": "base", "resources": {"requests": quantities, "limits": quantities}}
        assert found == {"pod_override": {"spec": {"containers": [container]}}}

    def test_without_kubernetes_it_is_ignored_with_a_warning(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "kubernetes.client", None)
        with pytest.warns(UserWarning, match="memory='2Gi'"):
            (task,) = made(asset("a", compute=self.ASKED))["a.materialize"].tasks
        assert task.executor_config == {}


class TestHandlers:
    @pytest.mark.parametrize("handler", [None, InMemoryIOHandler()])
    def test_a_value_that_another_task_reads_must_outlive_its_process(self, handler: Any) -> None:
        with pytest.raises(ConfigurationError, match=r"'b' reads 'a'.*default_handler"):
            made(asset("a", io_handler=handler), asset("b", "a"))

    def test_a_default_handler_is_one(self) -> None:
        assert made(asset("a", io_handler=None), asset("b", "a"), default_handler=STORE)

    def test_what_only_orders_needs_none(self) -> None:
        assert made(asset("a", io_handler=None), asset("b", deps=[AssetDef.dep("a")]))


class TestVerbs:
    def test_each_verb_has_a_dag_with_its_targets_in_its_order(self) -> None:
        def body(context: Any) -> None: ...

        vacuum = AssetAction("vacuum", Outcome.Unchanged, ordering=ActionOrdering.DownstreamFirst)(body)
        dag = made(
            asset("x", actions=[vacuum]), asset("y", "x"), asset("z", "y", actions=[vacuum]), name="shop"
        )["shop.vacuum"]
        assert edges(dag) == {("z", "x")}
        assert dag.schedule is None
        assert set(dag.params) == {"selection", "config"}

    def test_a_destructive_verb_is_confirmed_first(self) -> None:
        drop = AssetAction("drop", Outcome.Unmaterialize)(lambda ctx: None)
        dag = made(asset("a", actions=[drop], partitions_def=AB), asset("b", actions=[drop]))["assets.drop"]
        assert edges(dag) == {("confirm", "a"), ("confirm", "b")}
        assert {"partition_key", "whole_asset"} <= set(dag.params)

    def test_what_can_be_observed_has_a_dag(self) -> None:
        feed = Asset.external(name="feed", io_handler=STORE)(lambda: None)
        silent = Asset.external(name="silent", io_handler=STORE)
        dags = made(feed, silent)
        assert {name: list(dag.task_dict) for name, dag in dags.items()} == {"assets.observe": ["feed"]}

    def test_the_dags_tasks_find_their_graph(self) -> None:
        dag = made(asset("a"))["a.materialize"]
        assert compiled_of(dag.get_task("a")).graph.steps["a"].name == "a"
        with pytest.raises(ConfigurationError, match="to_dags"):
            compiled_of(type("Task", (), {"dag": DAG("other")}))


class TestParse:
    def test_two_parses_are_one_dag_version(self) -> None:
        def parse() -> str:
            drop = AssetAction("drop", Outcome.Unmaterialize)(lambda ctx: None)
            hook = Hook.success(lambda ctx: None)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                dags = made(
                    asset("a", group="g", hooks=[hook], retry=RetryPolicy(2, backoff=Backoff.linear(1))),
                    asset("b", "a", group="h", actions=[drop], kinds=["table", "x"], tags=["t"]),
                    asset("c", "b", partitions_def=None, automation_condition=AutomationCondition.eager()),
                    asset("d", group="k", partitions_def=AB),
                    asset(
                        "e", "d", group="m",
                        deps=[AssetDef.input("d", PartitionMapping.all_partitions())],
                    ),
                )  # fmt: skip
            return serialized({**dags, "graph": graph_dag()})

        assert parse() == parse()

    def test_a_thousand_assets_cost_little_more_than_airflows_own_operators(self) -> None:
        """The bound is on what is ours: a multiple of what Airflow takes for 1,000 bare operators."""
        from airflow.sdk import BaseOperator

        graph = resolve(
            [asset(f"a{n}", *([f"a{n - 1}"] if n % 10 else []), group="g") for n in range(1_000)],
            Registered(),
        )

        def bare() -> None:
            dag = DAG("bare")
            tasks = [
                BaseOperator(task_id=f"a{n}", dag=dag, outlets=[NativeAsset(f"a{n}")]) for n in range(1_000)
            ]
            for n in range(1_000):
                if n % 10:
                    tasks[n].set_upstream(tasks[n - 1])

        to_dags(graph)
        theirs = min(_cpu(bare) for _ in range(3))
        ours = min(_cpu(lambda: to_dags(graph)) for _ in range(3))
        print(f"1,000 bare operators {theirs:.3f} s, 1,000 assets {ours:.3f} s of processor time")
        assert ours < 2.5 * theirs + 0.1

    def test_a_dag_file_is_where_its_dags_say_they_are(self) -> None:
        (dag,) = made(asset("a")).values()
        assert Path(dag.fileloc) == Path(__file__)


def _cpu(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began

"""Who provides each parameter, who waits for whom, and what does not fit."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from airflow_assets.authoring.assets import Asset
from airflow_assets.authoring.automation import AutomationCondition
from airflow_assets.authoring.deps import AssetDef, SelfDependency
from airflow_assets.authoring.errors import (
    AssetDefinitionError,
    ConfigurationError,
    GraphValidationError,
    PartitionValidationError,
)
from airflow_assets.authoring.graph.nodes import Gets
from airflow_assets.authoring.graph.order import closure
from airflow_assets.authoring.graph.resolve import Graph, Registered, resolve
from airflow_assets.authoring.partitions.definitions import PartitionsDefinition
from airflow_assets.authoring.partitions.mappings import PartitionMapping
from airflow_assets.authoring.retries import RetryPolicy
from airflow_assets.authoring.tasks import Task
from tests.unit.authoring.test_definitions import HANDLER

if TYPE_CHECKING:
    from decimal import Decimal

    from airflow_assets.authoring.contexts import AssetExecutionContext

AB = PartitionsDefinition.static_(["a", "b"])


@Asset
def up() -> int:
    return 1


def named(name: str, *reads: str, **settings: Any) -> Asset:
    """An asset whose parameters are these."""
    made: dict[str, Any] = {}
    exec(f"def {name}({', '.join(reads)}): return 1", made)  # noqa: S102 - a function of these parameters
    return Asset(made[name], **settings)


def graph_of(*assets: Any, **registered: Any) -> Graph:
    return resolve(assets, Registered(**registered))


def gets(graph: Graph, step: str) -> dict[str, Gets]:
    return {parameter.name: parameter.gets for parameter in graph.steps[step].parameters}


def test_b26_a_parameter_is_an_edge_whatever_its_annotation() -> None:
    def plain(up): ...  # type: ignore[no-untyped-def]

    def annotated(up: Decimal) -> None: ...

    graph = graph_of(Asset(plain), up, Asset(annotated))
    assert graph.upstreams("plain") == graph.upstreams("annotated") == ["up"]
    assert graph.levels == [["up"], ["plain", "annotated"]]


def test_what_each_parameter_gets() -> None:
    def body(
        ctx: AssetExecutionContext,
        self: SelfDependency[list[int]],
        up: int,
        db: str,
        size: int = 3,
        **more: Any,
    ) -> None: ...

    def by_name(context, up=None, *, db): ...  # type: ignore[no-untyped-def]

    graph = graph_of(up, Asset(body), Asset(by_name), resources={"db": object()})
    assert gets(graph, "body") == {
        "ctx": Gets.CONTEXT,
        "self": Gets.SELF,
        "up": Gets.NODE,
        "db": Gets.RESOURCE,
    }
    assert graph.steps["body"].parameters[1].hint == list[int]
    assert gets(graph, "by_name") == {"context": Gets.CONTEXT, "db": Gets.RESOURCE}
    assert graph.steps["by_name"].parameters[1].by_name
    assert graph.upstreams("by_name") == []


def test_b28_a_cycle_is_shown_without_bystanders() -> None:
    with pytest.raises(GraphValidationError, match=r"x -> y -> x|y -> x -> y"):
        graph_of(named("x", "y"), named("y", "x"))
    with pytest.raises(GraphValidationError) as raised:
        graph_of(named("p", "r"), named("q", "p"), named("r", "q"), named("by", "p"), up)
    assert "by" not in str(raised.value)
    assert str(raised.value).count("->") == 3


def test_b30_one_name_is_one_definition() -> None:
    with pytest.raises(AssetDefinitionError, match="'up'"):
        graph_of(up, named("up"))
    assert list(graph_of(up, up).steps) == ["up"]
    with pytest.raises(AssetDefinitionError, match="Two assets"):
        graph_of(up, Asset.from_multi(lambda: 1, [AssetDef("up")], name="step"))


def test_b32_an_asset_beats_a_resource() -> None:
    with pytest.warns(UserWarning, match="'up'"):
        graph = graph_of(up, named("down", "up"), resources={"up": 1})
    assert gets(graph, "down") == {"up": Gets.NODE}


def test_b34_a_multi_asset_waits_for_what_any_output_waits_for() -> None:
    outputs = [AssetDef("x", deps=[AssetDef.dep("first")]), AssetDef("y", deps=[AssetDef.dep("second")])]
    graph = graph_of(Asset.from_multi(lambda: 1, outputs, name="both"), named("first"), named("second"))
    assert graph.upstreams("x") == ["first"]
    assert graph.upstreams("y") == ["second"]
    assert graph.levels == [["first", "second"], ["both"]]


def test_a_multi_assets_step_may_have_the_name_of_an_asset() -> None:
    graph = graph_of(up, Asset.from_multi(lambda: 1, [AssetDef("x"), AssetDef("y")], name="up"))
    assert graph.step_of["x"] == graph.step_of["y"] != graph.step_of["up"] == "up"


@pytest.mark.parametrize(
    ("assets", "error", "said"),
    [
        ([lambda: named("a", "nobody")], GraphValidationError, "'nobody'"),
        ([lambda: named("a", deps=[AssetDef.dep("nobody")])], GraphValidationError, "'nobody'"),
        ([lambda: named("a", "a")], GraphValidationError, "SelfDependency"),
        ([lambda: named("a", deps=[AssetDef.dep("a")])], GraphValidationError, "SelfDependency"),
        ([lambda: Asset(_late), lambda: up], GraphValidationError, "first parameter"),
        ([lambda: _late], AssetDefinitionError, "takes assets"),
        ([lambda: Asset(group="g", name="n")], AssetDefinitionError, "decorator"),
        ([lambda: Asset.external(io_handler=HANDLER)], AssetDefinitionError, "no name"),
        ([lambda: named("a", io_handler="nope")], AssetDefinitionError, "resource 'nope'"),
        ([lambda: named("a", partitions_def="nope")], ConfigurationError, "partition_defs"),
        ([lambda: named("a", retry="nope")], ConfigurationError, "retries"),
        (
            [lambda: Asset.external(name="e", io_handler=HANDLER, automation_condition=AutomationCondition.on_missing())],
            AssetDefinitionError,
            "observe",
        ),
        (
            [lambda: named("a", automation_condition=AutomationCondition.in_latest_time_window())],
            AssetDefinitionError,
            "time windows",
        ),
        ([lambda: named("a", partitions_def=AB), lambda: named("b", "a")], PartitionValidationError, "all_partitions"),
        (
            [lambda: Asset.from_multi(lambda: 1, [AssetDef("x", retry=RetryPolicy(1)), AssetDef("y", retry="z")], name="m")],
            AssetDefinitionError,
            "different retry",
        ),
        (
            [
                lambda: up,
                lambda: Asset.from_multi(
                    lambda: 1,
                    [AssetDef("x", partition_mapping={"up": PartitionMapping.identity()})],
                    deps=[AssetDef.dep("up", PartitionMapping.subset())],
                    name="m",
                ),
            ],
            AssetDefinitionError,
            "conflict",
        ),
    ],
)  # fmt: skip
def test_what_does_not_resolve(assets: list[Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        graph_of(*(make() for make in assets))


def _late(up: int, ctx: AssetExecutionContext) -> int:
    return up


def test_names_are_looked_up() -> None:
    policy, default = RetryPolicy(3), RetryPolicy(7)
    asset = named("a", partitions_def="ab", retry="thrice", io_handler="disk", pool="p")
    graph = graph_of(
        asset,
        named("b", partitions_def="ab"),
        partition_defs={"ab": AB},
        retries={"thrice": policy},
        resources={"disk": HANDLER},
        default_retry=default,
    )
    assert graph.nodes["a"].partitions == AB
    assert graph.nodes["a"].io_handler is HANDLER
    assert (graph.steps["a"].retry, graph.steps["b"].retry) == (policy, default)
    assert graph.steps["a"].pools == [("p", 1)]


def test_overrides_belong_to_one_edge() -> None:
    dep = AssetDef.input("up", io_handler=HANDLER, metadata={"columns": "a"})
    graph = graph_of(
        up, named("down", "up", deps=[dep, AssetDef.dep("late")]), named("late"), named("other", "up")
    )
    edge = graph.nodes["down"].edges["up"]
    assert (edge.loads, edge.io_handler, edge.metadata) == (True, HANDLER, {"columns": "a"})
    assert not graph.nodes["down"].edges["late"].loads
    assert graph.nodes["other"].edges["up"].io_handler is None


def test_a_graph_asset_is_its_steps_and_itself() -> None:
    double, add = Task(lambda x: 2 * x, name="double"), Task(lambda a, b: a + b, name="add")

    @Asset.from_graph(deps=[AssetDef.dep("late")], io_handler=HANDLER)
    def total(up: int) -> Any:
        return add(double(up), 5)

    graph = graph_of(up, named("late"), total)
    assert graph.levels == [["up", "late"], ["total/double"], ["total/add"], ["total"]]
    assert graph.upstreams("total") == ["total/add", "late"]
    constant = graph.steps["total/add"].parameters[1]
    assert (constant.gets, constant.value) == (Gets.CONSTANT, 5)
    assert graph.nodes["total/double"].io_handler is HANDLER
    with pytest.raises(GraphValidationError, match="returns None"):
        graph_of(Asset.from_graph(lambda: None, name="empty"))


def test_fan_out_waits_for_its_elements_and_collects_them() -> None:
    parts, load = Task(lambda: [1, 2], name="parts"), Task(lambda context, x: x, name="load")
    graph = graph_of(Asset.from_graph(lambda: parts().map(load).collect(), name="g"))
    assert graph.levels == [["g/parts"], ["g/load"], ["g/load__collect"], ["g"]]


def test_what_a_node_needs_is_everything_above_it() -> None:
    graph = graph_of(up, named("b", "up"), named("c", "b"), named("d", "up"))
    waits = {name: step.order for name, step in graph.steps.items()}
    assert closure(["c"], waits) == {"up", "b", "c"}


def test_ten_thousand_assets_resolve_in_time_that_grows_with_their_number() -> None:
    """Not a benchmark: a quadratic step would take minutes here."""
    assets = [named(f"a{n}", *([f"a{n - 1}"] if n % 100 else [])) for n in range(3_000)]
    began = time.process_time()
    graph = graph_of(*assets)
    assert len(graph.steps) == 3_000
    assert len(graph.levels) == 100
    assert time.process_time() - began < 10

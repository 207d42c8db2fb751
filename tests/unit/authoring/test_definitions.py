"""Definitions: what is accepted, what is read back, what is refused. Rows Bnn are those of the behaviour table."""

from __future__ import annotations

import asyncio
import pickle
from typing import Any

import pytest

from airflow_assets.authoring.actions import (
    ActionConcurrency,
    ActionPartitioning,
    ActionResult,
    AssetAction,
    Outcome,
    action,
)
from airflow_assets.authoring.assets import (
    Asset,
    ExternalAsset,
    GraphAsset,
    MultiAsset,
    SingleAsset,
)
from airflow_assets.authoring.automation import AutomationCondition as Condition
from airflow_assets.authoring.class_form import desugar, snake_case
from airflow_assets.authoring.deps import AssetDef, DepDef, SelfDependency
from airflow_assets.authoring.errors import (
    AssetDefinitionError,
    ConfigurationError,
    InvalidMetadataError,
    TaskDefinitionError,
)
from airflow_assets.authoring.handlers.interface import BaseIOHandler
from airflow_assets.authoring.hooks import Hook
from airflow_assets.authoring.metadata import coerced, dumps, loads
from airflow_assets.authoring.metadata_values import MetadataValue
from airflow_assets.authoring.partitions.definitions import PartitionsDefinition
from airflow_assets.authoring.partitions.mappings import PartitionMapping
from airflow_assets.authoring.results import Materialization, Observation, Output
from airflow_assets.authoring.retries import (
    Backoff,
    Compute,
    ComputeEscalation,
    FailureReason,
    RetryOn,
    RetryPolicy,
)
from airflow_assets.authoring.tasks import BashTask, Task

AB, BC, CD = (PartitionsDefinition.static_(list(keys)) for keys in ("ab", "bc", "cd"))


class Nowhere(BaseIOHandler):
    """A handler that stores nothing: definitions only need its type."""

    def handle_output(self, context: Any, obj: Any) -> None:
        """Store nothing."""

    def load_input(self, context: Any) -> Any:
        """Load nothing."""


HANDLER = Nowhere()
VACUUM = AssetAction("vacuum", Outcome.Unchanged)(lambda ctx: None)


def body() -> int:
    return 1


def test_bare_and_with_parameters() -> None:
    bare = Asset(body)
    assert type(bare) is SingleAsset
    assert (bare.name, bare.kinds, bare.tags, bare.pool, bare.deps, bare.partition_mapping) == (
        "body", [], None, [], [], None,
    )  # fmt: skip
    made = Asset(
        name="orders", tags=["etl"], kinds="table", group="sales", code_version="2", io_handler=HANDLER
    )(body)
    assert (made.name, made.tags, made.kinds, made.group, made.code_version) == (
        "orders", ["etl"], ["table"], "sales", "2",
    )  # fmt: skip
    assert made.io_handler is HANDLER
    assert (made.is_single, made.is_multi, made.is_graph, made.is_external) == (True, False, False, False)


def test_b02_one_decorator_makes_distinct_assets_of_the_same_kind() -> None:
    def other() -> int:
        return 2

    for etl, kind in (
        (Asset(group="g"), SingleAsset),
        (Asset.from_multi(output_defs=[AssetDef("a")], deps=[AssetDef.dep("up")]), MultiAsset),
        (Asset.from_graph(group="g"), GraphAsset),
        (Asset.external(io_handler=HANDLER, group="g"), ExternalAsset),
    ):
        first, second = etl(body), etl(other)
        assert first is not second
        assert type(first) is type(second) is kind
        assert (first.name, second.name) == ("body", "other")
        assert first.group == second.group
        assert [dep.name for dep in first.deps] == [dep.name for dep in second.deps]


@pytest.mark.parametrize("arguments", [(), (body, body), (3,)])
def test_a_decorator_takes_one_function(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(AssetDefinitionError, match="one function"):
        Asset(group="g")(*arguments)
    with pytest.raises(AssetDefinitionError, match="one function"):
        Asset(group="g")(wraps=body)


def test_b04_an_asset_is_called_only_inside_a_graph_body() -> None:
    asset = Asset(body)
    for arguments in ((), (body,)):
        with pytest.raises(AssetDefinitionError, match="from_graph"):
            asset(*arguments)

    @Asset.from_graph
    def graph() -> Any:
        return asset()

    assert list(graph.trace.assets) == ["body"]
    assert graph.result.node_name == "body"


@pytest.mark.parametrize(
    ("pool", "slots", "pairs"),
    [
        ("p", 2, [("p", 2)]),
        (["p", "q"], {"p": 3}, [("p", 3), ("q", 1)]),
        (["p", "q"], None, [("p", 1), ("q", 1)]),
        ("p", 0, [("p", 0)]),
        (None, 3, []),
    ],
)
def test_b06_pools_are_pairs(pool: Any, slots: Any, pairs: list[tuple[str, int]]) -> None:
    asset = Asset(body, pool=pool, pool_slots=slots)
    assert asset.pool == pairs
    assert asset.pool_slots == dict(pairs)


@pytest.mark.parametrize("define", [
    lambda deps: Asset(body, deps=deps),
    lambda deps: Asset(deps=deps)(body),
    lambda deps: Asset.from_multi(body, [AssetDef("a")], deps=deps),
])  # fmt: skip
def test_b08_an_input_needs_its_parameter(define: Any) -> None:
    with pytest.raises(ValueError, match="'upstream'"):
        define([AssetDef.input("upstream")])
    define([AssetDef.dep("upstream")])


def test_an_input_is_a_parameter_with_or_without_annotation() -> None:
    def reads(upstream, other: int) -> None: ...  # type: ignore[no-untyped-def]

    mapping = PartitionMapping.identity()
    asset = Asset(reads, deps=[AssetDef.input("upstream", mapping), AssetDef.dep("late")])
    assert [dep.name for dep in asset.deps] == ["late"]
    assert [dep.name for dep in asset.inputs] == ["upstream"]
    assert asset.partition_mapping == {"upstream": mapping}


def test_b10_a_type_hint_is_a_type() -> None:
    with pytest.raises(AssetDefinitionError, match="'int'"):
        AssetDef("a", type_hint="int")
    assert AssetDef("a", type_hint=int).type_hint is int


def test_b12_outputs_share_partitions() -> None:
    for one, other in ((AB, PartitionsDefinition.dynamic("x")), (AB, CD), (AB, None)):
        outputs = [AssetDef("x", partitions_def=one), AssetDef("y", partitions_def=other)]
        with pytest.raises(ValueError, match=r"'[xy]'"):
            Asset.from_multi(body, outputs)
        Asset.from_multi(body, outputs, partitions_def=AB)
    made = Asset.from_multi(body, [AssetDef("x", partitions_def=AB), AssetDef("y", partitions_def=BC)])
    assert [output.partitions_def for output in made.output_defs] == [AB, BC]


def test_b14_what_a_multi_asset_gives_its_outputs() -> None:
    own = AssetDef("own", group="mine", kinds="view", tags=["x"], partitions_def=BC, actions=[VACUUM])
    shared = AssetAction("vacuum", Outcome.MayMaterialize)(lambda ctx: None)
    made = Asset.from_multi(
        body,
        [own, AssetDef("bare")],
        group="all",
        kinds=["table"],
        tags=["y"],
        partitions_def=AB,
        actions=[shared],
    )
    first, second = made.output_defs
    assert (first.group, first.kinds, first.tags, first.partitions_def) == ("mine", ["view"], ["x"], AB)
    assert (second.group, second.kinds, second.tags, second.partitions_def) == ("all", ["table"], ["y"], AB)
    assert [one.outcome for one in first.actions] == [Outcome.Unchanged]
    assert [one.outcome for one in second.actions] == [Outcome.MayMaterialize]
    assert (made.group, made.kinds, made.tags, made.partitions_def, made.actions) == (
        None,
        [],
        None,
        None,
        None,
    )
    assert own.partitions_def is BC
    assert own.group == "mine"


def test_b16_an_external_asset_needs_a_handler() -> None:
    with pytest.raises(AssetDefinitionError, match="io_handler"):
        Asset.external(name="source")

    @Asset.external(io_handler=HANDLER)
    def source(context: Any) -> Observation:
        return Observation(data_version="1")

    assert source.observe_fn is not None
    assert source.is_external
    with pytest.raises(AssetDefinitionError, match="already"):
        source(body)
    nameless = Asset.external(io_handler=HANDLER)
    with pytest.raises(AssetDefinitionError, match="no name"):
        _ = nameless.name


def test_b18_actions_are_bound_once_and_named_once() -> None:
    unbound = AssetAction("optimize", Outcome.Unchanged, ActionConcurrency.Exclusive)
    with pytest.raises(AssetDefinitionError, match="no body"):
        Asset(body, actions=[unbound])
    with pytest.raises(AssetDefinitionError, match="twice"):
        Asset(body, actions=[VACUUM, VACUUM])
    with pytest.raises(AssetDefinitionError, match="already"):
        VACUUM(lambda ctx: None)
    first, second = unbound(lambda ctx: 1), unbound(lambda ctx: 2)
    assert first is not second
    assert not unbound.is_bound
    assert Asset(body, actions=[first]).actions == Asset(body, actions=[first]).actions == [first]
    assert first.exclusive
    assert first.partitioning is ActionPartitioning.Required


@pytest.mark.parametrize(
    "make",
    [
        lambda: AssetAction("materialize", Outcome.Unchanged),
        lambda: AssetAction("", Outcome.Unchanged),
        lambda: AssetAction("look", Outcome.Observe),
        lambda: AssetAction("x", Outcome.Unchanged)(3),  # type: ignore[arg-type]
        lambda: AssetAction("x", Outcome.Unchanged, retry=3),  # type: ignore[arg-type]
        lambda: Asset(body, kinds=3),  # type: ignore[call-overload]
        lambda: Asset(body, io_handler=Nowhere),
        lambda: Asset(body, io_handler=object()),
        lambda: Asset(body, pool=""),
        lambda: Asset(body, pool="__asset__:x"),
        lambda: Asset(body, pool="p", pool_slots={"q": 1}),
        lambda: Asset(body, pool="p", pool_slots=-1),
        lambda: Asset(body, retry=3),  # type: ignore[call-overload]
        lambda: Asset(body, name=" "),
        lambda: Asset(body, name="a|b"),
        lambda: Asset(type("Orders", (), {})),
        lambda: Asset.from_multi(body, [AssetDef()]),
        lambda: Hook.success(body)(body),
        lambda: Asset(tags=["x"]).name,
    ],
)
def test_what_a_definition_refuses(make: Any) -> None:
    with pytest.raises(AssetDefinitionError):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Asset(body, name=3),  # type: ignore[call-overload]
        lambda: Asset(body, tags="etl"),
        lambda: Asset(body, code_version=3),  # type: ignore[call-overload]
        lambda: Asset(body, metadata={"a": 1}),
        lambda: Asset(body, hooks=[body]),
        lambda: Asset(body, deps=["up"]),
        lambda: Asset(body, unknown=1),  # type: ignore[call-overload]
        lambda: Asset.from_multi(body, [], pool="p"),  # type: ignore[call-arg]
        lambda: Asset.external(io_handler=HANDLER, actions=[]),  # type: ignore[call-arg]
        lambda: AssetDef("a", compute=Compute()),  # type: ignore[call-arg]
        DepDef,
        ActionResult,
        lambda: Hook(body),
        lambda: RetryPolicy("2"),  # type: ignore[arg-type]
        lambda: RetryPolicy(retry_on=["x"]),  # type: ignore[list-item]
        lambda: Output(1, metadata={"a": object()}),
        lambda: Materialization(tags="x"),
        lambda: Observation(data_version=2),  # type: ignore[arg-type]
        lambda: ActionResult.unchanged({"a": []}),
    ],
)
def test_arguments_of_another_type(make: Any) -> None:
    with pytest.raises(TypeError):
        make()


def test_assets_are_read_only_and_compared_by_identity() -> None:
    asset = Asset(body)
    with pytest.raises(AttributeError, match="read-only"):
        asset.group = "other"  # type: ignore[misc]
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(asset)
    assert asset != Asset(body)
    assert AssetDef("a", kinds="t") == AssetDef("a", kinds=["t"]) != AssetDef("b")
    with pytest.raises(AttributeError, match="read-only"):
        Output(1).value = 2


def test_async_bodies_are_seen() -> None:
    async def later() -> int:
        await asyncio.sleep(0)
        return 1

    async def some() -> Any:
        yield 1

    assert Asset(later).is_async
    assert Asset(some).is_async
    assert not Asset(body).is_async


class Seeded:
    """A mixin without a base: it gives attributes, a verb and the body's parameter."""

    group = "seeded"
    seed = 0

    @action(outcome=Outcome.Unmaterialize)
    @classmethod
    def purge(cls, ctx: Any) -> str:
        return cls.__name__ + str(ctx)


class Template(Seeded, Asset):
    @classmethod
    def materialize(cls) -> int:
        return cls.seed * 2


class OrdersV2(Template):
    kinds = "table"
    seed = 4


class Other(Template):
    name = "named"
    seed = 5


def test_b22_class_form_follows_the_mro() -> None:
    first, second = desugar(OrdersV2), desugar(Other)
    assert (first.name, first.kinds, first.group, second.name) == ("orders_v2", ["table"], "seeded", "named")
    assert (first.function(), second.function()) == (8, 10)  # type: ignore[misc]
    ((purge),) = first.actions or []
    assert (purge.name, purge.outcome, purge.body("ctx")) == ("purge", Outcome.Unmaterialize, "OrdersV2ctx")  # type: ignore[misc]


def _class(base: type, **attributes: Any) -> type:
    return type("Made", (base,), attributes)


MATERIALIZE = classmethod(lambda cls: 1)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: _class(Asset, materialize=lambda self: 1), "@classmethod"),
        (lambda: _class(Asset, materialize=MATERIALIZE, observe=MATERIALIZE), "observe"),
        (
            lambda: _class(ExternalAsset, io_handler=HANDLER, materialize=MATERIALIZE),
            "observed, not produced",
        ),
        (lambda: _class(GraphAsset, materialize=MATERIALIZE), "compose"),
        (lambda: _class(Asset), "mixin"),
        (lambda: _class(Asset, materialize=MATERIALIZE, out=AssetDef()), "AssetDef"),
        (lambda: Asset, "subclass"),
        (lambda: object, "subclass"),
        (lambda: _class(MultiAsset, materialize=MATERIALIZE), "no output"),
        (lambda: _class(MultiAsset, materialize=MATERIALIZE, a=AssetDef(), pool="p"), "pool"),
        (lambda: _class(Asset, materialize=MATERIALIZE, kind="table"), "kinds"),
        (lambda: _class(Asset, materialize=MATERIALIZE, actions=[1]), "no AssetAction"),
        (lambda: _class(Asset, materialize=MATERIALIZE, actions=[VACUUM], again=VACUUM), "twice"),
        (lambda: _class(OrdersV2, purge=None), "hides"),
        (lambda: _class(ExternalAsset, io_handler=HANDLER, vacuum=VACUUM), "no actions"),
        (
            lambda: _class(Asset, materialize=MATERIALIZE, go=action(outcome=Outcome.Unchanged)(body)),
            "class method",
        ),
    ],
)
def test_b20_what_a_class_form_refuses(make: Any, said: str) -> None:
    with pytest.raises(AssetDefinitionError, match=said):
        desugar(make())


def test_b24_the_most_derived_verb_counts() -> None:
    mine = AssetAction("vacuum", Outcome.MayMaterialize)(lambda ctx: None)
    base = _class(Asset, materialize=MATERIALIZE, vacuum=VACUUM)
    (verb,) = desugar(_class(base, actions=[mine])).actions or []
    assert verb is mine
    renamed = AssetAction("clean", Outcome.Unchanged)(lambda ctx: None)
    assert [one.name for one in desugar(_class(base, vacuum=renamed)).actions or []] == ["clean"]
    listed = _class(Asset, materialize=MATERIALIZE, actions=[VACUUM])
    assert desugar(_class(listed, actions=[])).actions is None


def test_class_form_outputs_take_the_attributes_name() -> None:
    shared = AssetDef("given")
    made = _class(MultiAsset, materialize=MATERIALIZE, first=AssetDef(kinds="t"), second=shared)
    asset = desugar(made)
    assert isinstance(asset, MultiAsset)
    assert [output.name for output in asset.output_defs] == ["first", "given"]
    assert made.first.name is None  # type: ignore[attr-defined]
    assert [one.name for one in desugar(_class(made, first=None)).output_defs] == ["given"]  # type: ignore[attr-defined]
    with pytest.raises(AssetDefinitionError, match="one AssetDef"):
        desugar(_class(MultiAsset, materialize=MATERIALIZE, a=shared, b=shared))


@pytest.mark.parametrize(
    ("name", "snake"),
    [
        ("EnrichedOrders", "enriched_orders"),
        ("HTTPServer", "http_server"),
        ("A1B2", "a1_b2"),
        ("MLModel2Train", "ml_model2_train"),
        ("_Private", "_private"),
        ("ordersV2", "orders_v2"),
    ],
)
def test_names_of_classes(name: str, snake: str) -> None:
    assert snake_case(name) == snake


def test_a_single_asset_cannot_be_subclassed() -> None:
    with pytest.raises(TypeError, match="Asset"):
        type("Sub", (SingleAsset,), {})
    with pytest.raises(TypeError, match="CodeRepository"):
        OrdersV2()


@pytest.mark.parametrize(
    "value",
    [
        MetadataValue.text("a"), MetadataValue.int(2**62), MetadataValue.float_(float("inf")),
        MetadataValue.bool_(True), MetadataValue.url("HTTPS://Example.com/a?b=1"), MetadataValue.path("/a"),
        MetadataValue.json("{}"), MetadataValue.md("# a"), MetadataValue.timestamp(1), MetadataValue.null(),
        MetadataValue.bytes(3), MetadataValue.duration(1.5), MetadataValue.sql("select 1", "duckdb"),
        MetadataValue.code_block("x = 1"), MetadataValue.image("https://example.com/a.png"),
        MetadataValue.percentage(0.5), MetadataValue.list_([MetadataValue.int(1), MetadataValue.null()]),
        MetadataValue.schema({"a": "int64"}), MetadataValue.data_version("7"),
    ],
)  # fmt: skip
def test_metadata_survives_storage(value: MetadataValue) -> None:
    assert loads(dumps({"k": value})) == {"k": value}
    assert type(loads(dumps({"k": value}))["k"]) is type(value)


def test_metadata_is_coerced_or_refused() -> None:
    found = coerced({"t": "x", "i": 1, "f": 1.5, "b": True, "n": None})
    assert [value.kind for value in found.values()] == ["Text", "Int", "Float", "Bool", "Null"]
    for value in ([], {}, object()):
        with pytest.raises(TypeError, match="'k'"):
            coerced({"k": value})
    for make in (
        lambda: MetadataValue.url("no url"),
        lambda: MetadataValue.int(2**63),
        lambda: MetadataValue.bytes(-1),
    ):
        with pytest.raises(InvalidMetadataError):
            make()


@pytest.mark.parametrize(
    ("backoff", "delays"),
    [
        (Backoff.constant(2), [2, 2, 2]),
        (Backoff.linear(2, initial=1), [3, 5, 7]),
        (Backoff.exponential(1, factor=3, max_delay=5), [1, 3, 5]),
        (Backoff.fixed([1, 4]), [1, 4, 4]),
        (Backoff.constant(-5), [0, 0, 0]),
    ],
)
def test_backoff(backoff: Backoff, delays: list[float]) -> None:
    assert [backoff.delay(failures) for failures in (1, 2, 3)] == delays


def test_jitter_stays_in_its_share() -> None:
    waits = [Backoff.constant(10, jitter=0.2).delay(1) for _ in range(200)]
    assert 8 <= min(waits) < max(waits) <= 12
    for make in (
        lambda: Backoff.constant(1, jitter=2),
        lambda: Backoff.fixed([]),
        lambda: Backoff.exponential(1, factor=0),
    ):
        with pytest.raises(ConfigurationError):
            make()


def test_which_failures_are_retried() -> None:
    transient = RetryPolicy(retry_on=RetryOn.TRANSIENT)
    assert transient.retries(MemoryError())
    assert transient.retries(TimeoutError())
    assert not transient.retries(KeyError())
    assert RetryPolicy(retry_on=[OSError]).retries(ConnectionResetError())
    assert not RetryPolicy().retries(KeyError(), FailureReason.CANCELLED)
    escalating = RetryPolicy(retry_on=[KeyError], escalate=ComputeEscalation(max_memory="8Gi"))
    assert escalating.retries(MemoryError())
    assert not escalating.retries(ValueError())
    with pytest.raises(ValueError, match="0 or more"):
        RetryPolicy(-1)


def test_conditions_are_values() -> None:
    eager = Condition.eager()
    assert eager == Condition.eager()
    assert eager.label == "eager"
    assert "execution_failed" not in str(eager.without(~Condition.execution_failed()).children)
    assert eager.without(Condition.on_missing()) == eager
    swapped = eager.replace(Condition.missing(), Condition.in_progress())
    assert "missing" not in [leaf.kind for leaf in _leaves(swapped)]
    for make in (
        lambda: Condition.on_cron("nonsense"),
        lambda: Condition.on_cron("0 6 * * *", "Mars/Olympus"),
        Condition.has_run_with_tags,
        lambda: Condition.in_latest_time_window(0),
    ):
        with pytest.raises(ValueError, match=r"."):
            make()


def _leaves(condition: Condition) -> list[Condition]:
    if not condition.children:
        return [condition]
    return [leaf for child in condition.children for leaf in _leaves(child)]


def test_tasks_run_outside_of_graphs_and_are_written_down_inside() -> None:
    @Task
    def double(x: int) -> int:
        return 2 * x

    @Task(tags=["t"])
    def add(a: int, b: int) -> int:
        return a + b

    assert double(4) == 8

    @Asset.from_graph
    def graph(source: int) -> Any:
        return add(double(source), b=double(3))

    calls = graph.trace.calls
    assert list(calls) == ["double", "double_2", "add"]
    assert calls["double_2"].wired == {"x": 3}
    assert calls["add"].wired["a"].node_name == "double"
    assert graph.result.node_name == "add"
    with pytest.raises(TaskDefinitionError, match="no free parameter"):
        Asset.from_graph(lambda: add(1, a=2), name="wrong")
    with pytest.raises(TypeError, match="no value yet"):
        Asset.from_graph(lambda: 1 if double(1) else 2, name="wrong")


def test_bash_tasks_run_their_command() -> None:
    assert BashTask("hello", "echo $WHO; echo there", env={"WHO": "hi"})() == "hi\nthere"
    assert BashTask("list", ["printf", "%s", "a b"])() == "a b"
    with pytest.raises(OSError, match="status 3"):
        BashTask("fails", "exit 3")()
    with pytest.raises(TaskDefinitionError, match="empty"):
        BashTask("none", [])


def test_fan_out_is_written_down() -> None:
    parts, load = Task(lambda: [1, 2], name="parts"), Task(lambda x: x, name="load")

    @Asset.from_graph
    def graph() -> Any:
        return parts().map(load, max_concurrency=2).collect()

    calls = graph.trace.calls
    assert list(calls) == ["parts", "load", "load__collect"]
    assert (calls["load"].over.node_name, calls["load"].max_concurrency) == ("parts", 2)  # type: ignore[union-attr]
    assert calls["load__collect"].collects == "load"


def test_a_self_dependency_is_generic() -> None:
    assert SelfDependency[list[int]].__args__ == (list[int],)  # type: ignore[attr-defined]
    assert SelfDependency(3).get_inner() == 3
    assert SelfDependency().get_inner() is None

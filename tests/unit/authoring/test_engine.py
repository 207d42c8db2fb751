"""One step: what its body gets, what becomes of what it gives, and what is said. Rows Bnn: the behaviour table."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest

from airflow_assets.authoring.assets import Asset
from airflow_assets.authoring.contexts import AssetExecutionContext, OutputContext  # noqa: TC001 - bodies are annotated with them
from airflow_assets.authoring.deps import AssetDef, SelfDependency
from airflow_assets.authoring.engine.events import StepEvent
from airflow_assets.authoring.engine.run import Run
from airflow_assets.authoring.engine.step import Failures, run_step
from airflow_assets.authoring.errors import AssetOutputValidationError, ExecutionError
from airflow_assets.authoring.graph.resolve import Registered, resolve
from airflow_assets.authoring.handlers.memory import InMemoryIOHandler
from airflow_assets.authoring.hooks import Hook
from airflow_assets.authoring.metadata_values import MetadataValue
from airflow_assets.authoring.partitions.definitions import PartitionsDefinition
from airflow_assets.authoring.partitions.keys import PartitionKey
from airflow_assets.authoring.partitions.mappings import PartitionMapping
from airflow_assets.authoring.results import Materialization, Observation, Output
from airflow_assets.authoring.retries import Backoff, RetryPolicy
from airflow_assets.authoring.tasks import Task

AB = PartitionsDefinition.static_(["a", "b"])


@dataclass
class Ran:
    """Steps that have run, one after the other, with their events and values."""

    handler: InMemoryIOHandler = field(default_factory=InMemoryIOHandler)
    events: list[StepEvent] = field(default_factory=list)
    failures: Failures = field(default_factory=dict)
    waits: list[float] = field(default_factory=list)

    def steps(self, *assets: Any, key: PartitionKey | None = None, **more: Any) -> Ran:
        """Run every step in order; what a failed one would have given is missing."""
        selected = more.pop("selected", None)
        graph = resolve(assets, Registered(resources=more.get("resources", {})))
        run = Run("run", graph, self.handler, self.version_of, key, **more)
        for level in graph.levels:
            for name in level:
                step = graph.steps[name]
                self.failures |= run_step(
                    run, step, self.events.append, selected=selected, wait=self.waits.append
                )
        return self

    def version_of(self, name: str) -> str | None:
        """The version of the last materialization."""
        found = [
            event.data_version
            for event in self.said("Materialization", "Observation")
            if event.asset_key == name
        ]
        return found[-1] if found else None

    def said(self, *kinds: str) -> list[StepEvent]:
        """The events of some kinds."""
        return [event for event in self.events if event.event_type.value in kinds]

    def of(self, name: str) -> list[str]:
        """The kinds of a node's events."""
        return [event.event_type.value for event in self.events if event.asset_key == name]

    def value(self, name: str) -> Any:
        """What is stored of a node."""
        found = self.handler._values[name]
        return found.get(None, found)


def test_a_value_is_loaded_called_stored_and_told() -> None:
    def up() -> list[int]:
        return [1, 2]

    def down(up, *, factor=3):  # type: ignore[no-untyped-def]
        return [value * factor for value in up]

    ran = Ran().steps(Asset(up, code_version="7"), Asset(down))
    assert ran.value("down") == [3, 6]
    assert ran.of("up") == ran.of("down") == ["StepStart", "Materialization", "StepSuccess"]
    first, second = ran.said("Materialization")
    assert first.code_version == "7"
    assert second.input_data_versions == {"up": first.data_version}
    assert first.metadata["storage"] == MetadataValue.text("memory")


def test_arguments_of_every_kind() -> None:
    def up() -> int:
        return 2

    def body(ctx: AssetExecutionContext[dict], self: SelfDependency[int], skipped=9, *, db, up):  # type: ignore[no-untyped-def, type-arg]
        return (ctx.config, self.get_inner(), skipped, db, up)

    ran = Ran().steps(Asset(up), Asset(body), resources={"db": "duck"}, config={"body": {"rows": 5}})
    assert ran.value("body") == ({"rows": 5}, None, 9, "duck", 2)
    assert ran.steps(Asset(up), Asset(body), resources={"db": "d"}).value("body")[1] == (
        {"rows": 5},
        None,
        9,
        "duck",
        2,
    )


def test_async_bodies_are_awaited() -> None:
    async def later() -> int:
        await asyncio.sleep(0)
        return 5

    async def stream() -> Any:
        yield Output(1, output_name="x")
        await asyncio.sleep(0)
        yield Output(2, output_name="y")

    ran = Ran().steps(Asset(later), Asset.from_multi(stream, [AssetDef("x"), AssetDef("y")]))
    assert (ran.value("later"), ran.value("x"), ran.value("y")) == (5, 1, 2)


def test_b36_the_handler_gets_the_bare_value_and_the_event_the_rest() -> None:
    result = Output(5, metadata={"rows": 3}, data_version="v2", tags=["checked"])
    ran = Ran().steps(Asset(lambda: result, name="a"))
    (event,) = ran.said("Materialization")
    assert ran.value("a") == 5
    assert (event.data_version, event.metadata["rows"], event.tags) == (
        "v2",
        MetadataValue.int(3),
        ("checked",),
    )


class Telling(InMemoryIOHandler):
    """A handler that has a word of its own."""

    says: dict[str, str]

    def handle_output(self, context: OutputContext, obj: Any) -> None:
        """Store the value and say something about it."""
        super().handle_output(context, obj)
        context.add_output_metadata({"who": "handler"} if "who" in self.says else {})
        if "version" in self.says:
            context.register_data_version("handler")


@pytest.mark.parametrize(
    ("context", "result", "handler", "expected"),
    [
        (True, True, True, "handler"),
        (True, True, False, "result"),
        (True, False, False, "context"),
        (False, False, False, None),
    ],
)
def test_b38_the_later_word_counts(context: bool, result: bool, handler: bool, expected: str | None) -> None:
    def body(ctx: AssetExecutionContext):  # type: ignore[no-untyped-def, type-arg]
        if context:
            ctx.add_output_metadata({"who": "context"})
            ctx.register_data_version("context")
        return Output(1, metadata={"who": "result"}, data_version="result") if result else 1

    telling = Telling(says={"who": "y", "version": "y"} if handler else {})
    (event,) = Ran().steps(Asset(body, io_handler=telling)).said("Materialization")
    who = event.metadata.get("who")
    assert (who.raw_value() if who else None) == expected
    assert event.data_version == expected if expected else len(event.data_version or "") == 36


@pytest.mark.parametrize(
    ("hint", "value", "fits"),
    [
        (int, "x", False), (int, True, True), (float, 1, False), (list[int], ["x"], True), (list[int], (), False),
        (int | None, None, True), (int | str, 1.0, False), (None, 5, True), (Output, 5, True), (Any, 5, True),
        (int, Output(5), True), (int, Output("x"), False), (int, Materialization(), True),
    ],
)  # fmt: skip
def test_b40_return_types(hint: Any, value: Any, fits: bool) -> None:
    def body():  # type: ignore[no-untyped-def]
        return value

    body.__annotations__["return"] = hint
    ran = Ran().steps(Asset(body))
    if fits:
        assert not ran.failures
    else:
        assert isinstance(ran.failures["body"], AssetOutputValidationError)
        assert "'body'" in str(ran.failures["body"])
        assert "body" not in ran.handler._values


def test_materialization_and_observation_store_nothing() -> None:
    ran = Ran().steps(
        Asset(lambda: Materialization(data_version="etag", metadata={"n": 1}), name="pushed"),
        Asset(lambda: Observation(data_version="seen"), name="watched"),
    )
    assert not ran.handler._values
    assert [(event.asset_key, event.data_version) for event in ran.said("Materialization", "Observation")] == [
        ("pushed", "etag"), ("watched", "seen"),
    ]  # fmt: skip


def multi(function: Any, **settings: Any) -> Asset:
    return Asset.from_multi(function, [AssetDef("x"), AssetDef("y")], name="both", **settings)


def stream(*items: Any, error: Exception | None = None) -> Any:
    def body() -> Any:
        yield from items
        if error:
            raise error

    return body


X, Y = Output(1, output_name="x"), Output(2, output_name="y")


@pytest.mark.parametrize(
    ("body", "failed", "stored"),
    [
        (stream(X, Y), {}, {"x", "y"}),
        (lambda: {"x": 1, "y": Output(2), "more": 3}, {}, {"x", "y"}),
        (stream(Output(1), Y), {"x": ExecutionError, "y": ExecutionError}, set()),
        (stream(X, 5), {"y": ExecutionError}, {"x"}),
        (stream(X), {"y": ExecutionError}, {"x"}),
        (stream(X, X, Y), {"y": ExecutionError}, {"x"}),
        (stream(X, Output(3, output_name="z")), {"y": ExecutionError}, {"x"}),
        (stream(X, error=KeyError("late")), {"y": KeyError}, {"x"}),
        (stream(X, Y, error=KeyError("late")), {"both": KeyError}, {"x", "y"}),
        (lambda: {"x": 1}, {"y": KeyError}, {"x"}),
        (lambda: (1, 2), {"x": ExecutionError, "y": ExecutionError}, set()),
        (lambda: None, {"x": ExecutionError, "y": ExecutionError}, set()),
    ],
)
def test_b50_b52_b56_what_a_multi_asset_may_give(
    body: Any, failed: dict[str, type], stored: set[str]
) -> None:
    ran = Ran().steps(multi(body))
    assert {name: type(error) for name, error in ran.failures.items()} == failed
    assert set(ran.handler._values) == stored
    assert {event.asset_key for event in ran.said("StepFailure")} == set(failed)


def test_b54_an_output_may_be_observed() -> None:
    ran = Ran().steps(multi(stream(X, Observation(output_name="y", data_version="7"))))
    assert set(ran.handler._values) == {"x"}
    assert [event.asset_key for event in ran.said("Observation")] == ["y"]


def test_only_the_selected_outputs_are_stored() -> None:
    seen: list[Any] = []

    def body(context: AssetExecutionContext):  # type: ignore[no-untyped-def, type-arg]
        seen.append((context.asset_name, context.output_selection, context.is_multi_asset))
        yield from (X, Y)

    ran = Ran().steps(multi(body), selected=["y"])
    assert seen == [("both", ["y"], True)]
    assert set(ran.handler._values) == {"y"}
    assert ran.of("x") == []


def failing(times: int, error: Exception) -> Any:
    left = [error] * times

    def body() -> Any:
        if left:
            raise left.pop()
        return {"x": 1, "y": 2}

    return body


def test_b58_a_dict_is_tried_again_and_a_generator_never() -> None:
    policy = RetryPolicy(2, backoff=Backoff.linear(1))
    ran = Ran().steps(multi(failing(2, OSError("x")), retry=policy))
    assert not ran.failures
    assert ran.waits == [1, 2]
    assert ran.of("x") == [
        "StepStart",
        "StepRetry",
        "StepStart",
        "StepRetry",
        "StepStart",
        "Materialization",
        "StepSuccess",
    ]
    ran = Ran().steps(multi(stream(error=OSError("x")), retry=policy))
    assert ran.waits == []
    assert set(ran.failures) == {"x", "y"}


def test_only_what_the_policy_names_is_tried_again() -> None:
    ran = Ran().steps(Asset(failing(1, KeyError("x")), name="a", retry=RetryPolicy(3, retry_on=[OSError])))
    assert ran.of("a") == ["StepStart", "StepFailure"]
    (event,) = ran.said("StepFailure")
    assert event.metadata["rivers/failure_reason"] == MetadataValue.text("error")
    assert "builtins.KeyError" in event.metadata["rivers/exc_type"].raw_value()


def test_b90_hooks_are_called_once_and_change_nothing() -> None:
    heard: list[Any] = []

    @Hook.failure
    def failed(ctx: Any) -> None:
        heard.append((ctx.hook_type, str(ctx.error), ctx.metadata))

    @Hook.success
    async def done(ctx: Any) -> None:
        await asyncio.sleep(0)
        heard.append((ctx.hook_type, ctx.output))

    @Hook.success
    def broken(ctx: Any) -> None:
        raise ZeroDivisionError(ctx)

    hooks = [failed, broken, done]
    ran = Ran().steps(
        Asset(failing(2, OSError("x")), name="bad", hooks=hooks, retry=RetryPolicy(1), metadata={"k": "v"}),
        Asset(lambda: Output(3), name="good", hooks=hooks),
    )
    assert sorted(heard) == [("failure", "x", {"k": "v"}), ("success", 3)]
    assert set(ran.failures) == {"bad"}


def test_b60_a_graph_writes_its_last_value_for_itself_too() -> None:
    nodes, own = InMemoryIOHandler(), InMemoryIOHandler()
    double, add = Task(lambda x: 2 * x, name="double"), Task(lambda a, b: a + b, name="add")

    @Asset.from_graph(io_handler=own, node_io_handler=nodes)
    def total(up: int) -> Any:
        return add(double(up), 5)

    ran = Ran().steps(Asset(lambda: 3, name="up"), total)
    assert {name: next(iter(kept.values())) for name, kept in nodes._values.items()} == {
        "total/double": 6,
        "total/add": 11,
    }
    assert own._values == {"total": {None: 11}}
    (event,) = [event for event in ran.said("Materialization") if event.asset_key == "total"]
    assert event.data_version
    assert event.metadata["storage"] == MetadataValue.text("memory")


def test_b64_inner_steps_of_a_partitioned_graph_get_the_mapped_key() -> None:
    def up(context: AssetExecutionContext):  # type: ignore[no-untyped-def, type-arg]
        return context.partition_key

    loud = Task(lambda text: text + "!", name="loud")
    mapping = PartitionMapping.static_({"a": "b", "b": "a"})

    @Asset.from_graph(partitions_def=AB, deps=[AssetDef.input("up", mapping)])
    def graph(up: str) -> Any:
        return loud(up)

    ran = Ran().steps(Asset(up, partitions_def=AB), key=PartitionKey.single("b"))
    assert ran.steps(Asset(up, partitions_def=AB), graph, key=PartitionKey.single("a")).value("graph") == {
        "a": "b!"
    }


def test_b82_two_keys_are_one_call_and_two_events() -> None:
    calls: list[list[PartitionKey]] = []

    def body(context: AssetExecutionContext):  # type: ignore[no-untyped-def, type-arg]
        assert context.partition
        calls.append(context.partition.keys)
        return 1

    ran = Ran().steps(Asset(body, partitions_def=AB), key=PartitionKey.single(["a", "b"]))
    assert calls == [[PartitionKey.single("a"), PartitionKey.single("b")]]
    first, second = ran.said("Materialization")
    assert (str(first.partition_key), str(second.partition_key)) == ("a", "b")
    assert first.data_version == second.data_version


def test_a_partition_may_fail_alone() -> None:
    def body(context: AssetExecutionContext):  # type: ignore[no-untyped-def, type-arg]
        context.mark_partition_failed("a", "no rows")
        return 1

    ran = Ran().steps(Asset(body, partitions_def=AB), key=PartitionKey.single(["a", "b"]))
    assert not ran.failures
    assert [(event.event_type.value, str(event.partition_key)) for event in ran.said("StepFailure", "Materialization")] == [
        ("StepFailure", "a"), ("Materialization", "b"),
    ]  # fmt: skip


def test_b84_for_keys_and_subset_give_null_where_nothing_matches() -> None:
    seen: list[Any] = []

    def reads(whole: Any, part: Any) -> int:
        seen.append((whole, part))
        return 1

    deps = [
        AssetDef.input("whole", PartitionMapping.for_keys([PartitionKey.single("a")])),
        AssetDef.input("part", PartitionMapping.subset()),
    ]
    assets = [
        Asset(lambda: "w", name="whole"),
        Asset(reads, partitions_def=AB, deps=deps),
    ]
    part = Asset(lambda: "p", name="part", partitions_def=PartitionsDefinition.static_(["a"]))
    for key in ("a", "b"):
        ran = Ran()
        ran.steps(part, key=PartitionKey.single("a"))
        ran.steps(*assets, part, key=PartitionKey.single(key))
    assert seen == [("w", "p"), (None, None)]


def test_a_failed_load_is_the_steps_failure_and_only_a_missing_one_is_a_first_run() -> None:
    class Broken(InMemoryIOHandler):
        def load_input(self, context: Any) -> Any:
            raise PermissionError(context.asset_name)

    def grows(self: SelfDependency[int]) -> int:
        return (self.get_inner() or 0) + 1

    ran = Ran().steps(Asset(grows)).steps(Asset(grows))
    assert ran.value("grows") == 2
    assert isinstance(Ran().steps(Asset(grows, io_handler=Broken())).failures["grows"], PermissionError)


def test_metadata_of_this_run_reaches_the_handlers() -> None:
    seen: list[Any] = []

    class Noting(InMemoryIOHandler):
        def handle_output(self, context: Any, obj: Any) -> None:
            seen.append(context.asset_metadata)

    asset = Asset(lambda: 1, name="a", metadata={"path": "x", "mode": "append"}, io_handler=Noting())
    Ran().steps(asset, metadata={"a": {"mode": "overwrite"}})
    assert seen == [{"path": "x", "mode": "overwrite"}]

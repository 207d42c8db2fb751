"""What the reference's page about assets shows, each form once; with `import rivers as rs` it runs there.

Without `from __future__ import annotations`: the reference does not understand annotations that are texts.
"""

from typing import Any

from pydantic import Field

import airflow_assets as rs


class Shelf(rs.BaseIOHandler):
    """Keeps what it is given, and what it was told when it was asked."""

    stored: dict[str, Any] = Field(default_factory=dict)
    asked: list[tuple[str, Any]] = Field(default_factory=list)

    def handle_output(self, context: Any, obj: Any) -> None:
        self.stored[context.asset_name] = obj

    def load_input(self, context: Any) -> Any:
        self.asked.append((context.asset_name, context.asset_metadata))
        return self.stored[context.asset_name]


def decorators() -> None:
    @rs.Asset
    def my_asset():
        return 1

    @rs.Asset(name="custom_name", tags=["etl"], kinds="table", group="pipeline")
    def other():
        return 2

    etl = rs.Asset(tags=["etl"])

    @etl
    def orders():
        return 3

    @etl
    def customers():
        return 4

    assert [one.name for one in (my_asset, other, orders, customers)] == [
        "my_asset", "custom_name", "orders", "customers",
    ]  # fmt: skip
    assert other.kinds == ["table"]
    assert orders is not customers
    for mistake in (orders, etl):
        try:
            mistake()
        except rs.exceptions.AssetDefinitionError:
            continue
        raise AssertionError(mistake)


def outputs_with_partitions() -> None:
    handler = Shelf(stored={})
    parts = rs.PartitionsDefinition.static_(["a", "b", "c"])

    @rs.Asset.from_multi(
        partitions_def=parts,
        output_defs=[rs.AssetDef("x", io_handler=handler), rs.AssetDef("y", io_handler=handler)],
    )
    def multi(context: rs.AssetExecutionContext):
        yield rs.Output(value=10, output_name="x")
        yield rs.Output(value=f"{context.partition_key}20", output_name="y")

    repo = rs.CodeRepository(assets=[multi], default_executor=rs.Executor.in_process())
    assert repo.materialize(partition_key=rs.PartitionKey.single("b")).success
    assert handler.stored == {"x": 10, "y": "b20"}


def dependencies() -> None:
    upstream, override = Shelf(stored={}, asked=[]), Shelf(stored={"source": 21}, asked=[])

    @rs.Asset(io_handler=upstream, metadata={"columns": "all"})
    def source():
        return 1

    @rs.Asset(io_handler=upstream)
    def trigger():
        return None

    @rs.Asset.from_multi(
        output_defs=[rs.AssetDef("out", io_handler=upstream)],
        deps=[
            rs.AssetDef.input("source", io_handler=override, metadata={"columns": "a,b,c"}),
            rs.AssetDef.dep("trigger"),
        ],
    )
    def multi(source: int):
        yield rs.Output(value=source * 2, output_name="out")

    repo = rs.CodeRepository(assets=[multi, source, trigger], default_executor=rs.Executor.in_process())
    assert repo.materialize().materialized_assets[-1] == "out"
    assert upstream.stored == {"source": 1, "trigger": None, "out": 42}
    assert override.asked == [("source", {"columns": "a,b,c"})]


def externals() -> None:
    handler = Shelf(stored={"source_table": 7})
    plain = rs.Asset.external(
        name="plain", io_handler=handler, kinds="table", metadata={"path": "s3://bucket/table"}
    )
    assert (plain.is_external, plain.observe_fn, plain.kinds) == (True, None, ["table"])

    @rs.Asset.external(io_handler=handler)
    def source_table(context: rs.AssetExecutionContext):
        context.add_output_metadata({"row_count": rs.MetadataValue.int(42_000)})
        return rs.Observation(
            metadata={"row_count": rs.MetadataValue.int(150_000)}, data_version="2024-03-16"
        )

    @rs.Asset(io_handler=handler)
    def reader(source_table: int):
        return source_table + 1

    repo = rs.CodeRepository(assets=[plain, source_table, reader], default_executor=rs.Executor.in_process())
    run = repo.observe()
    seen = [one for one in repo.storage.get_events_for_run(run.run_id) if one.event_type == "Observation"]
    assert [one.data_version for one in seen] == ["2024-03-16"]
    assert "150000" in dict(seen[0].metadata)["row_count"]
    repo.materialize(selection=["reader"])
    assert repo.load_node("reader") == 8


def self_dependency() -> None:
    @rs.Asset(io_handler=rs.InMemoryIOHandler())
    def incremental(self: rs.SelfDependency[list]) -> list:
        before = self.get_inner()
        return [1] if before is None else [*before, before[-1] + 1]

    repo = rs.CodeRepository(assets=[incremental], default_executor=rs.Executor.in_process())
    for _ in range(3):
        repo.materialize()
    assert repo.load_node("incremental") == [1, 2, 3]


def results() -> None:
    handler = Shelf(stored={})

    @rs.Asset(io_handler=handler)
    def my_asset() -> rs.Output:
        return rs.Output(
            value=[1],
            metadata={"row_count": rs.MetadataValue.int(1)},
            data_version="v2.0",
            tags=["validated"],
        )

    @rs.Asset
    def push(my_asset: list) -> rs.Materialization:
        return rs.Materialization(
            metadata={"status_code": rs.MetadataValue.int(200)}, data_version="etag", tags=["sent"]
        )

    repo = rs.CodeRepository(assets=[my_asset, push], default_executor=rs.Executor.in_process())
    run = repo.materialize()
    made = [one for one in repo.storage.get_events_for_run(run.run_id) if one.event_type == "Materialization"]
    assert [(one.asset_key, one.data_version) for one in made] == [("my_asset", "v2.0"), ("push", "etag")]
    assert handler.stored == {"my_asset": [1]}


def actions() -> None:
    done: list[str] = []

    def _optimize(ctx: rs.ActionContext) -> None:
        done.append(f"{ctx.action} {ctx.asset_name}")

    optimize = rs.AssetAction(
        name="optimize", outcome=rs.Outcome.Unchanged, concurrency=rs.ActionConcurrency.Exclusive
    )(_optimize)

    @rs.Asset(actions=[optimize], kinds="delta")
    def orders():
        return [1]

    class Ledger(rs.Asset):
        optimize_it = optimize

        @classmethod
        def materialize(cls):
            return [2]

        @rs.action(outcome=rs.Outcome.MayMaterialize)
        @classmethod
        def merge_late(cls, ctx: rs.ActionContext) -> rs.ActionResult:
            if ctx.has_partition_key or not done:
                return rs.ActionResult.unchanged()
            return rs.ActionResult.materialized(metadata={"rows": len(done)}, data_version="merged")

        @rs.action(outcome=rs.Outcome.Unmaterialize)
        @classmethod
        def purge(cls, ctx: rs.ActionContext) -> None:
            done.append(ctx.action)

    repo = rs.CodeRepository(assets=[orders, Ledger], default_executor=rs.Executor.in_process())
    repo.materialize()
    repo.run_action("optimize")
    assert sorted(done) == ["optimize ledger", "optimize orders"]
    repo.run_action("merge_late", ["ledger"])
    assert repo.storage.get_asset_record("ledger").last_data_version == "merged"
    repo.run_action("purge")
    assert repo.storage.get_asset_record("ledger").last_data_version is None
    assert repo.storage.get_asset_record("orders").last_data_version is not None


EXAMPLES = (
    decorators, outputs_with_partitions, dependencies, externals, self_dependency, results, actions,
)  # fmt: skip

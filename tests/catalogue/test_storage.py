"""Where runs of assets are recorded: the same on every database, in process and over what travels."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from airflow_assets.authoring.assets import Asset
from airflow_assets.authoring.deps import AssetDef
from airflow_assets.authoring.engine.events import EventType, StepEvent
from airflow_assets.authoring.engine.run import Run
from airflow_assets.authoring.engine.step import run_step
from airflow_assets.authoring.errors import StorageError
from airflow_assets.authoring.graph.resolve import Graph, Registered, resolve
from airflow_assets.authoring.handlers.memory import InMemoryIOHandler
from airflow_assets.authoring.metadata_values import MetadataValue
from airflow_assets.authoring.partitions.definitions import PartitionsDefinition
from airflow_assets.authoring.partitions.keys import PartitionKey
from airflow_assets.authoring.results import Output
from airflow_assets.authoring.storage.client import ClientStorage
from airflow_assets.authoring.storage.declaring import declarations_of
from airflow_assets.authoring.storage.direct import DirectStorage
from airflow_assets.authoring.storage.records import (
    AssetClaim,
    BackfillRecord,
    LaunchedBy,
    NewRun,
    RunStatus,
    StepRecorder,
)
from airflow_assets.authoring.tasks import Task
from airflow_assets.client.base import CatalogClient
from airflow_assets.exceptions import AssetLocked, AssetNotFound, InvalidRequest
from airflow_assets.schemas.actors import Caller, Source, SourceKind
from airflow_assets.schemas.asset_runs import AssetRunInput, AssetRunRecord, StepEventInput, StepEventQuery
from airflow_assets.schemas.assets import AssetInput
from airflow_assets.schemas.events import EventKind
from airflow_assets.schemas.leases import AcquireLeases
from airflow_assets.schemas.queries import DependencyQuery, EventQuery
from tests.support.json_transport import JsonTransport
from tests.support.processes import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sqlalchemy import Engine

    from airflow_assets.catalog.service import CatalogService

SOMEBODY = Caller(source=Source(kind=SourceKind.API, user="somebody"))
SOMEBODY_ELSE = Caller(source=Source(kind=SourceKind.API, user="somebody else"))
EU, US = PartitionKey.single("eu"), PartitionKey.single("us")


@pytest.fixture(params=["direct", "client"])
def storage(
    request: pytest.FixtureRequest, engine: Engine, service: CatalogService
) -> Iterator[ClientStorage]:
    if request.param == "client":
        yield ClientStorage(CatalogClient(JsonTransport(service)))
        return
    direct = DirectStorage(engine.url)
    yield direct
    direct.close()


class Runner:
    """Runs steps one after the other, and records each."""

    def __init__(self, storage: ClientStorage, *assets: Asset) -> None:
        self.storage, self.handler = storage, InMemoryIOHandler()
        self.graph: Graph = resolve(assets, Registered())
        storage.declare(declarations_of(self.graph))

    def __call__(self, *names: str, key: PartitionKey | None = None) -> str:
        run_id = str(uuid.uuid4())
        run = Run(run_id, self.graph, self.handler, self._version, key)
        self.storage.start_run(NewRun(run_id, names, partition_key=key))
        failed = False
        for name in names:
            recorder = StepRecorder(run_id, name)
            step = self.graph.observers.get(name) or self.graph.steps[name]
            failed = bool(run_step(run, step, recorder)) or failed
            self.storage.record(run_id, recorder.drain())
        self.storage.finish_run(run_id, RunStatus.Failure if failed else RunStatus.Success)
        return run_id

    def _version(self, name: str) -> str | None:
        record = self.storage.get_asset_record(name)
        return record.last_data_version if record else None


def say(storage: ClientStorage, kind: EventType, node: str, **members: Any) -> str:
    """Record one event, in a run of its own."""
    run_id = str(uuid.uuid4())
    action = kind in {EventType.Deletion, EventType.ActionCompleted}
    recorder = StepRecorder(run_id, node, action=members.pop("action", action))
    recorder(StepEvent(kind, node, **members))
    storage.record(run_id, recorder.drain(), run=NewRun(run_id, (node,)))
    return run_id


def causes(storage: ClientStorage, name: str) -> list[tuple[str, str, str | None]]:
    return [(one.category, one.reason, one.dependency) for one in storage.compute_staleness()[name][1]]


def statuses(storage: ClientStorage) -> Mapping[str, str]:
    return {name: status for name, (status, _) in storage.compute_staleness().items()}


def test_b36_a_run_is_recorded_with_its_events_and_the_catalogue_has_the_asset(
    storage: ClientStorage, service: CatalogService
) -> None:
    @Asset(kinds="table", tags=["etl"], group="sales", code_version="v1", pool="db")
    def orders() -> Any:
        return Output(
            3, metadata={"rows": 3, "note": MetadataValue.md("# x")}, data_version="d1", tags=["ok"]
        )

    @Asset
    def revenue(orders: Any) -> Any:
        return orders

    run_id = Runner(storage, orders, revenue)("orders", "revenue")
    events = storage.get_events_for_run(run_id)
    assert [(event.asset_key, event.event_type) for event in events] == [
        (name, kind)
        for name in ("orders", "revenue")
        for kind in ("StepStart", "Materialization", "StepSuccess")
    ]
    made = events[1]
    assert dict(made.metadata)["rows"] == '{"Int":{"value":3}}'
    assert (made.data_version, made.tags, made.run_id, made.partition_key) == ("d1", ["ok"], run_id, None)
    assert events[4].input_data_versions == [("orders", "d1")]
    assert sorted(event.timestamp for event in events) == [event.timestamp for event in events]
    assert storage.get_events_for_asset("orders") == events[2::-1]
    assert storage.get_events_for_asset("orders", limit=1) == [events[2]]
    assert storage.get_latest_materialization("orders") == made
    record = storage.get_asset_record("orders")
    assert record is not None
    assert (record.tags, record.kinds, record.group, record.pool) == (
        ["etl"],
        ["table"],
        "sales",
        [("db", 1)],
    )
    assert (record.last_event_id, record.last_run_id, record.last_data_version) == (made.id, run_id, "d1")
    assert (record.code_version, record.last_materialization_code_version) == ("v1", "v1")
    assert [one.asset_key for one in storage.get_asset_records()] == ["orders", "revenue"]
    assert storage.get_assets_by_tag("etl") == storage.get_assets_by_kind("table") == [record]
    assert storage.get_assets_by_group("sales") == [record]
    assert storage.get_assets_by_group("none") == []
    assert storage.get_asset_record("nobody") is None
    asset = service.get_asset(SOMEBODY, "orders")
    assert (asset.type, asset.group) == ("airflow_assets.types.Table", "sales")
    assert asset.metadata["rows"] == 3
    assert asset.metadata["materialization"] == {
        "data_version": "d1", "run_id": run_id, "code_version": "v1", "tags": ["ok"]
    }  # fmt: skip
    logged = service.list_events(SOMEBODY, EventQuery(asset_id="orders")).items
    assert [event.event for event in logged] == [EventKind.CREATED]
    graph = service.dependencies(SOMEBODY, DependencyQuery(asset_id="revenue", tasks=False))
    assert [(edge.source, edge.target) for edge in graph.edges] == [("asset:orders", "asset:revenue")]


def test_an_event_that_is_sent_again_changes_nothing(storage: ClientStorage, service: CatalogService) -> None:
    recorder = StepRecorder("again", "a")
    recorder(StepEvent(EventType.Materialization, "a", None, {}, "1"))
    events = recorder.drain()
    for _ in range(2):
        storage.record("again", events, run=NewRun("again"))
    recorder(StepEvent(EventType.StepSuccess, "a"))
    storage.record("again", [*events, *recorder.drain()])
    storage.record("again", [])
    assert [one.event_type for one in storage.get_events_for_run("again")] == [
        "Materialization",
        "StepSuccess",
    ]
    assert len(service.list_events(SOMEBODY, EventQuery(asset_id="a")).items) == 1


def test_runs_are_found_by_id_and_status_newest_first(
    storage: ClientStorage, service: CatalogService
) -> None:
    launched = NewRun(
        "first", ("a", "b"), "purge", PartitionKey.multi({"day": ["1", "2"], "region": "eu"}),
        (("team", "x"),), "nightly", 7, LaunchedBy.backfill("b1"), {"assets": {"a": {"config": {}}}},
    )  # fmt: skip
    begun = storage.start_run(launched)
    assert (begun.status, begun.end_time, begun.action, begun.priority) == ("Started", None, "purge", 7)
    assert (begun.partition_key, begun.launched_by) == (launched.partition_key, LaunchedBy.backfill("b1"))
    assert (begun.tags, begun.node_names, begun.job_name) == ([("team", "x")], ["a", "b"], "nightly")
    assert begun.config == {"assets": {"a": {"config": {}}}}
    storage.request_cancellation("first")
    assert storage.is_cancelled("first")
    storage.finish_run("first", RunStatus.Canceled, completed=1, total=2)
    storage.start_run(NewRun("second"))
    assert [run.run_id for run in storage.get_runs()] == ["second", "first"]
    assert [run.run_id for run in storage.get_runs(limit=1)] == ["second"]
    (ended,) = storage.get_runs(status="Canceled")
    assert ended.end_time is not None
    assert ended.end_time >= ended.start_time
    assert storage.get_run_progress("first") == (1, 2)
    assert storage.start_run(launched).end_time is None, "a run that is begun again has not ended"
    assert not storage.is_cancelled("first")
    said: dict[str, Any] = {"kind": "schedule", "name": "nightly", "host": "a"}
    service.record_asset_run(SOMEBODY, AssetRunRecord(run_id="other", run=AssetRunInput(launched_by=said)))
    other = storage.get_run("other")
    assert other is not None
    assert other.launched_by == LaunchedBy.schedule("nightly")
    assert (storage.get_run("none"), storage.get_run_progress("none")) == (None, (0, 0))
    assert (storage.is_cancelled("none"), storage.get_events_for_run("none")) == (False, [])
    with pytest.raises(StorageError, match="Unknown run status: success"):
        storage.get_runs(status="success")
    with pytest.raises(StorageError, match="no run 'none'"):
        storage.finish_run("none", RunStatus.Success)


def test_b92_staleness_tells_its_causes(storage: ClientStorage) -> None:
    def assets(version: str) -> list[Asset]:
        @Asset(code_version=version)
        def a() -> Any:
            return 1

        @Asset
        def b(a: Any) -> Any:
            return a

        @Asset(deps=[AssetDef.dep("b")])
        def c() -> Any:
            return 3

        return [a, b, c]

    run = Runner(storage, *assets("1"))
    assert statuses(storage) == dict.fromkeys("abc", "Missing")
    run("a")
    run("b")
    run("c")
    assert statuses(storage) == dict.fromkeys("abc", "UpToDate")
    run("a")
    assert causes(storage, "b") == [("Data", "upstream 'a' has new data version", "a")]
    assert causes(storage, "c") == [("Data", "upstream 'b' is stale", "b")]
    run("b")
    assert causes(storage, "b") == []
    assert causes(storage, "c") == [("Data", "upstream 'b' has new data version", "b")]
    run("c")
    newer = Runner(storage, *assets("2"))
    assert causes(storage, "a") == [("Code", "code version changed", None)]
    assert causes(storage, "b") == [("Data", "upstream 'a' is stale", "a")]
    newer("a")
    run("b")
    run("c")
    assert statuses(storage) == dict.fromkeys("abc", "UpToDate")


def test_an_upstream_that_was_never_used_makes_stale(storage: ClientStorage) -> None:
    @Asset
    def late() -> Any:
        return 1

    @Asset(deps=[AssetDef.dep("late")])
    def reader() -> Any:
        return 2

    run = Runner(storage, late, reader)
    run("reader")
    assert causes(storage, "reader") == [("Data", "upstream 'late' is stale", "late")]
    run("late")
    assert causes(storage, "reader") == [("Data", "upstream 'late' has data not yet consumed", "late")]


def test_a_graph_asset_has_a_version_and_its_tasks_are_no_assets(
    storage: ClientStorage, service: CatalogService
) -> None:
    @Task
    def double(value: int) -> int:
        return value * 2

    @Asset
    def source() -> int:
        return 2

    @Asset.from_graph
    def doubled(source: Any) -> Any:
        return double(source)

    run = Runner(storage, source, doubled)
    run("source", "doubled/double", "doubled")
    assert statuses(storage) == dict.fromkeys(("source", "doubled", "doubled/double"), "UpToDate")
    graph = service.dependencies(SOMEBODY, DependencyQuery(asset_id="source", tasks=False))
    assert [(edge.source, edge.target) for edge in graph.edges] == [("asset:source", "asset:doubled")]
    with pytest.raises(AssetNotFound):
        service.get_asset(SOMEBODY, "doubled/double")


def test_b66_an_observation_sets_the_version_and_is_an_event_where_it_is_news(
    storage: ClientStorage, service: CatalogService
) -> None:
    for version, rows in (("1", 5), ("1", 5), ("2", 6)):
        say(
            storage,
            EventType.Observation,
            "outside",
            data_version=version,
            metadata={"rows": MetadataValue.int(rows)},
        )
    record = storage.get_asset_record("outside")
    assert record is not None
    assert (record.last_data_version, record.last_input_data_versions) == ("2", [])
    assert service.get_asset(SOMEBODY, "outside").metadata == {
        "rows": 6,
        "materialization": {"data_version": "2"},
    }
    logged = service.list_events(SOMEBODY, EventQuery(asset_id="outside")).items
    assert len(logged) == 2
    assert storage.get_latest_materialization("outside") is None


def test_b72_a_deletion_clears_the_record_or_one_partition(
    storage: ClientStorage, service: CatalogService
) -> None:
    for key in (EU, US):
        say(storage, EventType.Materialization, "a", partition_key=key, data_version=f"of {key}")
    say(storage, EventType.Deletion, "a", partition_key=US)
    assert storage.get_materialized_partitions("a") == [EU]
    assert storage.get_latest_materialization("a", "us") is None
    record = storage.get_asset_record("a")
    assert record is not None
    assert record.last_data_version == "of us", "the asset as a whole is still there"
    whole = say(storage, EventType.Deletion, "a", metadata={"action": MetadataValue.text("purge")})
    record = storage.get_asset_record("a")
    assert record is not None
    assert (record.last_run_id, record.last_timestamp, record.last_data_version) == (None, None, None)
    assert record.last_event_id == storage.get_events_for_run(whole)[0].id
    assert storage.get_materialized_partitions("a") == []
    assert statuses(storage) == {"a": "Missing"}
    assert "materialization" not in service.get_asset(SOMEBODY, "a").metadata


def test_an_action_that_materializes_keeps_what_was_read(storage: ClientStorage) -> None:
    @Asset
    def a() -> Any:
        return 1

    @Asset(code_version="7")
    def b(a: Any) -> Any:
        return a

    run = Runner(storage, a, b)
    run("a")
    run("b")
    say(storage, EventType.Materialization, "b", data_version="merged", action=True)
    record = storage.get_asset_record("b")
    assert record is not None
    assert (record.last_data_version, record.last_materialization_code_version) == ("merged", "7")
    assert statuses(storage) == {"a": "UpToDate", "b": "UpToDate"}


def test_b82_two_keys_are_two_materializations_and_events_that_carry_the_key(
    storage: ClientStorage, service: CatalogService
) -> None:
    @Asset(partitions_def=PartitionsDefinition.static_(["eu", "us", "x=y"]))
    def a() -> Any:

        return 1

    run = Runner(storage, a)
    run_id = run("a", key=PartitionKey.single(["eu", "us"]))
    made = [one for one in storage.get_events_for_run(run_id) if one.event_type == "Materialization"]
    assert [one.partition_key for one in made] == [EU, US]
    assert made[0].data_version == made[1].data_version
    assert storage.get_materialized_partitions("a") == [EU, US]
    assert storage.count_materialized_partitions("a") == 2
    assert (
        storage.get_latest_materialization("a", EU)
        == storage.get_latest_materialization("a", "eu")
        == made[0]
    )
    assert storage.get_latest_materialization("a") == made[1]
    logged = service.list_events(SOMEBODY, EventQuery(asset_id="a")).items
    keys = [event.asset.metadata["materialization"]["partition_key"] for event in logged]
    assert sorted(key["single"][0] for key in keys) == ["eu", "us"]
    run("a", key=PartitionKey.single("x=y"))
    assert storage.get_latest_materialization("a", "x=y") is not None
    say(storage, EventType.StepFailure, "a", partition_key=US)
    say(storage, EventType.StepFailure, "b", partition_key=PartitionKey.multi({"d": ["1", "2"], "r": "eu"}))
    assert [(str(s.partition_key), s.materialized, s.failed) for s in storage.get_partition_states("a")] == [
        ("eu", True, False), ("us", True, True), ("x=y", True, False)
    ]  # fmt: skip
    assert [(str(s.partition_key), s.materialized) for s in storage.get_partition_states("b")] == [
        ("d=1|r=eu", False), ("d=2|r=eu", False)
    ]  # fmt: skip
    assert storage.get_materialized_partitions("b") == []
    say(storage, EventType.Materialization, "a", partition_key=US, data_version="2")
    assert not any(state.failed for state in storage.get_partition_states("a"))


def test_what_is_locked_is_not_recorded_and_what_is_too_large_stays_out_of_the_asset(
    storage: ClientStorage, service: CatalogService, caplog: pytest.LogCaptureFixture
) -> None:
    huge = {"text": MetadataValue.text("x" * 300_000), "password": MetadataValue.text("secret")}
    say(storage, EventType.Materialization, "a", data_version="1", metadata=huge)
    assert "The metadata of 'a' is not in the catalogue's asset" in caplog.text
    assert set(service.get_asset(SOMEBODY, "a").metadata) == {"materialization"}
    say(
        storage,
        EventType.Materialization,
        "a",
        data_version="2",
        metadata={"password": MetadataValue.text("s")},
    )
    assert service.get_asset(SOMEBODY, "a").metadata["password"] == "***"
    service.acquire_leases(SOMEBODY_ELSE, AcquireLeases(asset_ids=["a"]))
    recorder = StepRecorder("locked", "a")
    recorder(StepEvent(EventType.StepStart, "a"))
    recorder(StepEvent(EventType.Materialization, "a", data_version="3"))
    with pytest.raises(AssetLocked):
        storage.record("locked", recorder.drain(), run=NewRun("locked"))
    assert storage.get_run("locked") is None
    record = storage.get_asset_record("a")
    assert record is not None
    assert record.last_data_version == "2"


def test_assets_of_a_closed_namespace_are_neither_recorded_nor_seen(service: CatalogService) -> None:
    made = AssetInput(id="hidden", type="T", namespace="closed.inside")
    service.create_asset(SOMEBODY, made)
    insider = ClientStorage(CatalogClient(JsonTransport(service)))
    outsider = ClientStorage(CatalogClient(JsonTransport(service, hidden_namespaces=("closed",))))
    run_id = say(insider, EventType.Materialization, "hidden", partition_key=EU, data_version="1")
    with pytest.raises(StorageError, match="is closed to you"):
        say(outsider, EventType.Materialization, "hidden", data_version="2")
    assert [len(one.get_asset_records()) for one in (insider, outsider)] == [1, 0]
    assert [len(one.get_asset_records(["hidden"])) for one in (insider, outsider)] == [1, 0]
    assert [len(one.get_events_for_run(run_id)) for one in (insider, outsider)] == [1, 0]
    assert [one.get_latest_materialization("hidden", "eu") is None for one in (insider, outsider)] == [
        False,
        True,
    ]
    assert [one.count_materialized_partitions("hidden") for one in (insider, outsider)] == [1, 0]
    assert [one.get_materialized_partitions("hidden") for one in (insider, outsider)] == [[EU], []]
    assert [len(one.compute_staleness()) for one in (insider, outsider)] == [1, 0]


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "{}", '{"single":[]}', '{"single":[1]}', '{"multi":{}}', '{"set":[{"set":[]}]}', '{"x":["a"]}',
     '{"single":["\\ud800"]}', '{"multi":{"a":' + str(list("ab" * 60)).replace("'", '"') + ',"b":'
     + str(list("ab" * 60)).replace("'", '"') + "}}"],
)  # fmt: skip
def test_what_is_no_partition_key_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest, match="stands for no partitions"):
        StepEventQuery(node="a", partition_key=text)


def test_values_that_no_database_holds_are_refused() -> None:
    event = {"step": "s", "ordinal": 0, "event_type": "StepStart", "node": "a"}
    for members in (
        {"step": "\0"}, {"data_version": "\ud800"}, {"metadata": [("n", {"Int": 3})]}, {"metadata": [("n", {})]},
        {"metadata": [("n", {"List": {"values": [3]}})]}, {"metadata": [("n", {"F": {"value": float("nan")}})]},
        {"input_versions": {"a": "\ud800"}}, {"tags": ["\0"]},
    ):  # fmt: skip
        with pytest.raises(InvalidRequest):
            StepEventInput.model_validate({**event, **members})
    assert StepEventInput.model_validate(event).attempt == 1


def test_a_failure_leaves_its_traceback(storage: ClientStorage) -> None:
    @Asset
    def broken() -> Any:
        raise LookupError("nowhere")

    run_id = Runner(storage, broken)("broken")
    (log,) = storage.get_run_logs(run_id)
    assert "LookupError: nowhere" in (log.traceback or "")
    assert (log.step_key, log.run_id, log.stdout) == ("broken", run_id, None)
    assert storage.get_events_for_run(run_id)[-1].event_type == "StepFailure"


def test_dynamic_keys_keep_their_order(storage: ClientStorage) -> None:
    storage.add_dynamic_partitions("d", ["x", "b"])
    storage.add_dynamic_partitions("d", ["b", "a", "a"])
    storage.add_dynamic_partitions("other", ["x"])
    assert storage.get_dynamic_partitions("d") == ["x", "b", "a"]
    storage.delete_dynamic_partition("d", "b")
    storage.delete_dynamic_partition("d", "nothing")
    assert storage.get_dynamic_partitions("d") == ["x", "a"]
    assert storage.has_dynamic_partition("d", "x")
    assert not storage.has_dynamic_partition("none", "x")
    for key in ("", "a|b", "a,b"):
        with pytest.raises(StorageError, match="partition key"):
            storage.add_dynamic_partitions("d", ["good", key])
    assert storage.get_dynamic_partitions("d") == ["x", "a"]


def test_b86_a_backfill_is_kept_and_can_be_asked_to_stop(storage: ClientStorage) -> None:
    saved = BackfillRecord(
        "b1", "InProgress", {"assets": ["a"]}, {"eu": "completed", "us": "requested"}, ("r1",)
    )
    storage.save_backfill(saved)
    assert storage.get_backfill("b1") == saved
    assert storage.request_backfill_cancellation("b1")
    storage.save_backfill(BackfillRecord("b1", "Canceled", {"assets": ["a"]}, {"us": "canceled"}))
    found = storage.get_backfill("b1")
    assert found is not None
    assert (found.status, found.keys, found.cancel_requested) == ("Canceled", {"us": "canceled"}, True)
    assert storage.get_backfills() == [found]
    assert storage.get_backfill("none") is None
    assert not storage.request_backfill_cancellation("none")


def test_pools_give_as_many_slots_as_they_have(storage: ClientStorage) -> None:
    assert storage.claim("r", "free", [("unknown", 50)]).is_claimed
    storage.set_pool_limit("db", 3, "1h 30m")
    assert [
        (limit.pool_key, limit.slot_limit, limit.lease_duration_secs) for limit in storage.get_pool_limits()
    ] == [("db", 3, 5_400)]
    assert storage.claim("r", "one", [("db", 2), ("unknown", 1)]).is_claimed
    refused = storage.claim("r", "two", [("db", 2)])
    assert (refused.is_claimed, refused.reason, refused.impossible) == (False, "pool 'db' full (2/3)", False)
    assert storage.claim("r", "never", [("db", 4)]).impossible
    assert storage.claim("r", "one", [("db", 3)]).is_claimed, "what is held is extended"
    assert [(one.step_key, one.slots_consumed) for one in storage.get_pool_slot_holders("db")] == [("one", 3)]
    info = storage.get_pool_info("db")
    assert (info.slot_limit, info.claimed_count) == (3, 3)
    assert [one.pool_key for one in storage.get_all_pool_infos()] == ["db", "unknown"]
    assert storage.renew("r", "one")
    storage.release("r", "one")
    assert not storage.renew("r", "one")
    assert storage.claim("r", "two", [("db", 2)], lease_seconds=0.001).is_claimed
    wait_until(lambda: storage.claim("s", "late", [("db", 3)]).is_claimed, 30, "what has run out to be free")
    storage.release("s")
    storage.release("r")
    assert storage.get_pool_slot_holders("unknown") == []
    with pytest.raises(StorageError, match="'nothing' is not configured"):
        storage.get_pool_info("nothing")
    with pytest.raises(StorageError, match="lease_duration is 'soon'"):
        storage.set_pool_limit("db", 1, "soon")


def test_of_many_who_claim_at_once_as_many_are_let_in_as_there_are_slots(
    engine: Engine, service: CatalogService
) -> None:
    storage = ClientStorage(CatalogClient(JsonTransport(service)))
    storage.set_pool_limit("db", 2)
    with ThreadPoolExecutor(6) as threads:
        steps = [f"step {number}" for number in range(6)]
        lock = [AssetClaim("never seen", exclusive=True)]
        granted = list(threads.map(lambda step: storage.claim("r", step, [("db", 1)]).is_claimed, steps))
        locked = list(threads.map(lambda step: storage.claim("r", step, assets=lock).is_claimed, steps))
    assert (sum(granted), sum(locked)) == (2, 1), engine.dialect.name
    assert len(storage.get_pool_slot_holders("db")) == 2


def test_an_exclusive_action_and_a_materialize_of_the_same_partitions_exclude_each_other(
    storage: ClientStorage,
) -> None:
    def claim(step: str, *, exclusive: bool, partitions: tuple[str, ...] | None = None) -> bool:
        return storage.claim("r", step, assets=[AssetClaim("a", exclusive, partitions)]).is_claimed

    assert claim("reader of eu", exclusive=False, partitions=("eu",))
    assert claim("reader of all", exclusive=False)
    assert not claim("writer of us", exclusive=True, partitions=("us",))
    storage.release("r", "reader of all")
    assert claim("writer of us", exclusive=True, partitions=("us",))
    assert not claim("reader of us", exclusive=False, partitions=("us", "eu"))
    assert not claim("writer of all", exclusive=True)
    assert claim("another reader of eu", exclusive=False, partitions=("eu",))
    held = storage.claim("q", "blocked", assets=[AssetClaim("a", True)])
    assert "'a' is held by step" in (held.reason or "")
    assert storage.claim("q", "other", assets=[AssetClaim("b", True)]).is_claimed

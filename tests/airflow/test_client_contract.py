"""One contract, whichever way the client reaches the catalogue: over HTTP or in process, blocking or not."""

from __future__ import annotations

import asyncio
import inspect
import json
import threading
import uuid
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest

from airflow_assets.catalog import tables
from airflow_assets.catalog.engine import make_engine
from airflow_assets.catalog.service import CatalogService
from airflow_assets.client.aio import AsyncCatalogClient
from airflow_assets.client.base import CatalogClient
from airflow_assets.client.fencing import fenced
from airflow_assets.client.http import AsyncHttpTransport, HttpTransport, close_connections
from airflow_assets.client.in_process import AsyncInProcessTransport, InProcessTransport
from airflow_assets.client.options import Options
from airflow_assets.exceptions import (
    AssetAlreadyExists,
    AssetLocked,
    AssetNotFound,
    Conflict,
    EventNotFound,
    InvalidCursor,
    InvalidRequest,
)
from airflow_assets.schemas.asset_runs import (
    AssetBackfill,
    AssetBackfillQuery,
    AssetRunInput,
    AssetRunQuery,
    AssetRunRecord,
    CancelRequest,
    StepEventInput,
    StepEventQuery,
)
from airflow_assets.schemas.assets import AssetInput, AssetUpdate, Rename
from airflow_assets.schemas.dashboard import DashboardQuery, StalenessQuery
from airflow_assets.schemas.events import EventFilter
from airflow_assets.schemas.expectations import Expectation
from airflow_assets.schemas.freshness import FreshnessCheck
from airflow_assets.schemas.lease_waiting import LeaseWait
from airflow_assets.schemas.leases import (
    AcquireLeases,
    ForcedUnlockQuery,
    ForceUnlock,
    LeaseQuery,
    ReleaseLeases,
)
from airflow_assets.schemas.native import NativeNames
from airflow_assets.schemas.nodes import (
    DynamicPartitionChange,
    DynamicPartitionQuery,
    NodeDeclaration,
    NodeDeclarations,
    NodePartitionQuery,
    NodeQuery,
)
from airflow_assets.schemas.operations import OPERATIONS
from airflow_assets.schemas.purge import Purge
from airflow_assets.schemas.queries import (
    AssetQuery,
    Batch,
    BatchItem,
    DependencyQuery,
    EventQuery,
    FacetQuery,
    HistoryQuery,
    LineageQuery,
    UsageQuery,
)
from airflow_assets.schemas.shipping import (
    BookmarkMove,
    BookmarksOpen,
    ChangesRead,
    LineageFilter,
    LineageRead,
    ShippedDelete,
    ShipperQuery,
)
from airflow_assets.schemas.slots import PoolClaim, PoolLimit, PoolQuery, SlotClaim, SlotRelease
from airflow_assets.schemas.transfer import ExportQuery, ImportRequest
from airflow_assets.schemas.trigger_listing import TriggerQuery
from airflow_assets.schemas.waiting import EventWait
from tests.support.ageless import ageless

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.airflow_process import AirflowProcess

ODD = "s3://bücket/a b?x=1#%2F/😀:@;&+"


class Blocked:
    """The asynchronous client with every call waited for, on one event loop."""

    def __init__(self, client: AsyncCatalogClient) -> None:
        self._client = client
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            if name.startswith("iter_"):
                return iter(self._wait(self._collect(method(*args, **kwargs))))
            return self._wait(method(*args, **kwargs))

        return call

    async def _collect(self, items: Any) -> list[Any]:
        return [item async for item in items]

    def _wait(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(60)

    def close(self) -> None:
        self._wait(close_connections())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CatalogService]:
    engine = make_engine(f"sqlite:///{tmp_path_factory.mktemp('contract')}/catalog.db")
    tables.metadata.create_all(engine)
    yield CatalogService(engine)
    engine.dispose()


@pytest.fixture(scope="module", params=["http", "http-async", "in-process", "in-process-async"])
def client(request: pytest.FixtureRequest, service: CatalogService) -> Iterator[Any]:
    if request.param.startswith("http"):
        airflow: AirflowProcess = request.getfixturevalue("airflow")
        options = Options(api_url=airflow.base_url, token=airflow.token("admin"))
        blocking, other = (
            CatalogClient(HttpTransport(options)),
            AsyncCatalogClient(AsyncHttpTransport(options)),
        )
    else:
        blocking = CatalogClient(InProcessTransport(service=service))
        other = AsyncCatalogClient(AsyncInProcessTransport(service=service))
    if not request.param.endswith("async"):
        yield blocking
        return
    waiting = Blocked(other)
    yield waiting
    waiting.close()


@pytest.fixture
def ns() -> str:
    """A namespace of this test alone: the catalogue keeps what other tests left."""
    return f"contract.{uuid.uuid4().hex[:12]}"


class TestContract:
    """What holds on every transport."""

    def test_an_asset_comes_back_as_it_was_written(self, client: Any, ns: str) -> None:
        metadata = {"big": 2**63 + 1, "float": 0.1, "deep": {"a": [None, True, "ü😀"]}, "empty": ""}
        made = client.create_asset(
            AssetInput(
                id=f"{ns}/{ODD}",
                type="T 1",
                namespace=ns,
                display_name="Ä",
                description="*x*\n",
                metadata=metadata,
            )
        )
        assert made.metadata == metadata
        assert ageless(client.get_asset(f"{ns}/{ODD}")) == made
        assert (made.namespace, made.type, made.deleted, made.tenant_id) == (ns, "T 1", False, "main")
        assert made.created.utcoffset().total_seconds() == 0

    def test_create_twice_and_errors_carry_their_members(self, client: Any, ns: str) -> None:
        client.create_asset(AssetInput(id=ns, type="T"))
        with pytest.raises(AssetAlreadyExists) as raised:
            client.create_asset(AssetInput(id=ns, type="T"))
        assert ns in raised.value.detail
        with pytest.raises(AssetNotFound, match="nobody"):
            client.get_asset(f"{ns}.nobody")
        with pytest.raises(InvalidRequest):
            client.create_asset(AssetInput(id=f"{ns}.untyped"))
        with pytest.raises(InvalidCursor):
            client.query_assets(AssetQuery(cursor="nonsense"))
        with pytest.raises(EventNotFound):
            client.get_event(str(uuid.uuid4()))

    def test_update_tells_null_from_absent(self, client: Any, ns: str) -> None:
        client.create_asset(
            AssetInput(id=ns, type="T", namespace=ns, description="d", metadata={"a": 1, "b": 2})
        )
        changed = client.update_asset(ns, AssetUpdate(metadata={"b": None, "c": 3}))
        assert (changed.namespace, changed.description, changed.metadata) == (ns, "d", {"a": 1, "c": 3})
        assert client.update_asset(ns, AssetUpdate(namespace=None)).namespace is None
        result = client.upsert_asset(AssetInput(id=ns, metadata={"d": 4}))
        assert (result.created, result.asset.type, result.asset.metadata["d"]) == (False, "T", 4)

    def test_rename_and_delete(self, client: Any, ns: str) -> None:
        client.create_asset(AssetInput(id=f"{ns}.old", type="T"))
        client.create_asset(AssetInput(id=f"{ns}.taken", type="T"))
        with pytest.raises(Conflict):
            client.rename_asset(Rename(old_id=f"{ns}.old", new_id=f"{ns}.taken"))
        assert client.rename_asset(Rename(old_id=f"{ns}.old", new_id=f"{ns}.new")).id == f"{ns}.new"
        assert client.get_asset(f"{ns}.old").id == f"{ns}.new"
        assert client.delete_asset(f"{ns}.new") is None
        with pytest.raises(AssetNotFound):
            client.get_asset(f"{ns}.new")
        assert client.get_asset(f"{ns}.new", include_deleted=True).deleted

    def test_pages_lead_to_every_asset_once(self, client: Any, ns: str) -> None:
        items = [
            BatchItem(
                action="create",
                asset=AssetInput(id=f"{ns}.{i:02}", type="T", namespace=ns, metadata={"n": i}),
            )
            for i in range(23)
        ]
        answer = client.batch(Batch(items=[*items, items[0]]))
        assert [item.status for item in answer.items] == [201] * 23 + [409]
        assert answer.items[-1].problem["type"].endswith("asset-already-exists")
        query = AssetQuery(
            namespace=ns,
            limit=5,
            sort="-id",
            metadata_query=[{"field": "n", "type": "GREATER_THAN", "value": 2}],
        )
        assert [asset.metadata["n"] for asset in client.iter_assets(query)] == list(range(22, 2, -1))
        page = client.search_assets(query)
        assert [asset.metadata["n"] for asset in page.items] == [22, 21, 20, 19, 18]
        assert page.next_cursor
        facets = client.facets(FacetQuery(namespace=ns, facets=["type", "metadata.n"], top=3))
        assert (facets.total, facets.facets[0].values[0].count, facets.facets[1].other) == (23, 23, 20)

    def test_events_and_history_of_a_write(self, client: Any, ns: str) -> None:
        client.create_asset(AssetInput(id=ns, type="T", namespace=ns))
        client.update_asset(ns, AssetUpdate(description="x"))
        events = list(client.iter_events(EventQuery(namespace=ns, limit=1)))
        assert [event.event.value for event in events] == ["CREATED", "UPDATED"]
        assert client.get_event(events[1].id).to_json() == events[1].to_json()
        assert client.list_events(EventQuery(namespace=ns, newest_first=True)).items[0].id == events[1].id
        changes = list(client.iter_history(HistoryQuery(asset_id=ns, limit=1)))
        assert changes[0].diff == {"description": (None, "x")}

    def test_a_wait_ends_with_the_event_and_its_cursor_leads_on(self, client: Any, ns: str) -> None:
        client.create_asset(AssetInput(id=ns, type="T", namespace=ns))
        wait = EventWait(filter=EventFilter(namespace=ns), after=0)
        first = client.wait_events(wait)
        assert first.event.event.value == "CREATED"
        assert first.payload()["id"] == ns
        on = wait.model_copy(update={"after": first.cursor, "timeout": 20.0})
        later = threading.Timer(0.5, lambda: client.update_asset(ns, AssetUpdate(description="x")))
        later.start()
        second = client.wait_events(on)
        later.join()
        assert second.event.changed == ["description"]
        over = client.wait_events(on.model_copy(update={"after": second.cursor, "timeout": 0.3}))
        assert over.event is None
        assert over.cursor >= second.cursor

    def test_a_purge_counts_and_takes_its_namespace_alone(self, client: Any, ns: str) -> None:
        for name in ("in.a", "in.b", "in_side"):
            client.create_asset(AssetInput(id=f"{ns}.{name}", type="T", namespace=f"{ns}.{name[:7]}"))
        client.create_asset(AssetInput(id=f"{ns}.own", type="T", namespace=f"{ns}.in"))
        end = datetime(2200, 1, 1, tzinfo=timezone.utc)
        body = Purge(end_date=end, namespace=f"{ns}.in", limit=2)
        for purge in (body.model_copy(update={"dry_run": True}), body):
            *_, done = client.iter_purge(purge)
            assert (done.purged_assets_count, done.purged_asset_events_count) == (3, None)
            assert done.next_cursor is None
        assert [one.id for one in client.iter_assets(AssetQuery(q=ns))] == [f"{ns}.in_side"]
        with pytest.raises(InvalidCursor):
            client.purge(body.model_copy(update={"cursor": "bm90IG9uZQ"}))

    def test_lineage_of_what_no_task_touched_is_empty(self, client: Any, ns: str) -> None:
        client.create_asset(AssetInput(id=ns, type="T"))
        assert list(client.iter_lineage(LineageQuery(asset_id=ns))) == []
        assert list(client.iter_usages(UsageQuery(asset_id=ns))) == []
        assert client.native_uris(NativeNames(names=[ns])).items == []
        graph = client.dependencies(DependencyQuery(asset_id=ns))
        assert [node.id for node in graph.nodes] == [ns]

    def test_what_is_stale(self, client: Any, ns: str) -> None:
        client.create_asset(AssetInput(id=ns, type="T", namespace=ns, metadata={"freshness": "PT1H"}))
        assert client.get_asset(ns).freshness.state.value == "FRESH"
        for limit, found in (("PT1H", []), ("PT0.001S", [ns])):
            check = FreshnessCheck(expectation=Expectation(max_staleness=limit), namespace=ns)
            report = client.check_freshness(check)
            assert [one.id for one in report.assets] == found
            assert all(one.check_time == report.check_time for one in report.assets)

    def test_what_charts_and_pages_ask(self, client: Any, ns: str) -> None:
        client.create_asset(AssetInput(id=ns, type="T", namespace=ns, metadata={"freshness": "PT1H"}))
        columns = {"type": {"field": "TYPE"}, "n": {"field": "ID", "agg": "COUNT"}}
        where = [{"field": "NAMESPACE", "value": ns}]
        chart = DashboardQuery.model_validate({"columns": columns, "where": where})
        assert client.dashboard(chart) == client.query_dashboard(chart)
        assert client.dashboard(chart).rows == [{"type": "T", "n": 1}]
        assert client.staleness(StalenessQuery(namespace=ns, points=2)).points[-1].fresh == 1
        assert client.list_triggers(TriggerQuery(dag_id=ns)).items == []

    def test_locks_are_taken_kept_and_released(self, client: Any, ns: str) -> None:
        for name in ("a", "b"):
            client.create_asset(AssetInput(id=f"{ns}.{name}", type="T", namespace=ns))
        wanted = AcquireLeases(asset_ids=[f"{ns}.b", f"{ns}.a"], ttl=timedelta(seconds=90))
        first, second = client.acquire_leases(wanted).leases
        assert (first.asset_id, second.asset_id, first.ttl) == (f"{ns}.b", f"{ns}.a", timedelta(seconds=90))
        assert (first.owner_type, first.execution_id, first.fencing_token) == ("USER", None, 1)
        assert client.get_asset(first.asset_id).lock == first
        locked = client.query_assets(AssetQuery(namespace=ns, locked=True)).items
        assert [asset.lock.owner for asset in locked] == [first.owner] * 2
        assert [
            one.asset_id for one in client.iter_leases(LeaseQuery(limit=1)) if one.asset_id[: len(ns)] == ns
        ]
        assert client.list_leases(LeaseQuery(asset_id=first.asset_id)).items == [first]
        with fenced({first.asset_id: 0}), pytest.raises(AssetLocked) as refused:
            client.update_asset(first.asset_id, AssetUpdate(description="late"))
        assert refused.value.members["current_fencing_token"] == 1
        with fenced({first.asset_id: 1}):
            client.update_asset(first.asset_id, AssetUpdate(description="in time"))
        assert client.get_asset(first.asset_id).lock.locked_until >= first.locked_until
        released = client.release_leases(ReleaseLeases(asset_ids=[f"{ns}.b", "nowhere"])).released
        assert released == [f"{ns}.b"]
        taken = client.force_unlock(ForceUnlock(asset_id=f"{ns}.a", reason="a test")).unlocked
        assert (taken.lease.fencing_token, taken.reason) == (1, "a test")
        assert client.list_forced_unlocks(ForcedUnlockQuery(asset_id=f"{ns}.a")).items == [taken]
        assert client.get_asset(f"{ns}.a").lock is None

    def test_a_wait_for_locks_tells_whose_place_is_gone(self, client: Any, ns: str) -> None:
        assert client.wait_leases(LeaseWait(wait_id=uuid.uuid4(), timeout=0.3)).turn

    def test_a_bookmark_moves_from_where_it_is_known_to_be(self, client: Any, ns: str) -> None:
        opened = client.open_bookmarks(BookmarksOpen(key=ns, exporters=["file"], lookback=0.0))
        (mark,) = opened.items
        page = client.read_lineage(LineageRead(after=mark.seq, filter=LineageFilter(dag_id=ns)))
        assert page.items == []
        move = BookmarkMove(key=ns, exporter="file", expected=mark.seq, seq=mark.seq + 1)
        assert client.move_bookmark(move).seq == mark.seq + 1
        (told,) = [one for one in client.iter_shippers(ShipperQuery(limit=1)) if one.key == ns]
        assert (told.exporter, told.seq, told.result) == ("file", mark.seq + 1, None)
        changed = client.read_changes(ChangesRead(after=0, upto=10**12, asset_namespace=ns))
        assert (changed.items, changed.next_after) == ([], 10**12)
        with pytest.raises(Conflict):
            client.move_bookmark(move.model_copy(update={"seq": mark.seq + 2}))
        gone = client.delete_shipped(ShippedDelete(key=ns, exporters=["file"]))
        assert (gone.deleted, gone.next_after) == (0, None)

    def test_an_export_read_again_changes_nothing(self, client: Any, ns: str) -> None:
        client.create_asset(AssetInput(id=ns, type="T", namespace=ns, metadata={"x": [1]}))
        rows = list(client.iter_export(ExportQuery(limit=50)))
        assert ns in json.dumps([row.to_json() for row in rows])
        result = client.import_rows(ImportRequest(rows=rows[:500]))
        assert (result.imported, result.skipped) == (0, len(rows[:500]))

    def test_what_assets_written_in_python_record(self, client: Any, ns: str) -> None:
        declared = NodeDeclaration(name=ns, kinds=["table"], upstreams=["nowhere"])
        assert client.declare_nodes(NodeDeclarations(items=[declared])).changed == 1
        shared: dict[str, Any] = {"step": ns, "node": ns, "partition_key": '{"single":["eu"]}'}
        event = StepEventInput(
            ordinal=0, event_type="Materialization", data_version="1", metadata=[("n", {"Int": {"value": 3}})],
            **shared,
        )  # fmt: skip
        record = AssetRunRecord(run_id=ns, run=AssetRunInput(nodes=[ns]), events=[event])
        assert [client.record_asset_run(record).stored for _ in range(2)] == [1, 0]
        assert client.get_asset(ns).metadata["n"] == 3
        assert client.list_nodes(NodeQuery(names=[ns])).items[0].data_version == "1"
        (status,) = [one for one in client.node_statuses().items if one.name == ns]
        assert (status.status, status.causes[0].dependency) == ("Stale", "nowhere")
        assert client.node_partitions(NodePartitionQuery(node=ns)).materialized == 1
        assert client.list_step_events(StepEventQuery(run_id=ns)).items[0].metadata == event.metadata
        assert client.cancel_asset_run(CancelRequest(run_id=ns)).found
        (run,) = client.list_asset_runs(AssetRunQuery(run_id=ns)).items
        assert (run.cancel_requested, run.nodes) == (True, [ns])
        backfill = AssetBackfill(backfill_id=ns, status="Requested", definition={}, keys={"eu": "requested"})
        assert client.save_asset_backfill(backfill) == backfill
        assert client.list_asset_backfills(AssetBackfillQuery(backfill_id=ns)).items == [backfill]

    def test_keys_and_slots_of_assets_written_in_python(self, client: Any, ns: str) -> None:
        added = client.change_dynamic_partitions(DynamicPartitionChange(name=ns, add=["b", "a"]))
        assert added.keys == ["b", "a"] == client.dynamic_partitions(DynamicPartitionQuery(name=ns)).keys
        assert client.set_pool(PoolLimit(pool=ns, slot_limit=1)).configured
        claims = [SlotClaim(run_id=ns, step=step, pools=[PoolClaim(pool=ns)]) for step in "ab"]
        assert [client.claim_slots(claim).granted for claim in claims] == [True, False]
        assert [one.step for one in client.list_pools(PoolQuery(pool=ns)).items[0].holders] == ["a"]
        assert client.release_slots(SlotRelease(run_id=ns)).released == 1


def test_the_contract_asks_for_every_operation() -> None:
    """But for those that need a task, a trigger or a subscribed Dag, which are shown with them."""
    with_a_run = {"record_task_run", "correct_state", "replay_event"}
    of_triggers = {"next_check", "report_check", "get_firing"}
    by_pages = {
        "list_history": "iter_history", "list_lineage": "iter_lineage", "list_usages": "iter_usages",
        "export_rows": "iter_export", "list_shippers": "iter_shippers",
    }  # fmt: skip
    source = inspect.getsource(TestContract)
    missing = [name for name in OPERATIONS if f"client.{by_pages.get(name, name)}(" not in source]
    assert set(missing) - of_triggers == with_a_run

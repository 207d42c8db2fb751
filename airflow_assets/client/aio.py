"""The client for coroutines; made from ``base.py`` by ``python -m scripts.make_async_client``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

from airflow_assets.client import fencing
from airflow_assets.client.asset_runs_aio import AsyncAssetRunCalls
from airflow_assets.schemas.dashboard import StalenessQuery
from airflow_assets.schemas.leases import ForcedUnlockQuery, LeaseQuery
from airflow_assets.schemas.operations import OPERATIONS, GetOptions, UpsertResult
from airflow_assets.schemas.queries import AssetQuery, EventQuery, LineageQuery, UsageQuery
from airflow_assets.schemas.shipping import ShipperQuery
from airflow_assets.schemas.transfer import ExportQuery
from airflow_assets.schemas.trigger_listing import TriggerQuery

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from airflow_assets.client.choose import AsyncTransport
    from airflow_assets.schemas.assets import Asset, AssetInput, AssetUpdate, Rename
    from airflow_assets.schemas.base import Page, Schema
    from airflow_assets.schemas.dashboard import DashboardData, DashboardQuery, StalenessSeries
    from airflow_assets.schemas.events import Change, Event, Replay, ReplayResult
    from airflow_assets.schemas.freshness import FreshnessCheck, FreshnessReport
    from airflow_assets.schemas.lease_waiting import LeaseWait, LeaseWaitResult
    from airflow_assets.schemas.leases import (
        AcquireLeases,
        ForcedUnlock,
        ForceUnlock,
        ForceUnlockResult,
        Lease,
        LeaseGrant,
        ReleaseLeases,
        ReleaseResult,
    )
    from airflow_assets.schemas.lineage import (
        Graph,
        LineageEvent,
        RecordResult,
        StateCorrection,
        TaskRunRecord,
        Usage,
    )
    from airflow_assets.schemas.native import NativeNames, NativeUris
    from airflow_assets.schemas.polls import CheckReport, CheckResult, Firing, PollRef
    from airflow_assets.schemas.purge import Purge, PurgeResult
    from airflow_assets.schemas.queries import (
        Batch,
        BatchResult,
        DependencyQuery,
        FacetQuery,
        FacetResult,
        HistoryQuery,
    )
    from airflow_assets.schemas.shipping import (
        Bookmark,
        BookmarkMove,
        Bookmarks,
        BookmarksOpen,
        ChangesPage,
        ChangesRead,
        DeletedLineage,
        LineagePage,
        LineageRead,
        ShippedDelete,
        Shipper,
    )
    from airflow_assets.schemas.transfer import ExportRow, ImportRequest, ImportResult
    from airflow_assets.schemas.trigger_listing import Triggers
    from airflow_assets.schemas.waiting import EventWait, EventWaitResult

_Query = TypeVar("_Query", bound="Schema")
_Item = TypeVar("_Item")


class AsyncCatalogClient(AsyncAssetRunCalls):
    """The catalogue, whichever way it is reached; :func:`airflow_assets.client.get_async_client` makes one.

    Every method raises the errors of :mod:`airflow_assets.exceptions`: ``InvalidRequest`` and its kin for a
    value that breaks a rule, ``NotPermitted``, ``CatalogUnavailable``, and those its own text names.
    Arguments are checked when their models are made, before anything is sent. A client may be used from
    several tasks of its event loop.
    """

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def search_assets(self, query: AssetQuery | None = None) -> Page[Asset]:
        """Return one page of assets by a GET; `query_assets` also takes filters too long for an address."""
        return cast("Page[Asset]", await self._call("search_assets", query or AssetQuery()))

    async def query_assets(self, query: AssetQuery | None = None) -> Page[Asset]:
        """Return one page of assets; the filter may be of any length.

        >>> (await client.query_assets(AssetQuery(namespace="company.data", sort="-updated", limit=10))).items
        """
        return cast("Page[Asset]", await self._call("query_assets", query or AssetQuery()))

    async def iter_assets(self, query: AssetQuery | None = None) -> AsyncIterator[Asset]:
        """Go through all matching assets, in pages of ``query.limit``."""
        async for item in self._walk(self.query_assets, query or AssetQuery()):
            yield item

    async def create_asset(self, asset: AssetInput) -> Asset:
        """Create an asset; its type is required.

        :raises AssetAlreadyExists: the id is taken.
        """
        return cast("Asset", await self._call("create_asset", asset))

    async def get_asset(self, asset_id: str, *, include_deleted: bool = False) -> Asset:
        """Return one asset by its id or a former id.

        :raises AssetNotFound: there is none, or it is deleted and ``include_deleted`` is not set.
        """
        options = GetOptions(include_deleted=include_deleted)
        return cast("Asset", await self._call("get_asset", options, asset_id))

    async def update_asset(self, asset_id: str, changes: AssetUpdate) -> Asset:
        """Change the given members of an existing asset; metadata is merged, a null removes its key.

        :raises AssetNotFound: there is no such asset.
        :raises AssetLocked: somebody else holds it.
        """
        return cast("Asset", await self._call("update_asset", changes, asset_id))

    async def delete_asset(self, asset_id: str) -> None:
        """Delete an asset so that it can still be read with ``include_deleted``.

        :raises AssetNotFound: there is no such asset.
        :raises AssetLocked: somebody else holds it.
        """
        await self._call("delete_asset", None, asset_id)

    async def upsert_asset(self, asset: AssetInput) -> UpsertResult:
        """Create the asset, or update it with the members that are given.

        :raises AssetLocked: somebody else holds it.
        """
        return cast("UpsertResult", await self._call("upsert_asset", asset))

    async def rename_asset(self, rename: Rename) -> Asset:
        """Give an asset a new id; history and lineage stay, and the old id still finds it.

        :raises AssetNotFound: there is no asset of the old id.
        :raises Conflict: the new id is taken.
        """
        return cast("Asset", await self._call("rename_asset", rename))

    async def facets(self, query: FacetQuery) -> FacetResult:
        """Count assets by type, namespace or a metadata key.

        >>> await client.facets(FacetQuery(facets=["type", "metadata.owner"]))
        """
        return cast("FacetResult", await self._call("facets", query))

    async def batch(self, batch: Batch) -> BatchResult:
        """Carry out up to 1,000 writes; each succeeds or fails by itself, see the status of its item."""
        return cast("BatchResult", await self._call("batch", batch))

    async def record_task_run(self, record: TaskRunRecord) -> RecordResult:
        """Record what one try of a task read and wrote; a repeat does nothing."""
        return cast("RecordResult", await self._call("record_task_run", record))

    async def correct_state(self, correction: StateCorrection) -> RecordResult:
        """Correct the state of a recorded try which Airflow changed afterwards."""
        return cast("RecordResult", await self._call("correct_state", correction))

    async def list_events(self, query: EventQuery | None = None) -> Page[Event]:
        """Return one page of the event log."""
        return cast("Page[Event]", await self._call("list_events", query or EventQuery()))

    async def iter_events(self, query: EventQuery | None = None) -> AsyncIterator[Event]:
        """Go through all matching events."""
        async for item in self._walk(self.list_events, query or EventQuery()):
            yield item

    async def get_event(self, event_id: str) -> Event:
        """Return one event with its whole payload.

        :raises EventNotFound: there is none.
        """
        return cast("Event", await self._call("get_event", None, event_id))

    async def wait_events(self, wait: EventWait) -> EventWaitResult:
        """Wait for the first event that matches, up to ``wait.timeout`` seconds.

        Go on with the cursor of the answer, and no event is missed or seen twice:

        >>> await client.wait_events(EventWait(filter=EventFilter(asset_id="orders"), timeout=25)).cursor
        """
        return cast("EventWaitResult", await self._call("wait_events", wait))

    async def replay_event(self, replay: Replay) -> ReplayResult:
        """Start runs for an old event again; the same ``replay_id`` starts them once.

        :raises EventNotFound: there is no such event.
        """
        return cast("ReplayResult", await self._call("replay_event", replay))

    async def check_freshness(self, check: FreshnessCheck) -> FreshnessReport:
        """Return all assets that are stale now, by the server's clock and from one state of the database."""
        return cast("FreshnessReport", await self._call("check_freshness", check))

    async def next_check(self, poll: PollRef) -> CheckResult:
        """Ask which check of a polled schedule is next, and when; only its trigger may."""
        return cast("CheckResult", await self._call("next_check", poll))

    async def report_check(self, report: CheckReport) -> CheckResult:
        """Report a check of a polled schedule; only its trigger may, and each number counts once."""
        return cast("CheckResult", await self._call("report_check", report))

    async def get_firing(self, firing_id: str) -> Firing:
        """Return a firing of a polled schedule with its whole payload.

        :raises NotFound: there is none.
        """
        return cast("Firing", await self._call("get_firing", None, firing_id))

    async def list_history(self, query: HistoryQuery) -> Page[Change]:
        """Return one page of an asset's changes, newest first."""
        return cast("Page[Change]", await self._call("list_history", query))

    async def iter_history(self, query: HistoryQuery) -> AsyncIterator[Change]:
        """Go through all changes of an asset."""
        async for item in self._walk(self.list_history, query):
            yield item

    async def list_usages(self, query: UsageQuery | None = None) -> Page[Usage]:
        """Return one page of usages (a task run touched an asset), newest first."""
        return cast("Page[Usage]", await self._call("list_usages", query or UsageQuery()))

    async def iter_usages(self, query: UsageQuery | None = None) -> AsyncIterator[Usage]:
        """Go through all matching usages."""
        async for item in self._walk(self.list_usages, query or UsageQuery()):
            yield item

    async def list_lineage(self, query: LineageQuery | None = None) -> Page[LineageEvent]:
        """Return one page of lineage events, newest first."""
        return cast("Page[LineageEvent]", await self._call("list_lineage", query or LineageQuery()))

    async def iter_lineage(self, query: LineageQuery | None = None) -> AsyncIterator[LineageEvent]:
        """Go through all matching lineage events."""
        async for item in self._walk(self.list_lineage, query or LineageQuery()):
            yield item

    async def read_lineage(self, read: LineageRead) -> LineagePage:
        """Return the lineage events after a number, oldest first, with the assets they name.

        >>> page = client.read_lineage(LineageRead(after=0))
        >>> await client.read_lineage(LineageRead(after=page.next_after))
        """
        return cast("LineagePage", await self._call("read_lineage", read))

    async def read_changes(self, read: ChangesRead) -> ChangesPage:
        """Return the changes of assets between two numbers of the log that no lineage tells, oldest first."""
        return cast("ChangesPage", await self._call("read_changes", read))

    async def list_shippers(self, query: ShipperQuery | None = None) -> Page[Shipper]:
        """Return one page of the exporters that have a bookmark: how far they are, how the last run ended."""
        return cast("Page[Shipper]", await self._call("list_shippers", query or ShipperQuery()))

    async def iter_shippers(self, query: ShipperQuery | None = None) -> AsyncIterator[Shipper]:
        """Go through all exporters that have a bookmark."""
        async for item in self._walk(self.list_shippers, query or ShipperQuery()):
            yield item

    async def open_bookmarks(self, request: BookmarksOpen) -> Bookmarks:
        """Return how far each exporter of a shipper has come; a new one begins ``lookback`` seconds ago."""
        return cast("Bookmarks", await self._call("open_bookmarks", request))

    async def move_bookmark(self, move: BookmarkMove) -> Bookmark:
        """Say what an exporter has confirmed.

        :raises Conflict: another run has moved the bookmark meanwhile.
        :raises NotFound: it has not been opened.
        """
        return cast("Bookmark", await self._call("move_bookmark", move))

    async def delete_shipped(self, request: ShippedDelete) -> DeletedLineage:
        """Delete lineage events that every exporter of a shipper has confirmed.

        :raises NotFound: an exporter has no bookmark.
        """
        return cast("DeletedLineage", await self._call("delete_shipped", request))

    async def dependencies(self, query: DependencyQuery) -> Graph:
        """Return the neighbourhood of an asset.

        :raises AssetNotFound: there is no such asset.
        """
        return cast("Graph", await self._call("dependencies", query))

    async def dashboard(self, query: DashboardQuery) -> DashboardData:
        """Return the present inventory as rows, by a GET; `query_dashboard` takes longer conditions."""
        return cast("DashboardData", await self._call("dashboard", query))

    async def query_dashboard(self, query: DashboardQuery) -> DashboardData:
        """Return the present inventory as rows for a chart.

        >>> count = {"field": "ID", "agg": "COUNT"}
        >>> await client.query_dashboard(DashboardQuery(columns={"type": {"field": "TYPE"}, "n": count})).rows
        """
        return cast("DashboardData", await self._call("query_dashboard", query))

    async def staleness(self, query: StalenessQuery | None = None) -> StalenessSeries:
        """Return how many assets were stale at each of some moments, by what they expect themselves."""
        return cast("StalenessSeries", await self._call("staleness", query or StalenessQuery()))

    async def list_triggers(self, query: TriggerQuery | None = None) -> Triggers:
        """Return one page of the triggers of Dags, with their last firing and next check."""
        return cast("Triggers", await self._call("list_triggers", query or TriggerQuery()))

    async def acquire_leases(self, request: AcquireLeases) -> LeaseGrant:
        """Lock assets, all or none; locks that the caller holds already are extended.

        :raises AssetNotFound: there is no such asset.
        :raises AssetLocked: somebody else holds one, or waits for it and came earlier.
        """
        return cast("LeaseGrant", await self._call("acquire_leases", request))

    async def wait_leases(self, wait: LeaseWait) -> LeaseWaitResult:
        """Wait until it may be one's turn for locks that were refused, up to ``wait.timeout`` seconds."""
        return cast("LeaseWaitResult", await self._call("wait_leases", wait))

    async def release_leases(self, request: ReleaseLeases) -> ReleaseResult:
        """Give up locks; what is free or held by somebody else stays as it is."""
        return cast("ReleaseResult", await self._call("release_leases", request))

    async def force_unlock(self, request: ForceUnlock) -> ForceUnlockResult:
        """Take a lock from whoever holds it, for a reason that is recorded.

        :raises AssetNotFound: there is no such asset.
        """
        return cast("ForceUnlockResult", await self._call("force_unlock", request))

    async def list_leases(self, query: LeaseQuery | None = None) -> Page[Lease]:
        """Return one page of the locks that are held now, the longest held first."""
        return cast("Page[Lease]", await self._call("list_leases", query or LeaseQuery()))

    async def iter_leases(self, query: LeaseQuery | None = None) -> AsyncIterator[Lease]:
        """Go through all locks that are held now."""
        async for item in self._walk(self.list_leases, query or LeaseQuery()):
            yield item

    async def list_forced_unlocks(self, query: ForcedUnlockQuery | None = None) -> Page[ForcedUnlock]:
        """Return one page of the locks that were taken by force, newest first."""
        return cast(
            "Page[ForcedUnlock]", await self._call("list_forced_unlocks", query or ForcedUnlockQuery())
        )

    async def iter_forced_unlocks(
        self, query: ForcedUnlockQuery | None = None
    ) -> AsyncIterator[ForcedUnlock]:
        """Go through all locks that were taken by force."""
        async for item in self._walk(self.list_forced_unlocks, query or ForcedUnlockQuery()):
            yield item

    async def native_uris(self, names: NativeNames) -> NativeUris:
        """Return the URIs that Airflow's Dags give to names of assets."""
        return cast("NativeUris", await self._call("native_uris", names))

    async def export_rows(self, query: ExportQuery | None = None) -> Page[ExportRow]:
        """Return one page of an export of the tenant."""
        return cast("Page[ExportRow]", await self._call("export_rows", query or ExportQuery()))

    async def iter_export(self, query: ExportQuery | None = None) -> AsyncIterator[ExportRow]:
        """Go through all rows of an export."""
        async for item in self._walk(self.export_rows, query or ExportQuery()):
            yield item

    async def purge(self, purge: Purge) -> PurgeResult:
        """Make one step of a purge; go on with its ``next_cursor``, or let :meth:`iter_purge` do so.

        :raises InvalidQuery: when the `Purge` is made: a kind of record cannot be asked for a filter.
        """
        return cast("PurgeResult", await self._call("purge", purge))

    async def iter_purge(self, purge: Purge) -> AsyncIterator[PurgeResult]:
        """Purge to the end; yields the sums after each step.

        >>> async for done in client.iter_purge(Purge(end_date=last_year, purge_asset_events=True)):
        ...     print(done.purged)
        """
        done: PurgeResult | None = None
        while done is None or done.next_cursor is not None:
            cursor = done.next_cursor if done else purge.cursor
            step = await self.purge(purge.model_copy(update={"cursor": cursor}))
            done = step.after(done)
            yield done

    async def import_rows(self, request: ImportRequest) -> ImportResult:
        """Import up to 1,000 rows of an export; rows that are there already stay as they are."""
        return cast("ImportResult", await self._call("import_rows", request))

    async def _call(self, name: str, payload: Schema | None, path_id: str | None = None) -> Any:
        operation = OPERATIONS[name]
        with fencing.guarding(operation):
            return await self._transport.call(operation, path_id, payload)

    async def _walk(
        self, fetch: Callable[[_Query], Awaitable[Page[_Item]]], query: _Query
    ) -> AsyncIterator[_Item]:
        cursor: str | None = ""
        while cursor is not None:
            page = await fetch(query)
            for item in page.items:
                yield item
            cursor = page.next_cursor
            query = query.model_copy(update={"cursor": cursor})

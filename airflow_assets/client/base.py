"""The client: a method for each operation of the catalogue.

``aio.py`` is made from this file by ``python -m scripts.make_async_client``; a test compares them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

from airflow_assets.client import fencing
from airflow_assets.client.asset_runs import AssetRunCalls
from airflow_assets.schemas.dashboard import StalenessQuery
from airflow_assets.schemas.leases import ForcedUnlockQuery, LeaseQuery
from airflow_assets.schemas.operations import OPERATIONS, GetOptions, UpsertResult
from airflow_assets.schemas.queries import AssetQuery, EventQuery, LineageQuery, UsageQuery
from airflow_assets.schemas.shipping import ShipperQuery
from airflow_assets.schemas.transfer import ExportQuery
from airflow_assets.schemas.trigger_listing import TriggerQuery

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from airflow_assets.client.choose import Transport
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


class CatalogClient(AssetRunCalls):
    """The catalogue, whichever way it is reached; :func:`airflow_assets.client.get_client` makes one.

    Every method raises the errors of :mod:`airflow_assets.exceptions`: ``InvalidRequest`` and its kin for a
    value that breaks a rule, ``NotPermitted``, ``CatalogUnavailable``, and those its own text names.
    Arguments are checked when their models are made, before anything is sent. A client may be used from
    several threads and after a fork.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def search_assets(self, query: AssetQuery | None = None) -> Page[Asset]:
        """Return one page of assets by a GET; `query_assets` also takes filters too long for an address."""
        return cast("Page[Asset]", self._call("search_assets", query or AssetQuery()))

    def query_assets(self, query: AssetQuery | None = None) -> Page[Asset]:
        """Return one page of assets; the filter may be of any length.

        >>> client.query_assets(AssetQuery(namespace="company.data", sort="-updated", limit=10)).items
        """
        return cast("Page[Asset]", self._call("query_assets", query or AssetQuery()))

    def iter_assets(self, query: AssetQuery | None = None) -> Iterator[Asset]:
        """Go through all matching assets, in pages of ``query.limit``."""
        yield from self._walk(self.query_assets, query or AssetQuery())

    def create_asset(self, asset: AssetInput) -> Asset:
        """Create an asset; its type is required.

        :raises AssetAlreadyExists: the id is taken.
        """
        return cast("Asset", self._call("create_asset", asset))

    def get_asset(self, asset_id: str, *, include_deleted: bool = False) -> Asset:
        """Return one asset by its id or a former id.

        :raises AssetNotFound: there is none, or it is deleted and ``include_deleted`` is not set.
        """
        options = GetOptions(include_deleted=include_deleted)
        return cast("Asset", self._call("get_asset", options, asset_id))

    def update_asset(self, asset_id: str, changes: AssetUpdate) -> Asset:
        """Change the given members of an existing asset; metadata is merged, a null removes its key.

        :raises AssetNotFound: there is no such asset.
        :raises AssetLocked: somebody else holds it.
        """
        return cast("Asset", self._call("update_asset", changes, asset_id))

    def delete_asset(self, asset_id: str) -> None:
        """Delete an asset so that it can still be read with ``include_deleted``.

        :raises AssetNotFound: there is no such asset.
        :raises AssetLocked: somebody else holds it.
        """
        self._call("delete_asset", None, asset_id)

    def upsert_asset(self, asset: AssetInput) -> UpsertResult:
        """Create the asset, or update it with the members that are given.

        :raises AssetLocked: somebody else holds it.
        """
        return cast("UpsertResult", self._call("upsert_asset", asset))

    def rename_asset(self, rename: Rename) -> Asset:
        """Give an asset a new id; history and lineage stay, and the old id still finds it.

        :raises AssetNotFound: there is no asset of the old id.
        :raises Conflict: the new id is taken.
        """
        return cast("Asset", self._call("rename_asset", rename))

    def facets(self, query: FacetQuery) -> FacetResult:
        """Count assets by type, namespace or a metadata key.

        >>> client.facets(FacetQuery(facets=["type", "metadata.owner"]))
        """
        return cast("FacetResult", self._call("facets", query))

    def batch(self, batch: Batch) -> BatchResult:
        """Carry out up to 1,000 writes; each succeeds or fails by itself, see the status of its item."""
        return cast("BatchResult", self._call("batch", batch))

    def record_task_run(self, record: TaskRunRecord) -> RecordResult:
        """Record what one try of a task read and wrote; a repeat does nothing."""
        return cast("RecordResult", self._call("record_task_run", record))

    def correct_state(self, correction: StateCorrection) -> RecordResult:
        """Correct the state of a recorded try which Airflow changed afterwards."""
        return cast("RecordResult", self._call("correct_state", correction))

    def list_events(self, query: EventQuery | None = None) -> Page[Event]:
        """Return one page of the event log."""
        return cast("Page[Event]", self._call("list_events", query or EventQuery()))

    def iter_events(self, query: EventQuery | None = None) -> Iterator[Event]:
        """Go through all matching events."""
        yield from self._walk(self.list_events, query or EventQuery())

    def get_event(self, event_id: str) -> Event:
        """Return one event with its whole payload.

        :raises EventNotFound: there is none.
        """
        return cast("Event", self._call("get_event", None, event_id))

    def wait_events(self, wait: EventWait) -> EventWaitResult:
        """Wait for the first event that matches, up to ``wait.timeout`` seconds.

        Go on with the cursor of the answer, and no event is missed or seen twice:

        >>> client.wait_events(EventWait(filter=EventFilter(asset_id="orders"), timeout=25)).cursor
        """
        return cast("EventWaitResult", self._call("wait_events", wait))

    def replay_event(self, replay: Replay) -> ReplayResult:
        """Start runs for an old event again; the same ``replay_id`` starts them once.

        :raises EventNotFound: there is no such event.
        """
        return cast("ReplayResult", self._call("replay_event", replay))

    def check_freshness(self, check: FreshnessCheck) -> FreshnessReport:
        """Return all assets that are stale now, by the server's clock and from one state of the database."""
        return cast("FreshnessReport", self._call("check_freshness", check))

    def next_check(self, poll: PollRef) -> CheckResult:
        """Ask which check of a polled schedule is next, and when; only its trigger may."""
        return cast("CheckResult", self._call("next_check", poll))

    def report_check(self, report: CheckReport) -> CheckResult:
        """Report a check of a polled schedule; only its trigger may, and each number counts once."""
        return cast("CheckResult", self._call("report_check", report))

    def get_firing(self, firing_id: str) -> Firing:
        """Return a firing of a polled schedule with its whole payload.

        :raises NotFound: there is none.
        """
        return cast("Firing", self._call("get_firing", None, firing_id))

    def list_history(self, query: HistoryQuery) -> Page[Change]:
        """Return one page of an asset's changes, newest first."""
        return cast("Page[Change]", self._call("list_history", query))

    def iter_history(self, query: HistoryQuery) -> Iterator[Change]:
        """Go through all changes of an asset."""
        yield from self._walk(self.list_history, query)

    def list_usages(self, query: UsageQuery | None = None) -> Page[Usage]:
        """Return one page of usages (a task run touched an asset), newest first."""
        return cast("Page[Usage]", self._call("list_usages", query or UsageQuery()))

    def iter_usages(self, query: UsageQuery | None = None) -> Iterator[Usage]:
        """Go through all matching usages."""
        yield from self._walk(self.list_usages, query or UsageQuery())

    def list_lineage(self, query: LineageQuery | None = None) -> Page[LineageEvent]:
        """Return one page of lineage events, newest first."""
        return cast("Page[LineageEvent]", self._call("list_lineage", query or LineageQuery()))

    def iter_lineage(self, query: LineageQuery | None = None) -> Iterator[LineageEvent]:
        """Go through all matching lineage events."""
        yield from self._walk(self.list_lineage, query or LineageQuery())

    def read_lineage(self, read: LineageRead) -> LineagePage:
        """Return the lineage events after a number, oldest first, with the assets they name.

        >>> page = client.read_lineage(LineageRead(after=0))
        >>> client.read_lineage(LineageRead(after=page.next_after))
        """
        return cast("LineagePage", self._call("read_lineage", read))

    def read_changes(self, read: ChangesRead) -> ChangesPage:
        """Return the changes of assets between two numbers of the log that no lineage tells, oldest first."""
        return cast("ChangesPage", self._call("read_changes", read))

    def list_shippers(self, query: ShipperQuery | None = None) -> Page[Shipper]:
        """Return one page of the exporters that have a bookmark: how far they are, how the last run ended."""
        return cast("Page[Shipper]", self._call("list_shippers", query or ShipperQuery()))

    def iter_shippers(self, query: ShipperQuery | None = None) -> Iterator[Shipper]:
        """Go through all exporters that have a bookmark."""
        yield from self._walk(self.list_shippers, query or ShipperQuery())

    def open_bookmarks(self, request: BookmarksOpen) -> Bookmarks:
        """Return how far each exporter of a shipper has come; a new one begins ``lookback`` seconds ago."""
        return cast("Bookmarks", self._call("open_bookmarks", request))

    def move_bookmark(self, move: BookmarkMove) -> Bookmark:
        """Say what an exporter has confirmed.

        :raises Conflict: another run has moved the bookmark meanwhile.
        :raises NotFound: it has not been opened.
        """
        return cast("Bookmark", self._call("move_bookmark", move))

    def delete_shipped(self, request: ShippedDelete) -> DeletedLineage:
        """Delete lineage events that every exporter of a shipper has confirmed.

        :raises NotFound: an exporter has no bookmark.
        """
        return cast("DeletedLineage", self._call("delete_shipped", request))

    def dependencies(self, query: DependencyQuery) -> Graph:
        """Return the neighbourhood of an asset.

        :raises AssetNotFound: there is no such asset.
        """
        return cast("Graph", self._call("dependencies", query))

    def dashboard(self, query: DashboardQuery) -> DashboardData:
        """Return the present inventory as rows, by a GET; `query_dashboard` takes longer conditions."""
        return cast("DashboardData", self._call("dashboard", query))

    def query_dashboard(self, query: DashboardQuery) -> DashboardData:
        """Return the present inventory as rows for a chart.

        >>> count = {"field": "ID", "agg": "COUNT"}
        >>> client.query_dashboard(DashboardQuery(columns={"type": {"field": "TYPE"}, "n": count})).rows
        """
        return cast("DashboardData", self._call("query_dashboard", query))

    def staleness(self, query: StalenessQuery | None = None) -> StalenessSeries:
        """Return how many assets were stale at each of some moments, by what they expect themselves."""
        return cast("StalenessSeries", self._call("staleness", query or StalenessQuery()))

    def list_triggers(self, query: TriggerQuery | None = None) -> Triggers:
        """Return one page of the triggers of Dags, with their last firing and next check."""
        return cast("Triggers", self._call("list_triggers", query or TriggerQuery()))

    def acquire_leases(self, request: AcquireLeases) -> LeaseGrant:
        """Lock assets, all or none; locks that the caller holds already are extended.

        :raises AssetNotFound: there is no such asset.
        :raises AssetLocked: somebody else holds one, or waits for it and came earlier.
        """
        return cast("LeaseGrant", self._call("acquire_leases", request))

    def wait_leases(self, wait: LeaseWait) -> LeaseWaitResult:
        """Wait until it may be one's turn for locks that were refused, up to ``wait.timeout`` seconds."""
        return cast("LeaseWaitResult", self._call("wait_leases", wait))

    def release_leases(self, request: ReleaseLeases) -> ReleaseResult:
        """Give up locks; what is free or held by somebody else stays as it is."""
        return cast("ReleaseResult", self._call("release_leases", request))

    def force_unlock(self, request: ForceUnlock) -> ForceUnlockResult:
        """Take a lock from whoever holds it, for a reason that is recorded.

        :raises AssetNotFound: there is no such asset.
        """
        return cast("ForceUnlockResult", self._call("force_unlock", request))

    def list_leases(self, query: LeaseQuery | None = None) -> Page[Lease]:
        """Return one page of the locks that are held now, the longest held first."""
        return cast("Page[Lease]", self._call("list_leases", query or LeaseQuery()))

    def iter_leases(self, query: LeaseQuery | None = None) -> Iterator[Lease]:
        """Go through all locks that are held now."""
        yield from self._walk(self.list_leases, query or LeaseQuery())

    def list_forced_unlocks(self, query: ForcedUnlockQuery | None = None) -> Page[ForcedUnlock]:
        """Return one page of the locks that were taken by force, newest first."""
        return cast("Page[ForcedUnlock]", self._call("list_forced_unlocks", query or ForcedUnlockQuery()))

    def iter_forced_unlocks(self, query: ForcedUnlockQuery | None = None) -> Iterator[ForcedUnlock]:
        """Go through all locks that were taken by force."""
        yield from self._walk(self.list_forced_unlocks, query or ForcedUnlockQuery())

    def native_uris(self, names: NativeNames) -> NativeUris:
        """Return the URIs that Airflow's Dags give to names of assets."""
        return cast("NativeUris", self._call("native_uris", names))

    def export_rows(self, query: ExportQuery | None = None) -> Page[ExportRow]:
        """Return one page of an export of the tenant."""
        return cast("Page[ExportRow]", self._call("export_rows", query or ExportQuery()))

    def iter_export(self, query: ExportQuery | None = None) -> Iterator[ExportRow]:
        """Go through all rows of an export."""
        yield from self._walk(self.export_rows, query or ExportQuery())

    def purge(self, purge: Purge) -> PurgeResult:
        """Make one step of a purge; go on with its ``next_cursor``, or let :meth:`iter_purge` do so.

        :raises InvalidQuery: when the `Purge` is made: a kind of record cannot be asked for a filter.
        """
        return cast("PurgeResult", self._call("purge", purge))

    def iter_purge(self, purge: Purge) -> Iterator[PurgeResult]:
        """Purge to the end; yields the sums after each step.

        >>> for done in client.iter_purge(Purge(end_date=last_year, purge_asset_events=True)):
        ...     print(done.purged)
        """
        done: PurgeResult | None = None
        while done is None or done.next_cursor is not None:
            cursor = done.next_cursor if done else purge.cursor
            step = self.purge(purge.model_copy(update={"cursor": cursor}))
            done = step.after(done)
            yield done

    def import_rows(self, request: ImportRequest) -> ImportResult:
        """Import up to 1,000 rows of an export; rows that are there already stay as they are."""
        return cast("ImportResult", self._call("import_rows", request))

    def _call(self, name: str, payload: Schema | None, path_id: str | None = None) -> Any:
        operation = OPERATIONS[name]
        with fencing.guarding(operation):
            return self._transport.call(operation, path_id, payload)

    def _walk(self, fetch: Callable[[_Query], Page[_Item]], query: _Query) -> Iterator[_Item]:
        cursor: str | None = ""
        while cursor is not None:
            page = fetch(query)
            yield from page.items
            cursor = page.next_cursor
            query = query.model_copy(update={"cursor": cursor})

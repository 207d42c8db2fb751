"""The catalogue's operations as methods: each opens its transaction and runs again what lost a race.

The methods are those of :data:`airflow_assets.schemas.operations.OPERATIONS`, called with the caller, then
the id of the path if there is one, then the body or query.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from airflow_assets.catalog import (
    assets,
    bookmarks,
    changes,
    dependencies,
    event_listing,
    facets,
    firings,
    freshness,
    lease_waits,
    leases,
    leases_listing,
    leases_release,
    lineage,
    log,
    polls,
    purge,
    record,
    restore,
    search,
    shippers,
    shipping,
    transfer,
    waits,
)
from airflow_assets.catalog.asset_run_service import AssetRunOperations
from airflow_assets.catalog.engine import read, retrying, write
from airflow_assets.catalog.filters import is_hidden
from airflow_assets.catalog.overview_service import OverviewOperations
from airflow_assets.catalog.snapshot import snapshot
from airflow_assets.catalog.workspace import Workspace
from airflow_assets.schemas import rules
from airflow_assets.schemas.native import NativeUris
from airflow_assets.schemas.operations import GetOptions, UpsertResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from sqlalchemy import Connection, Engine

    from airflow_assets.catalog.states import AssetState
    from airflow_assets.schemas.actors import Caller
    from airflow_assets.schemas.assets import Asset, AssetInput, AssetUpdate, Rename
    from airflow_assets.schemas.base import Page
    from airflow_assets.schemas.events import Change, Event, Replay, ReplayResult
    from airflow_assets.schemas.freshness import FreshnessCheck, FreshnessReport
    from airflow_assets.schemas.lease_waiting import LeaseWait, LeaseWaitResult
    from airflow_assets.schemas.leases import (
        AcquireLeases,
        ForcedUnlock,
        ForcedUnlockQuery,
        ForceUnlock,
        ForceUnlockResult,
        Lease,
        LeaseGrant,
        LeaseQuery,
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
    from airflow_assets.schemas.native import NativeNames
    from airflow_assets.schemas.polls import CheckReport, CheckResult, Firing, PollRef
    from airflow_assets.schemas.purge import LogReader, Purge, PurgeResult
    from airflow_assets.schemas.queries import (
        AssetQuery,
        Batch,
        BatchResult,
        DependencyQuery,
        EventQuery,
        FacetQuery,
        FacetResult,
        HistoryQuery,
        LineageQuery,
        UsageQuery,
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
        ShipperQuery,
    )
    from airflow_assets.schemas.transfer import ExportQuery, ExportRow, ImportRequest, ImportResult
    from airflow_assets.schemas.waiting import EventWait, EventWaitResult

T = TypeVar("T")


class CatalogService(AssetRunOperations, OverviewOperations):
    """The catalogue behind one engine.

    :param engine: from :func:`airflow_assets.catalog.engine.make_engine`.
    :param on_commit: called after every commit that appended events, to wake who reads the log.

    >>> service = CatalogService(make_engine("sqlite:////tmp/catalogue.db"))
    >>> service.upsert_asset(caller, AssetInput(id="orders", type="airflow_assets.types.Table")).created
    True
    """

    def __init__(self, engine: Engine, on_commit: Callable[[], None] | None = None) -> None:
        self.engine = engine
        self._on_commit = on_commit

    def search_assets(self, caller: Caller, query: AssetQuery) -> Page[Asset]:
        """Return one page of assets."""
        return self._read(lambda conn: search.search(conn, caller, query))

    query_assets = search_assets

    def facets(self, caller: Caller, query: FacetQuery) -> FacetResult:
        """Return how often each value occurs among the matching assets."""
        return self._read(lambda conn: facets.facets(conn, caller, query))

    def get_asset(self, caller: Caller, asset_id: str, options: GetOptions | None = None) -> Asset:
        """Return an asset by its id or a former one.

        Raises:
            AssetNotFound: also when it is hidden, or deleted and not asked for.
        """
        wanted = rules.asset_id(asset_id)
        include_deleted = bool(options and options.include_deleted)
        return self._read(lambda conn: search.get(conn, caller, wanted, include_deleted=include_deleted))

    def create_asset(self, caller: Caller, body: AssetInput) -> Asset:
        """Make an asset; see :func:`airflow_assets.catalog.assets.create`."""
        return self._change(caller, [body.id], lambda work: assets.create(work, body))

    def update_asset(self, caller: Caller, asset_id: str, body: AssetUpdate) -> Asset:
        """Change an asset; see :func:`airflow_assets.catalog.assets.update`."""
        wanted = rules.asset_id(asset_id)
        return self._change(caller, [wanted], lambda work: assets.update(work, wanted, body))

    def delete_asset(self, caller: Caller, asset_id: str) -> None:
        """Mark an asset as deleted; see :func:`airflow_assets.catalog.assets.delete`."""
        wanted = rules.asset_id(asset_id)
        self._change(caller, [wanted], lambda work: assets.delete(work, wanted))

    def rename_asset(self, caller: Caller, body: Rename) -> Asset:
        """Give an asset another id; see :func:`airflow_assets.catalog.assets.rename`."""
        return self._change(caller, [body.old_id, body.new_id], lambda work: assets.rename(work, body))

    def upsert_asset(self, caller: Caller, body: AssetInput) -> UpsertResult:
        """Make or change an asset; see :func:`airflow_assets.catalog.assets.upsert`."""

        def work(conn: Connection) -> tuple[UpsertResult, bool]:
            space = Workspace(conn, caller, [body.id])
            state, created = assets.upsert(space, body)
            space.write(last=True)
            return UpsertResult(asset=_seen(conn, state), created=created), True

        return self._write(work)

    def batch(self, caller: Caller, body: Batch) -> BatchResult:
        """Do up to 1,000 writes, each for itself, in one transaction."""

        def work(conn: Connection) -> tuple[BatchResult, bool]:
            space = Workspace(conn, caller, assets.batch_ids(body))
            result = assets.apply_batch(space, body)
            return result, space.write(last=True)

        return self._write(work)

    def record_task_run(self, caller: Caller, body: TaskRunRecord) -> RecordResult:
        """Record a task run once; see :func:`airflow_assets.catalog.record.record_task_run`."""

        def work(conn: Connection) -> tuple[RecordResult, bool]:
            result = record.record_task_run(conn, caller, body, last=True)
            return result, not result.duplicate

        return self._write(work)

    def correct_state(self, caller: Caller, body: StateCorrection) -> RecordResult:
        """Set the final state of a recorded try."""
        return self._write(lambda conn: (record.correct_state(conn, caller, body), False))

    def list_events(self, caller: Caller, query: EventQuery) -> Page[Event]:
        """Return one page of the event log."""
        return self._read(lambda conn: event_listing.list_events(conn, caller, query))

    def get_event(self, caller: Caller, event_id: str) -> Event:
        """Return one event.

        Raises:
            EventNotFound: also when its asset's namespace is hidden.
        """
        event = self._read(lambda conn: log.find_event(conn, caller.tenant, event_id))
        if event is None or is_hidden(event.asset.namespace, caller):
            raise log.event_not_found(event_id)
        return event

    def wait_events(self, caller: Caller, body: EventWait) -> EventWaitResult:
        """Wait for the first event that matches, in the calling thread; the API waits without one."""

        def look(wait: EventWait) -> EventWaitResult:
            if wait.keep_for is None or not wait.resume:
                return self._read(lambda conn: waits.look(conn, caller, wait))
            return self._write(lambda conn: (waits.look_for_sensor(conn, caller, wait), False))

        return waits.wait(look, body)

    def replay_event(self, caller: Caller, body: Replay) -> ReplayResult:
        """Start another run of an old event; only a service inside Airflow can."""
        raise NotImplementedError(
            "A catalogue outside Airflow has no Dags to run: use airflow_assets.airflow_bridge's service."
        )

    def check_freshness(self, caller: Caller, body: FreshnessCheck) -> FreshnessReport:
        """Return all assets that are stale now."""

        def attempt() -> FreshnessReport:
            with snapshot(self.engine) as conn:
                return freshness.check(conn, caller, body)

        return retrying(attempt)

    def next_check(self, caller: Caller, body: PollRef) -> CheckResult:  # noqa: ARG002
        """Tell which check of a polled schedule is next, and when."""
        return self._read(lambda conn: polls.next_check(conn, body.poll.key))

    def report_check(self, caller: Caller, body: CheckReport) -> CheckResult:
        """Take the report of a check; see :func:`airflow_assets.catalog.polls.settle`."""
        observed = retrying(lambda: self._observe(caller, body))

        def work(conn: Connection) -> tuple[CheckResult, bool]:
            result = polls.settle(conn, caller, body, observed)
            return result, result.accepted and result.firing_id is not None

        return self._write(work)

    def _observe(self, caller: Caller, report: CheckReport) -> freshness.Observation | None:
        """Look at a freshness poll's assets, unless its number has been reported already."""
        if report.poll.kind != "freshness" or report.error is not None:
            return None
        with snapshot(self.engine) as conn:
            known = polls.load(conn, report.poll.key)
            if known.number != report.number:
                return None
            return freshness.observe(conn, caller, report.poll, known.memory or {})

    def get_firing(self, caller: Caller, firing_id: str) -> Firing:
        """Return one firing.

        Raises:
            NotFound: there is none.
        """
        return self._read(lambda conn: firings.get_firing(conn, caller, firing_id))

    def list_history(self, caller: Caller, query: HistoryQuery) -> Page[Change]:
        """Return one page of an asset's changes, newest first."""
        return self._read(lambda conn: event_listing.list_history(conn, caller, query))

    def list_usages(self, caller: Caller, query: UsageQuery) -> Page[Usage]:
        """Return one page of usages, newest first."""
        return self._read(lambda conn: lineage.list_usages(conn, caller, query))

    def list_lineage(self, caller: Caller, query: LineageQuery) -> Page[LineageEvent]:
        """Return one page of lineage events, newest first."""
        return self._read(lambda conn: lineage.list_lineage(conn, caller, query))

    def read_lineage(self, caller: Caller, body: LineageRead) -> LineagePage:
        """Return the lineage events after a number, oldest first."""
        return self._read(lambda conn: shipping.read_lineage(conn, caller, body))

    def read_changes(self, caller: Caller, body: ChangesRead) -> ChangesPage:
        """Return the changes between two numbers that no lineage tells, oldest first."""
        return self._read(lambda conn: changes.read_changes(conn, caller, body))

    def list_shippers(self, caller: Caller, query: ShipperQuery) -> Page[Shipper]:
        """Return one page of the exporters that have a bookmark, and how they do."""
        return self._read(lambda conn: shippers.list_shippers(conn, caller, query))

    def delete_shipped(self, caller: Caller, body: ShippedDelete) -> DeletedLineage:
        """Delete lineage that has been shipped."""
        return self._write(lambda conn: (shipping.delete_shipped(conn, caller, body), False))

    def open_bookmarks(self, caller: Caller, body: BookmarksOpen) -> Bookmarks:
        """Return the bookmarks of a shipper, made where there are none."""
        return self._write(lambda conn: (bookmarks.open_bookmarks(conn, caller, body), False))

    def move_bookmark(self, caller: Caller, body: BookmarkMove) -> Bookmark:
        """Move a bookmark forward."""
        return self._write(lambda conn: (bookmarks.move_bookmark(conn, caller, body), False))

    def dependencies(self, caller: Caller, query: DependencyQuery) -> Graph:
        """Return the neighbourhood of an asset."""
        return self._read(lambda conn: dependencies.dependencies(conn, caller, query))

    def acquire_leases(self, caller: Caller, body: AcquireLeases) -> LeaseGrant:
        """Lock assets, all or none; see :func:`airflow_assets.catalog.leases.acquire`."""
        return leases.acquire(self.engine, caller, body)

    def wait_leases(self, caller: Caller, body: LeaseWait) -> LeaseWaitResult:  # noqa: ARG002
        """Wait for one's turn, in the calling thread; the API waits without one."""
        return lease_waits.wait(self.engine, body)

    def release_leases(self, caller: Caller, body: ReleaseLeases) -> ReleaseResult:
        """Give up locks; see :func:`airflow_assets.catalog.leases_release.release`."""
        return leases_release.release(self.engine, caller, body)

    def force_unlock(self, caller: Caller, body: ForceUnlock) -> ForceUnlockResult:
        """Take a lock by force; see :func:`airflow_assets.catalog.leases_release.force_unlock`."""
        return leases_release.force_unlock(self.engine, caller, body)

    def list_leases(self, caller: Caller, query: LeaseQuery) -> Page[Lease]:
        """Return one page of the locks that are held now."""
        return self._read(lambda conn: leases_listing.list_leases(conn, caller, query))

    def list_forced_unlocks(self, caller: Caller, query: ForcedUnlockQuery) -> Page[ForcedUnlock]:
        """Return one page of the locks that were taken by force, newest first."""
        return self._read(lambda conn: leases_listing.list_forced_unlocks(conn, caller, query))

    def native_uris(self, caller: Caller, body: NativeNames) -> NativeUris:  # noqa: ARG002
        """Return the URIs that Airflow's Dags give to names: none, where there is no Airflow."""
        return NativeUris(items=[])

    def purge(self, caller: Caller, body: Purge) -> PurgeResult:
        """Make one step of a purge; see :func:`airflow_assets.catalog.purge.purge`."""
        result = purge.purge(self.engine, caller, body, self.more_readers)
        if result.purged_assets_count and self._on_commit:
            self._on_commit()
        return result

    def more_readers(self, conn: Connection) -> Sequence[LogReader]:  # noqa: ARG002
        """Return readers of the log that are not in the table ``consumer``: Airflow's own, inside it."""
        return ()

    def export_rows(self, caller: Caller, query: ExportQuery) -> Page[ExportRow]:
        """Return one page of an export."""
        return self._read(lambda conn: transfer.export_rows(conn, caller, query))

    def import_rows(self, caller: Caller, body: ImportRequest) -> ImportResult:
        """Take over rows of an export."""
        return self._write(lambda conn: (restore.import_rows(conn, caller, body), True))

    def _change(self, caller: Caller, ids: Iterable[str], change: Callable[[Workspace], AssetState]) -> Asset:
        wanted = list(ids)

        def work(conn: Connection) -> tuple[Asset, bool]:
            space = Workspace(conn, caller, wanted)
            state = change(space)
            appended = space.write(last=True)
            return _seen(conn, state), appended

        return self._write(work)

    def _read(self, work: Callable[[Connection], T]) -> T:
        def attempt() -> T:
            with read(self.engine) as conn:
                return work(conn)

        return retrying(attempt)

    def _write(self, work: Callable[[Connection], tuple[T, bool]]) -> T:
        def attempt() -> tuple[T, bool]:
            with write(self.engine) as conn:
                return work(conn)

        result, appended = retrying(attempt)
        if appended and self._on_commit:
            self._on_commit()
        return result


def _seen(conn: Connection, state: AssetState) -> Asset:
    return state.to_asset(search.former_ids(conn, state.pk) if state.pk else ())

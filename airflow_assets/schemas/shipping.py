"""Lineage on its way out of the house: read forward by number, and a bookmark for each destination.

A shipper opens its bookmarks, reads the log of lineage from the smallest one on, hands what it read to its
exporters and moves an exporter's bookmark when that exporter has confirmed. What lies between the place
where a bookmark began and the smallest bookmark of a shipper may be deleted.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from airflow_assets.schemas.assets import Asset, AssetType, Namespace
from airflow_assets.schemas.base import Schema, Utc
from airflow_assets.schemas.events import Event
from airflow_assets.schemas.lineage import AirflowId, LineageEvent, MaskedMessage
from airflow_assets.schemas.queries import Limit

ShipperKey = Annotated[str, Field(min_length=1, max_length=1_000, pattern=r"^[^\x00]+$")]
"""Names a shipper in its tenant, for example ``<dag_id>.<task_id>``."""
ExporterId = Annotated[str, Field(max_length=250, pattern=r"^[a-zA-Z0-9][a-zA-Z0-9_-]*$")]
Seq = Annotated[int, Field(ge=0, le=2**63 - 1)]
MAX_LOOKBACK = 366 * 24 * 3600.0 * 10


class LineageFilter(Schema):
    """Which lineage events are wanted; every given member must hold. Texts compare exactly.

    :param asset_namespace: an input or output is in this namespace.
    :param asset_types: an input or output is of one of these types; given both, one asset must meet both.
    :param dag_namespace: the beginning of the Dag's id, up to one of its dots: ``sales`` is ``sales.load``.
    """

    asset_namespace: Namespace | None = None
    asset_types: list[AssetType] | None = None
    dag_namespace: AirflowId | None = None
    dag_id: AirflowId | None = None
    task_id: AirflowId | None = None


class LineageRead(Schema):
    """The lineage events after number ``after``, oldest first; ``limit`` of them are looked at."""

    after: Seq
    filter: LineageFilter = Field(default_factory=LineageFilter)
    limit: Limit = 500


class DagRunTimes(Schema):
    """What Airflow says of the run of an event while it knows the run."""

    logical_date: Utc | None
    run_after: Utc
    clear_number: int
    """How often the run has been cleared."""


class ShippedEvent(LineageEvent):
    """A lineage event with what an outsider needs beside it.

    :param run: null where the catalogue is not inside Airflow, and when the run has been deleted.
    """

    run: DagRunTimes | None = None


class LineagePage(Schema):
    """One page of the log of lineage.

    :param assets: the assets named by the events, by the id they are named with, as they are now; one that
        was never stored, or has been purged, is missing.
    :param next_after: where the next page begins: everything up to this number has been looked at, so a page
        may be empty and not the last.
    :param at_end: there was nothing after ``next_after`` when the page was read.
    """

    items: list[ShippedEvent]
    assets: dict[str, Asset]
    next_after: int
    at_end: bool


class ChangesRead(Schema):
    """The changes of assets after number ``after``, up to ``upto``, that no lineage tells, oldest first.

    ``limit`` entries of the log are looked at. Every given filter must hold.
    """

    after: Seq
    upto: Seq
    asset_namespace: Namespace | None = None
    asset_types: list[AssetType] | None = None
    limit: Limit = 500


class ShippedChange(Event):
    """A change of an asset that no task run's lineage tells, or a deletion.

    :param uri: the asset's URI, as it is now or was when the asset was purged.
    :param former_id: what the asset was called before this very change renamed it, else null.
    """

    uri: str | None = None
    former_id: str | None = None


class ChangesPage(Schema):
    """One page of changes. :param next_after: everything up to this number has been looked at."""

    items: list[ShippedChange]
    next_after: int


class Bookmark(Schema):
    """How far an exporter has confirmed. :param begin: what is numbered up to here was not its to ship."""

    exporter: str
    seq: int
    begin: int


class BookmarksOpen(Schema):
    """Give the bookmarks of a shipper's exporters; those that have none begin ``lookback`` seconds ago.

    A changed filter keeps the bookmark; what the old filter left behind is then not deleted any more.
    """

    key: ShipperKey
    exporters: Annotated[list[ExporterId], Field(min_length=1, max_length=100)]
    lookback: Annotated[float, Field(ge=0, le=MAX_LOOKBACK)]
    filter: LineageFilter = Field(default_factory=LineageFilter)


class Bookmarks(Schema):
    """The bookmarks, in the order of the exporters that were asked for."""

    items: list[Bookmark]


class ShippingResult(Schema):
    """How a run of an exporter ended.

    :param size: lineage events that it was given. :param error: why it failed, masked and cut; null if not.
    """

    size: Annotated[int, Field(ge=0)]
    error: MaskedMessage | None = None


class BookmarkMove(Schema):
    """Move an exporter's bookmark from ``expected`` to ``seq``, if it still stands there.

    :param result: how the run ended, which this move closes; the bookmark may then also stay where it is.
    """

    key: ShipperKey
    exporter: ExporterId
    expected: Seq
    seq: Seq
    result: ShippingResult | None = None


class LastShipping(ShippingResult):
    """How the last run of an exporter ended, and when."""

    ended: Utc


class ShipperQuery(Schema):
    """One page of the exporters of shippers."""

    limit: Limit = 100
    cursor: str | None = None


class Shipper(Schema):
    """One exporter of a shipper.

    :param seq: up to which number of the log it has confirmed.
    :param backlog: how many numbers of the log lie behind that: events of assets and lineage events.
    :param waiting_since: when the first lineage event behind it was recorded; null if there is none.
    :param confirmed: when it last confirmed anything; null if it never has.
    :param result: how its last run ended; null before the end of the first.
    """

    key: str
    exporter: str
    seq: int
    backlog: int
    waiting_since: Utc | None
    confirmed: Utc | None
    result: LastShipping | None


class ShippedDelete(Schema):
    """Delete the lineage events that all these exporters have confirmed, at most ``limit`` of them."""

    key: ShipperKey
    exporters: Annotated[list[ExporterId], Field(min_length=1, max_length=100)]
    after: Seq = 0
    limit: Limit = 500


class DeletedLineage(Schema):
    """:param next_after: go on from here; null when nothing more is to be deleted."""

    deleted: int
    next_after: int | None

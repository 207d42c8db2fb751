"""From the log of lineage to the exporters: what a run of a shipper does, without Airflow."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from airflow_assets.exporters.base import AssetExporter, ExportBatch, ExportFailed, Shipment
from airflow_assets.exporters.reading import Stretch, stretches
from airflow_assets.schemas.base import iso
from airflow_assets.schemas.shipping import (
    BookmarkMove,
    BookmarksOpen,
    LineageFilter,
    ShippedDelete,
    ShippingResult,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow_assets.client.base import CatalogClient

log = logging.getLogger(__name__)
PROGRESS_EVERY = 5.0
"""Seconds."""
_LONGEST_ERROR = 10_000


@dataclass(frozen=True)
class Order:
    """What to ship.

    :param lookback: seconds; how far back an exporter begins that has no bookmark.
    :param delete: delete afterwards what every exporter has confirmed.
    """

    shipment: Shipment
    filter: LineageFilter
    lookback: float
    delete: bool = False


@dataclass
class Outcome:
    """How a run went.

    :param size: events read. :param end: the time of the last of them.
    :param errors: of exporters that failed, by id. :param problems: what exporters left out.
    """

    size: int = 0
    end: datetime | None = None
    outputs: dict[str, dict[str, Any]] = field(default_factory=dict)
    errors: dict[str, BaseException] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    deleted: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return the task's result."""
        return {
            "size": self.size,
            "endFetchedDate": iso(self.end) if self.end else None,
            "outputs": self.outputs,
        }


@dataclass
class _Lane:
    """An exporter on its way.

    :param confirmed: where its bookmark stands. :param reached: what it has got, or need not get.
    :param size: lineage events it has got. :param changes: changes of assets, if it takes them.
    """

    exporter: AssetExporter
    confirmed: int
    reached: int
    size: int = 0
    changes: int = 0


def ship(client: CatalogClient, exporters: Sequence[AssetExporter], order: Order) -> Outcome:
    """Ship what each exporter has not confirmed yet.

    An exporter that fails is left behind with its bookmark, the others go on.

    :raises ExportFailed: an exporter failed, or left something out; after all others have been served.
    """
    outcome = Outcome()
    lanes = _Lanes(client, exporters, order, outcome)
    try:
        lanes.run()
    except BaseException:
        lanes.abandon()
        raise
    if order.delete:
        outcome.deleted = _delete(client, [exporter.id for exporter in exporters], order.shipment.key)
        log.info("Deleted %d lineage events that every exporter has confirmed.", outcome.deleted)
    return outcome


def raise_failures(outcome: Outcome) -> None:
    """Fail when an exporter did, naming all of them.

    :raises ExportFailed: an exporter failed, or left something out.
    """
    parts = [f"Exporter {name!r} failed: {error}" for name, error in outcome.errors.items()]
    if parts:
        parts.append("Its bookmark has not moved past what it confirmed: the next run ships the rest again.")
    if outcome.problems:
        shown = "\n".join(f"- {problem}" for problem in outcome.problems[:20])
        more = f"\n... and {len(outcome.problems) - 20} more." if len(outcome.problems) > 20 else ""
        parts.append(f"All else was shipped, but this was left out:\n{shown}{more}")
    if parts:
        raise ExportFailed("\n".join(parts)) from next(iter(outcome.errors.values()), None)


class _Lanes:
    def __init__(
        self, client: CatalogClient, exporters: Sequence[AssetExporter], order: Order, outcome: Outcome
    ) -> None:
        self._client = client
        self._order = order
        self._outcome = outcome
        opened = client.open_bookmarks(
            BookmarksOpen(
                key=order.shipment.key,
                exporters=[exporter.id for exporter in exporters],
                lookback=order.lookback,
                filter=order.filter,
            )
        )
        marks = {bookmark.exporter: bookmark.seq for bookmark in opened.items}
        self._lanes = [_Lane(each, marks[each.id], marks[each.id]) for each in exporters]
        self._told = time.monotonic()

    def run(self) -> None:
        for lane in list(self._lanes):
            self._attempt(lane, lambda lane=lane: lane.exporter.start(self._order.shipment))
        if self._lanes:
            begin = min(lane.reached for lane in self._lanes)
            changes = any(lane.exporter.takes_changes for lane in self._lanes)
            for stretch in stretches(self._client, begin, self._order.filter, changes=changes):
                self._take(stretch)
                if not self._lanes:
                    break
        for lane in list(self._lanes):
            self._attempt(lane, lambda lane=lane: self._finish(lane))

    def abandon(self) -> None:
        for lane in self._lanes:
            _abandon(lane.exporter)

    def _take(self, stretch: Stretch) -> None:
        for lane in list(self._lanes):
            if lane.reached < stretch.end:
                self._attempt(lane, lambda lane=lane: self._export(lane, stretch))
        self._outcome.size += len(stretch.events)
        if stretch.events:
            self._outcome.end = stretch.events[-1].created
        if time.monotonic() - self._told >= PROGRESS_EVERY:
            self._told = time.monotonic()
            self._tell("Shipping")

    def _export(self, lane: _Lane, stretch: Stretch) -> None:
        events = [event for event in stretch.events if event.seq > lane.reached]
        wanted = stretch.changes if lane.exporter.takes_changes else ()
        changes = [change for change in wanted if change.seq > lane.reached]
        if events or changes:
            lane.exporter.export(ExportBatch(events, stretch.assets, changes))
        lane.size += len(events)
        lane.changes += len(changes)
        lane.reached = stretch.end
        if (events or changes) and not lane.exporter.confirms_at_finish:
            self._confirm(lane)

    def _finish(self, lane: _Lane) -> None:
        results = lane.exporter.finish()
        self._confirm(lane, ShippingResult(size=lane.size))
        taken = {"changes": lane.changes} if lane.exporter.takes_changes else {}
        self._outcome.outputs[lane.exporter.id] = {"size": lane.size, **taken, **results}
        self._outcome.problems += lane.exporter.problems
        log.info("Exporter %r has confirmed %d lineage events.", lane.exporter.id, lane.size)

    def _confirm(self, lane: _Lane, result: ShippingResult | None = None) -> None:
        if lane.reached > lane.confirmed or result is not None:
            lane.confirmed = self._move(lane, lane.reached, result)

    def _move(self, lane: _Lane, seq: int, result: ShippingResult | None) -> int:
        move = BookmarkMove(
            key=self._order.shipment.key,
            exporter=lane.exporter.id,
            expected=lane.confirmed,
            seq=seq,
            result=result,
        )
        return self._client.move_bookmark(move).seq

    def _report(self, lane: _Lane, error: Exception) -> None:
        """Let the catalogue show why an exporter failed; the task fails for that anyway."""
        told = f"{type(error).__name__}: {error}"[:_LONGEST_ERROR]
        try:
            self._move(lane, lane.confirmed, ShippingResult(size=lane.size, error=told))
        except Exception:
            log.exception("How exporter %r failed could not be noted in the catalogue.", lane.exporter.id)

    def _attempt(self, lane: _Lane, step: Any) -> None:
        """Take a step of one exporter; its failure is its own."""
        try:
            step()
        except Exception as error:
            log.exception("Exporter %r failed; the others go on.", lane.exporter.id)
            self._lanes.remove(lane)
            self._outcome.errors[lane.exporter.id] = error
            self._outcome.problems += lane.exporter.problems
            _abandon(lane.exporter)
            self._report(lane, error)

    def _tell(self, what: str) -> None:
        done = ", ".join(f"{lane.exporter.id}: {lane.size}" for lane in self._lanes)
        end = self._outcome.end
        log.info("%s: %d lineage events read, up to %s; %s.", what, self._outcome.size, end, done)


def _delete(client: CatalogClient, exporters: list[str], key: str) -> int:
    total = 0
    after: int | None = 0
    while after is not None:
        answer = client.delete_shipped(ShippedDelete(key=key, exporters=exporters, after=after))
        total += answer.deleted
        after = answer.next_after
    return total


def _abandon(exporter: AssetExporter) -> None:
    try:
        exporter.abandon()
    except Exception:
        log.exception("Exporter %r could not clean up.", exporter.id)

"""The log as a shipper reads it: lineage events, and changes of assets that no lineage tells."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from airflow_assets.schemas.shipping import ChangesRead, LineageFilter, LineageRead

if TYPE_CHECKING:
    from collections.abc import Iterator

    from airflow_assets.client.base import CatalogClient
    from airflow_assets.schemas.assets import Asset
    from airflow_assets.schemas.shipping import ShippedChange, ShippedEvent

PAGE = 500


class Stretch(NamedTuple):
    """A piece of the log, up to ``end``, in which no task run is cut in two."""

    events: list[ShippedEvent]
    assets: dict[str, Asset]
    changes: list[ShippedChange]
    end: int


def stretches(
    client: CatalogClient, after: int, wanted: LineageFilter, *, changes: bool
) -> Iterator[Stretch]:
    """Read the log to its end, a page at a time; a task run at the end of a page waits for the next one.

    :param changes: read changes too; none is a Dag's, so a filter by Dag or task leaves all of them out.
    """
    if wanted.dag_namespace or wanted.dag_id or wanted.task_id:
        changes = False
    for stretch in _lineage(client, after, wanted):
        if changes and stretch.end > after:
            yield from _with_changes(client, after, stretch, wanted)
        else:
            yield stretch
        after = stretch.end


def _lineage(client: CatalogClient, after: int, wanted: LineageFilter) -> Iterator[Stretch]:
    held: list[ShippedEvent] = []
    held_assets: dict[str, Asset] = {}
    while True:
        page = client.read_lineage(LineageRead(after=after, filter=wanted, limit=PAGE))
        events = held + page.items
        assets = {**held_assets, **page.assets}
        held = [] if page.at_end else _of_last_run(events)
        ready = events[: len(events) - len(held)]
        yield Stretch(ready, assets, [], held[0].seq - 1 if held else page.next_after)
        if page.at_end:
            return
        names = {ref.id for event in held for ref in (*event.inputs, *event.outputs)}
        held_assets = {name: asset for name, asset in assets.items() if name in names}
        after = page.next_after


def _with_changes(
    client: CatalogClient, after: int, stretch: Stretch, wanted: LineageFilter
) -> Iterator[Stretch]:
    """Cut a stretch where a page of changes ends: never in a task run, whose numbers follow each other."""
    while after < stretch.end:
        read = ChangesRead(
            after=after,
            upto=stretch.end,
            asset_namespace=wanted.asset_namespace,
            asset_types=wanted.asset_types,
            limit=PAGE,
        )
        page = client.read_changes(read)
        events = [event for event in stretch.events if after < event.seq <= page.next_after]
        yield Stretch(events, stretch.assets, page.items, page.next_after)
        after = page.next_after


def _of_last_run(events: list[ShippedEvent]) -> list[ShippedEvent]:
    for at in range(len(events) - 1, -1, -1):
        if events[at].task != events[-1].task:
            return events[at + 1 :]
    return list(events)

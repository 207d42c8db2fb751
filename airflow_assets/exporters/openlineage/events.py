"""From the lineage events of one try to OpenLineage events, in the order in which they must arrive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from openlineage.client import event_v2 as ol

from airflow_assets.exporters.openlineage.facets import (
    PRODUCER,
    dataset_facets,
    job_facets,
    run_facets,
    with_creation,
    with_life,
)
from airflow_assets.exporters.openlineage.mapping import MissingKeys
from airflow_assets.exporters.openlineage.naming import dataset_name
from airflow_assets.schemas.assets import Asset
from airflow_assets.schemas.base import iso
from airflow_assets.schemas.events import EventKind
from airflow_assets.schemas.lineage import TaskState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    from airflow_assets.exporters.base import ExportBatch
    from airflow_assets.exporters.openlineage.mapping import Mappings
    from airflow_assets.exporters.openlineage.runs import Runs
    from airflow_assets.schemas.assets import AssetRef
    from airflow_assets.schemas.shipping import ShippedChange, ShippedEvent

Emitted = ol.RunEvent | ol.DatasetEvent
_Description = tuple[str, str, dict[str, Any]]
_Dataset = TypeVar("_Dataset", bound=ol.Dataset)
STATES = {
    TaskState.SUCCESS: ol.RunState.COMPLETE,
    TaskState.SKIPPED: ol.RunState.COMPLETE,  # as the provider says it: the task did what it should
    TaskState.FAILED: ol.RunState.FAIL,
    TaskState.UP_FOR_RETRY: ol.RunState.FAIL,
    TaskState.REMOVED: ol.RunState.ABORT,
}
"""How a try ended -> the terminal event of its run. Another try is another run."""


class Builder:
    """Builds the events of one exporter.

    :param report: called with what had to be left out.
    """

    def __init__(self, tenant: str, mappings: Mappings, runs: Runs, report: Callable[[str], None]) -> None:
        self._tenant = tenant
        self._mappings = mappings
        self._runs = runs
        self._report = report
        self._batch: ExportBatch | None = None
        self._run: tuple[ShippedEvent, str, dict[str, Any]] | None = None
        self._known: dict[tuple[str, str | None, bool], _Description] = {}

    def of_try(self, events: list[ShippedEvent], batch: ExportBatch) -> list[Emitted]:
        """Return what to send of one try, whose bundles these are.

        START without datasets, one RUNNING event for each bundle but the last, the last one with the terminal
        event. Where the provider sends the events of the run itself: one OTHER event for each bundle, which
        adds datasets to that run; of a run that Airflow has deleted, events of datasets without a run.
        """
        if self._runs.active:
            if not self._runs.known_to_provider(events[0]):
                return [event for one in events for event in self._of_datasets(one, batch)]
            return [self._run_event(ol.RunState.OTHER, _end(one), one, batch) for one in events]
        first, last = events[0], events[-1]
        return [
            self._run_event(ol.RunState.START, first.start_date or _end(first), first, None),
            *(self._run_event(ol.RunState.RUNNING, _end(one), one, batch) for one in events[:-1]),
            self._run_event(STATES[last.state], _end(last), last, batch),
        ]

    def of_changes(self, changes: list[ShippedChange]) -> list[Emitted]:
        """Return what to send of changes of one asset: its dataset, and whether it came, went or moved."""
        found: list[Emitted] = []
        for change in changes:
            try:
                namespace, name, facets = self._changed(change)
            except MissingKeys as missing:
                self._report(str(missing))
                continue
            dataset = ol.StaticDataset(namespace, name, facets=facets)
            found.append(
                ol.DatasetEvent(eventTime=iso(change.event_time), dataset=dataset, producer=PRODUCER)
            )
        return found

    def _changed(self, change: ShippedChange) -> _Description:
        """Name and facets of the asset as the change left it.

        :raises MissingKeys: the asset is of a mapped type and lacks a mapped key.
        """
        asset = _asset_of(change)
        mapped: dict[str, Any] = self._mappings.of(asset.id, asset.type, asset)
        namespace, name = dataset_name(asset.id, asset, self._tenant)
        namespace, name = mapped.pop("namespace", namespace), mapped.pop("name", name)
        facets = dataset_facets(namespace, asset, mapped, written=True)
        former = change.former_id and dataset_name(change.former_id, asset, self._tenant)
        return namespace, name, with_life(facets, change.event, (namespace, name), former or None)

    def _run_event(
        self, kind: ol.RunState, when: datetime, event: ShippedEvent, batch: ExportBatch | None
    ) -> ol.RunEvent:
        run_id, facets = self._run_of(event)
        if kind is ol.RunState.START:
            facets.pop("errorMessage", None)
        job = ol.Job(self._runs.namespace, f"{event.task.dag_id}.{event.task.task_id}", facets=job_facets())
        return ol.RunEvent(
            eventType=kind,
            eventTime=iso(when),
            run=ol.Run(run_id, facets=facets),
            job=job,
            inputs=self._datasets(ol.InputDataset, event, event.inputs, batch, written=False),
            outputs=self._datasets(ol.OutputDataset, event, event.outputs, batch, written=True),
            producer=PRODUCER,
        )

    def _run_of(self, event: ShippedEvent) -> tuple[str, dict[str, Any]]:
        """Id and facets of the run, made once for the events that one lineage event becomes."""
        if self._run is None or self._run[0] is not event:
            facets = run_facets(event, self._runs.parent(event), self._runs.engine)
            self._run = (event, self._runs.run_id(event), facets)
        return self._run[1], dict(self._run[2])

    def _of_datasets(self, event: ShippedEvent, batch: ExportBatch) -> Iterable[ol.DatasetEvent]:
        for refs, written in ((event.inputs, False), (event.outputs, True)):
            for dataset in self._datasets(ol.StaticDataset, event, refs, batch, written=written):
                yield ol.DatasetEvent(eventTime=iso(_end(event)), dataset=dataset, producer=PRODUCER)

    def _datasets(
        self,
        kind: Callable[..., _Dataset],
        event: ShippedEvent,
        refs: list[AssetRef],
        batch: ExportBatch | None,
        *,
        written: bool,
    ) -> list[_Dataset]:
        if batch is None:
            return []
        found: dict[tuple[str, str], _Dataset] = {}
        for ref in refs:
            try:
                namespace, name, facets = self._described(ref, batch, written=written)
            except MissingKeys as missing:
                self._report(str(missing))
                continue
            if written:
                facets = with_creation(facets, batch.asset(ref), event)
            found.setdefault((namespace, name), kind(namespace, name, facets=facets))
        return list(found.values())

    def _described(self, ref: AssetRef, batch: ExportBatch, *, written: bool) -> _Description:
        """Name and facets, made once a batch: many events name the same assets.

        :raises MissingKeys: the asset is of a mapped type and lacks a mapped key.
        """
        if batch is not self._batch:
            self._batch, self._known = batch, {}
        key = (ref.id, ref.type, written)
        if key not in self._known:
            asset = batch.asset(ref)
            mapped: dict[str, Any] = self._mappings.of(ref.id, asset.type if asset else ref.type, asset)
            namespace, name = dataset_name(ref.id, asset, self._tenant)
            namespace, name = mapped.pop("namespace", namespace), mapped.pop("name", name)
            facets = dataset_facets(namespace, asset, mapped, written=written)
            self._known[key] = (namespace, name, facets)
        return self._known[key]


def tries(batch: ExportBatch) -> list[list[ShippedEvent]]:
    """Return the events of a batch, each try's together, in the order in which the tries were recorded."""
    found: list[list[ShippedEvent]] = []
    for event in batch.events:
        if found and found[-1][-1].task == event.task:
            found[-1].append(event)
        else:
            found.append([event])
    return found


def by_asset(batch: ExportBatch) -> list[list[ShippedChange]]:
    """Return the changes of a batch, each asset's together and in their order, also through a rename."""
    found: dict[str, list[ShippedChange]] = {}
    for change in batch.changes:
        before = found.pop(change.former_id, []) if change.former_id else []
        found.setdefault(change.asset.id, before).append(change)
    return list(found.values())


def _asset_of(change: ShippedChange) -> Asset:
    """The asset as it was told; only its URI is that of now."""
    members = {name: getattr(change.asset, name) for name in type(change.asset).model_fields}
    deleted = change.event is EventKind.DELETED
    return Asset.model_construct(**members, uri=change.uri, group=None, deleted=deleted)


def _end(event: ShippedEvent) -> datetime:
    return event.end_date or event.created

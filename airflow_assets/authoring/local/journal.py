"""What the steps of a run say, on its way into the storage, and what of it later steps need."""

from __future__ import annotations

import threading
from itertools import groupby
from typing import TYPE_CHECKING

from airflow_assets.authoring.engine.events import EventType, StepEvent
from airflow_assets.authoring.engine.fanout import keys_of
from airflow_assets.authoring.storage.records import NewRun, Recorded, RunStatus
from airflow_assets.exceptions import AssetLocked

if TYPE_CHECKING:
    from collections.abc import Iterable

    from airflow_assets.authoring.engine.events import Emit
    from airflow_assets.authoring.partitions.keys import PartitionKey
    from airflow_assets.authoring.storage.interface import Storage

_DELAY = 0.05
"""Seconds for which events are kept at most, so that those of many short steps are written together."""
_VERSIONED = {EventType.Materialization, EventType.Observation}


class Journal:
    """Keeps the events of one run, numbered, and writes them in groups, by a thread of its own.

    :param attempt: which launch of this run id it is; a run that goes on never repeats the key of an event.
    :param durable: each start of a step is written before its body runs, as an action's must be.
    """

    def __init__(self, storage: Storage, run: NewRun, attempt: int = 1, *, durable: bool = False) -> None:
        self.storage, self.run, self.attempt, self.durable = storage, run, attempt, durable
        self.versions: dict[str, str] = {}
        self.fan_keys: dict[str, list[str]] = {}
        self.failed_keys: dict[str, set[PartitionKey]] = {}
        self.was_read = False
        """Somebody in this process has asked the storage something since the last look at cancellation."""
        self._kept: list[Recorded] = []
        self._numbers: dict[str, int] = {}
        self._begun = False
        self._error: Exception | None = None
        self._lock, self._writing = threading.Lock(), threading.RLock()
        self._some, self._over = threading.Event(), threading.Event()
        self._writer: threading.Thread | None = None

    def emit_of(self, step: str) -> Emit:
        """Return the ``emit`` of a step."""

        def emit(event: StepEvent) -> None:
            with self._lock:
                number = self._numbers.get(step, 0)
                self._numbers[step] = number + 1
                self._kept.append(Recorded(step, number, event, self.attempt))
                self._learn(event)
            if self.durable and event.event_type is EventType.StepStart:
                self.flush()
            elif not self._some.is_set():
                self._some.set()
                if self._writer is None:
                    self._start_writer()

        return emit

    def _start_writer(self) -> None:
        writer = threading.Thread(target=self._write, name="airflow-assets-journal", daemon=True)
        try:
            writer.start()
        except RuntimeError:
            self.durable = (
                True  # the interpreter is about to end, and a backfill goes on: write in its thread
            )
            return
        self._writer = writer

    def _write(self) -> None:
        while not self._over.is_set():
            self._some.wait()
            self._over.wait(_DELAY)
            self._some.clear()
            try:
                self.flush()
            except Exception as error:  # noqa: BLE001 - it is raised where the run can end with it
                self._error = error
                return

    def _learn(self, event: StepEvent) -> None:
        kind, name = event.event_type, event.asset_key
        if kind in _VERSIONED and event.data_version is not None:
            self.versions[name] = event.data_version
            keys = keys_of(event.metadata)
            if keys is not None:
                self.fan_keys[name] = keys
        elif kind is EventType.StepFailure and event.partition_key is not None:
            self.failed_keys.setdefault(name, set()).add(event.partition_key)

    def versions_of(self, names: Iterable[str]) -> dict[str, str]:
        """Return the data version of each of these as it is now; without those that are missing."""
        wanted = list(names)
        outside = [name for name in wanted if name not in self.versions]
        found = {name: self.versions[name] for name in wanted if name in self.versions}
        for record in self.storage.get_asset_records(outside) if outside else ():
            if record.last_data_version is not None:
                found[record.asset_key] = record.last_data_version
        return found

    def flush(self) -> None:
        """Write what is kept; the first time the run begins in the same transaction.

        Raises:
            AssetLocked: somebody holds the lock of an asset; what other steps have said is written.
            StorageError: the storage failed.
        """
        with self._writing:
            if self._error is not None:
                raise self._error
            with self._lock:
                events, self._kept = self._kept, []
            if not events:
                return
            try:
                self._record(events)
            except AssetLocked:
                self._record_apart(events)

    def _record(self, events: list[Recorded]) -> None:
        self.storage.record(self.run.run_id, events, run=None if self._begun else self.run)
        self._begun = True

    def _record_apart(self, events: list[Recorded]) -> None:
        locked: AssetLocked | None = None
        for _, of_step in groupby(sorted(events, key=lambda one: one.step), key=lambda one: one.step):
            try:
                self._record(list(of_step))
            except AssetLocked as error:
                locked = error
        if locked is not None:
            raise locked

    def finish(self, status: RunStatus, completed: int, total: int) -> None:
        """Write what is left and how the run ended."""
        self._over.set()
        self._some.set()
        if self._writer is not None:
            self._writer.join()
        try:
            self.flush()
        except Exception:
            status = RunStatus.Failure
            raise
        finally:
            if not self._begun:
                self.storage.start_run(self.run)
            self.storage.finish_run(self.run.run_id, status, completed=completed, total=total)

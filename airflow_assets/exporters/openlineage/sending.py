"""One run of the OpenLineage exporter: build, send, keep what was refused."""

from __future__ import annotations

import hashlib
import json
import logging
import tempfile
import threading
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from openlineage.client.serde import Serde

from airflow_assets.exporters.openlineage.delivery import Delivery
from airflow_assets.exporters.openlineage.events import Builder, by_asset, tries
from airflow_assets.exporters.openlineage.runs import Runs
from airflow_assets.exporters.openlineage.transport import client_config
from airflow_assets.exporters.whole_files import default_folder, put_whole

if TYPE_CHECKING:
    from airflow_assets.exporters.base import ExportBatch, Shipment
    from airflow_assets.exporters.openlineage import OpenLineageAssetExporter
    from airflow_assets.exporters.openlineage.events import Emitted

log = logging.getLogger(__name__)
_REPORTED = 100


class Sender:
    """Sends batches; see :class:`~airflow_assets.exporters.openlineage.OpenLineageAssetExporter`.

    :raises ExportFailed: no transport is configured.
    """

    def __init__(self, exporter: OpenLineageAssetExporter, shipment: Shipment) -> None:
        self._exporter = exporter
        self._sent = 0
        self._dead = DeadLetters(shipment, exporter.id)
        self._builder = Builder(shipment.tenant, exporter.mappings, Runs(), self._report)
        config = client_config(exporter.id, exporter.uri, exporter.conn_id)
        self._delivery = Delivery(exporter.id, config, self._dead.add)

    def send(self, batch: ExportBatch) -> None:
        """Send the events of a batch; what is refused is in a dead-letter file when this returns."""
        groups = [self._builder.of_try(events, batch) for events in tries(batch)]
        groups += [self._builder.of_changes(changes) for changes in by_asset(batch)]
        first = min([one.seq for one in batch.events[:1]] + [one.seq for one in batch.changes[:1]])
        try:
            self._delivery.send(groups)
        finally:
            self._dead.publish(first)
        self._sent += sum(map(len, groups))

    def close(self) -> dict[str, Any]:
        """Return the results."""
        self._delivery.close()
        self._dead.close()
        results: dict[str, Any] = {"sent": self._sent - self._dead.count, "deadLetters": self._dead.count}
        return {**results, **({"deadLetterUris": self._dead.uris} if self._dead.uris else {})}

    def stop(self) -> None:
        """Give up."""
        self._delivery.stop()
        self._dead.close()

    def _report(self, problem: str) -> None:
        problems = self._exporter.problems
        if problem not in problems and len(problems) < _REPORTED:
            log.error("Exporter %r: %s It is left out.", self._exporter.id, problem)
            problems.append(problem)


class DeadLetters:
    """Events that a server refused, as JSON lines ``{"reason": ..., "event": {...}}``; one file a batch."""

    def __init__(self, shipment: Shipment, exporter_id: str) -> None:
        whose = f"{shipment.tenant}\0{shipment.key}\0{exporter_id}"
        self._mark = hashlib.sha256(whose.encode()).hexdigest()[:12]
        self._lock = threading.Lock()
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._file: IO[str] | None = None
        self.count = 0
        self.uris: list[str] = []

    def add(self, event: Emitted, reason: str) -> None:
        """Keep an event; may be called from any thread."""
        line = json.dumps({"reason": reason, "event": Serde.to_dict(event)}, default=str) + "\n"
        with self._lock:
            if self._file is None:
                self._folder = self._folder or tempfile.TemporaryDirectory(prefix="airflow-assets-")
                self._file = self._local.open("w", encoding="utf-8", newline="\n")
            self._file.write(line)
            self.count += 1

    def publish(self, first: int) -> None:
        """Let the letters of a batch appear before it is confirmed; ``first`` is the batch's first number."""
        with self._lock:
            if self._file is None:
                return
            from airflow.sdk import ObjectStoragePath

            self._file.close()
            self._file = None
            target = ObjectStoragePath(default_folder()) / f"dead-letters-{self._mark}-{first}.jsonl"
            put_whole(self._local, target)
            self.uris.append(str(target))
            log.warning("The server refused events; they are in %s, with the reasons.", target)

    def close(self) -> None:
        """Remove the working folder."""
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    @property
    def _local(self) -> Path:
        assert self._folder is not None  # noqa: S101
        return Path(self._folder.name) / "letters"

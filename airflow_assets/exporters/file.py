"""The exporter that writes files: JSON lines or Amazon Ion."""

from __future__ import annotations

import hashlib
import re
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, ClassVar

from airflow_assets.exporters.base import AssetExporter, ExportBatch, Shipment

if TYPE_CHECKING:
    from collections.abc import Callable

    from airflow_assets.schemas.shipping import ShippedEvent

FORMATS = ("JSON", "ION")
_PREFIX = re.compile(r"[^/\\\x00-\x1f]{1,100}")


class FileAssetExporter(AssetExporter):
    """Writes lineage events to files, one event a line; the format of a line is in docs/shipping.md.

    :param format: ``JSON`` (lines of JSON, ``.jsonl``) or ``ION`` (text of Amazon Ion, ``.ion``; needs the
        extra ``[ion]``).
    :param log_file_prefix: how the files' names begin.
    :param max_lines_per_file: begin another file after so many events; None writes one file a run.
    :param path: the folder, as a path or URL that ``ObjectStoragePath`` opens, such as
        ``s3://aws_default@bucket/lineage``; None: ``lineage`` below ``[airflow_assets] storage_path``.

    A file appears when it is complete. Its name says the time and number of its first event and which shipper
    wrote it, so a run that was killed before it had confirmed is followed by one that writes the same files.

    >>> FileAssetExporter("archive", path="s3://aws_default@bucket/lineage", max_lines_per_file=100_000)
    """

    confirms_at_finish: ClassVar[bool] = True

    def __init__(
        self,
        id: str,  # noqa: A002 - the contract's name
        format: str = "JSON",  # noqa: A002
        log_file_prefix: str = "asset-lineage",
        max_lines_per_file: int | None = None,
        path: str | None = None,
    ) -> None:
        super().__init__(id)
        if format not in FORMATS:
            raise ValueError(
                f"Exporter {id!r}: format is {format!r}; it must be one of {', '.join(FORMATS)}."
            )
        if not _PREFIX.fullmatch(log_file_prefix):
            raise ValueError(
                f"Exporter {id!r}: log_file_prefix is {log_file_prefix!r}; it must be 1 to 100 characters "
                "without slashes: folders belong into path."
            )
        if max_lines_per_file is not None and (type(max_lines_per_file) is not int or max_lines_per_file < 1):
            raise ValueError(
                f"Exporter {id!r}: max_lines_per_file is {max_lines_per_file!r}, not a number from 1."
            )
        self.format = format
        self.log_file_prefix = log_file_prefix
        self.max_lines_per_file = max_lines_per_file
        self.path = path
        self._files: _Files | None = None

    def start(self, shipment: Shipment) -> None:
        """Prepare a folder for the files that are not complete yet.

        :raises ModuleNotFoundError: the format is ION and its library is not installed.
        """
        if self.format == "ION" and find_spec("amazon") is None:
            raise ModuleNotFoundError(
                f"Exporter {self.id!r} writes ION, whose library is not installed: "
                "pip install 'airflow-provider-assets[ion]', or use format='JSON'."
            )
        self.problems = []
        self._files = _Files(self, shipment)

    def export(self, batch: ExportBatch) -> None:
        """Add events to the files."""
        files = self._started()
        for event in batch.events:
            files.add(event, batch)

    def finish(self) -> dict[str, Any]:
        """Make the last file appear; return ``uris`` and ``size``."""
        files = self._started()
        files.publish()
        files.close()
        self._files = None
        return {"uris": files.uris, "size": files.size}

    def abandon(self) -> None:
        """Remove the file that is not complete."""
        if self._files is not None:
            self._files.close()
            self._files = None

    def _started(self) -> _Files:
        if self._files is None:
            raise RuntimeError(f"Exporter {self.id!r} has not been started: call start() first.")
        return self._files


class _Files:
    """The files of one run: the one being written lies on the local disk."""

    def __init__(self, exporter: FileAssetExporter, shipment: Shipment) -> None:
        self.uris: list[str] = []
        self.size = 0
        self._of = exporter
        self._line = _ion_line if exporter.format == "ION" else _json_line
        whose = f"{shipment.tenant}\0{shipment.key}\0{exporter.id}"
        self._mark = hashlib.sha256(whose.encode()).hexdigest()[:12]
        self._folder = tempfile.TemporaryDirectory(prefix="airflow-assets-")
        self._local = Path(self._folder.name) / "current"
        self._file: IO[str] | None = None
        self._name = ""
        self._lines = 0

    def add(self, event: ShippedEvent, batch: ExportBatch) -> None:
        if self._file is None:
            self._name = self._name_of(event)
            self._file = self._local.open("w", encoding="utf-8", newline="\n")
            self._lines = 0
        self._file.write(self._line(batch.to_json(event)))
        self._lines += 1
        self.size += 1
        if self._lines == self._of.max_lines_per_file:
            self.publish()

    def publish(self) -> None:
        """Let the file appear in its place."""
        if self._file is None:
            return
        from airflow.sdk import ObjectStoragePath

        from airflow_assets.exporters.whole_files import default_folder, put_whole

        self._file.close()
        self._file = None
        target = ObjectStoragePath(self._of.path or default_folder()) / self._name
        put_whole(self._local, target)
        self.uris.append(str(target))

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
        self._folder.cleanup()

    def _name_of(self, first: ShippedEvent) -> str:
        ending = "ion" if self._of.format == "ION" else "jsonl"
        begun = first.created.strftime("%Y%m%dT%H%M%SZ")
        return f"{self._of.log_file_prefix}-{begun}-{self._mark}-{first.seq}.{ending}"


def _json_line(event: dict[str, Any]) -> str:
    from airflow_assets.json_lines import line_of

    return line_of(event)


def _ion_line(event: dict[str, Any]) -> str:
    from amazon.ion import simpleion

    dump: Callable[..., str] = simpleion.dumps
    return dump(event, binary=False, omit_version_marker=True) + "\n"

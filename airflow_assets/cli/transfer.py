"""Export and import of a whole catalogue, as JSON lines."""

from __future__ import annotations

import json
import sys
import time
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from pydantic import ValidationError

from airflow_assets.cli.output import show_document
from airflow_assets.cli.run import client_of, command
from airflow_assets.exceptions import InvalidRequest
from airflow_assets.json_lines import json_line
from airflow_assets.schemas.transfer import ExportQuery, ExportRow, ImportRequest

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

BATCH = 500
PROGRESS_SECONDS = 2.0


class Progress:
    """Says on standard error how far a long work has come: at most every two seconds, and at its end."""

    def __init__(self, verb: str) -> None:
        self._verb = verb
        self._count = 0
        self._started = self._said = time.monotonic()
        self._terminal = sys.stderr.isatty()

    def add(self, count: int = 1) -> None:
        """Count rows."""
        self._count += count
        if time.monotonic() - self._said >= PROGRESS_SECONDS:
            self._said = time.monotonic()
            self._say("..." if not self._terminal else "...\r")

    def done(self) -> None:
        """Say the total."""
        seconds = time.monotonic() - self._started
        self._say(f" in {seconds:.1f} s.")

    def _say(self, end: str) -> None:
        print(
            f"{self._verb} {self._count:,} rows{end}", end="" if end.endswith("\r") else "\n", file=sys.stderr
        )


@command
def export_command(args: argparse.Namespace) -> None:
    """Write the catalogue to a file; an unfinished file never takes the place of an old one."""
    rows = client_of(args).iter_export(ExportQuery(log=not args.no_log, limit=BATCH))
    progress = Progress("Exported")
    with _target(args.file) as file:
        for row in rows:
            file.write(json_line(row))
            progress.add()
    progress.done()


@command
def import_command(args: argparse.Namespace) -> None:
    """Read an export."""
    client, progress = client_of(args), Progress("Read")
    imported = skipped = 0
    with _source(args.file) as file:
        rows = _rows(file)
        while batch := list(islice(rows, BATCH)):
            result = client.import_rows(ImportRequest(rows=batch))
            imported, skipped = imported + result.imported, skipped + result.skipped
            progress.add(len(batch))
    progress.done()
    total = {"imported": imported, "skipped": skipped}
    show_document(total, [[str(imported), str(skipped)]], list(total), args.output)


def _rows(file: TextIO) -> Iterator[ExportRow]:
    for number, line in enumerate(file, start=1):
        if not line.strip():
            continue
        try:
            yield ExportRow.model_validate(json.loads(line))
        except (ValueError, ValidationError) as error:
            reason = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
            raise InvalidRequest(
                f"Line {number} of the file is no row of an export: {reason}.",
                hint="Give what `airflow assets-catalog export` wrote. Rows of earlier batches are imported.",
                line=number,
            ) from None


@contextmanager
def _target(name: str) -> Iterator[TextIO]:
    if name == "-":
        yield sys.stdout
        return
    part = Path(f"{name}.part")
    try:
        with part.open("w", encoding="utf-8") as file:
            yield file
        part.replace(name)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def _source(name: str) -> Iterator[TextIO]:
    if name == "-":
        yield sys.stdin
        return
    with Path(name).open(encoding="utf-8") as file:
        yield file

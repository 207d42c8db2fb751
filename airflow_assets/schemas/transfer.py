"""Rows of an export. Importing an export into an empty catalogue and exporting it again gives the same rows."""

from __future__ import annotations

from enum import Enum
from typing import Any

from pydantic import Field
from typing_extensions import Annotated

from airflow_assets.schemas.base import Schema

FORMAT_VERSION = 1


class RowKind(str, Enum):
    """In the order in which they are written, so that every row refers only to earlier ones."""

    ASSET = "asset"
    ALIAS = "alias"
    EDGE = "edge"
    EVENT = "event"
    LINEAGE = "lineage"


class ExportRow(Schema):
    kind: RowKind
    version: int = FORMAT_VERSION
    data: dict[str, Any]


class ExportQuery(Schema):
    """One page of an export. ``log=False`` leaves out events and lineage."""

    log: bool = True
    limit: Annotated[int, Field(ge=1, le=1000)] = 500
    cursor: str | None = None


class ImportRequest(Schema):
    rows: Annotated[list[ExportRow], Field(max_length=1000)]


class ImportResult(Schema):
    """Rows that were new, and rows that were there already and stayed as they were."""

    imported: int
    skipped: int

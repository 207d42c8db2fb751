"""Rows of an export; imported into an empty catalogue and exported again they are the same."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any

from pydantic import Field

from airflow_assets.schemas.base import Schema

FORMAT_VERSION = 1
IMPORTED = "import"
"""What ``suppressed`` begins with on events that an import brought: they start no Dag runs."""


class RowKind(str, Enum):
    """In the order in which they are written, so that every row refers only to earlier ones."""

    ASSET = "asset"
    ALIAS = "alias"
    EDGE = "edge"
    EVENT = "event"
    LINEAGE = "lineage"


class ExportRow(Schema):
    """One row: what kind of thing, in which version of the format, and its members."""

    kind: RowKind
    version: int = FORMAT_VERSION
    data: dict[str, Any]


class ExportQuery(Schema):
    """One page of an export. ``log=False`` leaves out events and lineage."""

    log: bool = True
    limit: Annotated[int, Field(ge=1, le=1000)] = 500
    cursor: str | None = None


class ImportRequest(Schema):
    """Rows of an export, in their order."""

    rows: Annotated[list[ExportRow], Field(max_length=1000)]


class ImportResult(Schema):
    """Rows that were new, and rows that were there already and stayed as they were."""

    imported: int
    skipped: int

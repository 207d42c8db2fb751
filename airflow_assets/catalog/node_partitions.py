"""The partitions of nodes: which events materialize them, fail them, or take them back."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete

from airflow_assets.catalog import tables
from airflow_assets.catalog.write_set import replace_rows
from airflow_assets.schemas.asset_runs import StepEventInput, StepEventType
from airflow_assets.schemas.rules import json_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event that is not stored yet."""

    key: bytes
    node_key: bytes
    event: StepEventInput


class PartitionRows:
    """The rows of partitions: those that were materialized, that failed, and that are gone."""

    def __init__(self, conn: Connection, run_id: str, events: Sequence[NewEvent]) -> None:
        self._conn, self._run_id = conn, run_id
        self._whole: dict[tuple[bytes, bytes], dict[str, Any]] = {}
        self._failed: dict[tuple[bytes, bytes], dict[str, Any]] = {}
        for one in events:
            self._take(one)

    def write(self) -> None:
        """Write all; in the order of keys."""
        for rows in (self._whole, self._failed):
            if rows:
                replace_rows(self._conn, tables.node_partition, [rows[key] for key in sorted(rows)])

    def _take(self, one: NewEvent) -> None:
        kind = one.event.event_type
        if kind is StepEventType.DELETION:
            self._forget(one)
        if kind not in {StepEventType.MATERIALIZATION, StepEventType.STEP_FAILURE}:
            return
        for text in single_keys(one.event.partition_key):
            key = (one.node_key, partition_hash(text))
            row = {
                "node_key": key[0],
                "partition_hash": key[1],
                "partition_key": text,
                "failed": kind is StepEventType.STEP_FAILURE,
            }
            if not row["failed"]:
                state = {"last_event": one.key, "last_run_id": self._run_id}
                self._whole[key] = row | state | {"data_version": one.event.data_version}
                self._failed.pop(key, None)
            elif key in self._whole:
                self._whole[key]["failed"] = True
            else:
                self._failed[key] = row

    def _forget(self, one: NewEvent) -> None:
        table = tables.node_partition.c
        gone = delete(tables.node_partition).where(table.node_key == one.node_key)
        hashes = [partition_hash(text) for text in single_keys(one.event.partition_key)]
        if hashes:
            gone = gone.where(table.partition_hash.in_(hashes))
        self._conn.execute(gone)


def single_keys(document: str | None) -> list[str]:
    """Return the single keys that the JSON of a partition key stands for, each as such a JSON."""
    if document is None:
        return []
    ((form, value),) = json.loads(document).items()
    if form == "set":
        return [text for one in value for text in single_keys(json_text(one))]
    if form == "multi":
        names = sorted(value)
        choices = product(*(value[name] for name in names))
        return [json_text({"multi": {n: [k] for n, k in zip(names, one, strict=True)}}) for one in choices]
    return [json_text({"single": [key]}) for key in value]


def partition_hash(text: str) -> bytes:
    """Return the 16 bytes that name a partition, of the JSON of its single key."""
    return hashlib.blake2b(text.encode(), digest_size=16).digest()

"""Entries of the log for tests, written straight into the tables: any time, any number of them."""

from __future__ import annotations

import hashlib
import uuid
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, insert, select, update

from airflow_assets.catalog import tables
from airflow_assets.catalog.write_set import LOG
from airflow_assets.schemas.rules import DEFAULT_TENANT, json_text
from tests.support.catalog_rows import CALLER, NOON, TABLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

_ROWS = 5_000


def add_events(
    conn: Connection, count: int, *, asset_pk: int = 1, asset_id: str = "a", namespace: str | None = None,
    kind: str = "UPDATED", start: datetime = NOON, step: timedelta = timedelta(seconds=1), tenant: str = DEFAULT_TENANT,
) -> list[int]:  # fmt: skip
    """Append events of one asset, ``step`` apart; returns their numbers."""
    seqs = _numbers(conn, count)
    payload: dict[str, Any] = {
        "id": asset_id, "type": TABLE, "namespace": namespace, "displayName": None, "description": None,
        "metadata": {}, "tenantId": tenant, "created": NOON.isoformat(), "updated": NOON.isoformat(),
    }  # fmt: skip
    shared = {
        "tenant": tenant, "asset_pk": asset_pk, "kind": kind, "namespace": namespace, "type": TABLE,
        "payload": json_text(payload), "diff": "{}", "source": json_text(CALLER.source.to_json()), "depth": 0,
        "suppressed": None,
    }  # fmt: skip
    rows = [
        {**shared, "seq": seq, "event_id": str(uuid.UUID(int=seq)), "created": start + n * step}
        for n, seq in enumerate(seqs)
    ]
    _insert(conn, tables.event, rows)
    return seqs


def add_lineage(
    conn: Connection, pairs: Sequence[tuple[tuple[str, str | None, int], tuple[str, str | None, int]]], *,
    start: datetime = NOON, step: timedelta = timedelta(seconds=1), tenant: str = DEFAULT_TENANT,
) -> list[int]:  # fmt: skip
    """Append a lineage event with its two usages for each pair of (id, namespace, pk): input, output."""
    seqs = _numbers(conn, len(pairs))
    lines, usages = [], []
    for n, (seq, (source, target)) in enumerate(zip(seqs, pairs, strict=True)):
        created = start + n * step
        lines.append(
            {
                "seq": seq, "record_key": hashlib.sha256(str(seq).encode()).digest(), "bundle": 0,
                "tenant": tenant, "dag_id": "d", "run_id": f"r{seq}", "task_id": "t", "map_index": -1,
                "try_number": 1, "ti_id": None, "state": "success", "inputs": _refs(source),
                "outputs": _refs(target), "warnings": "[]", "created": created,
            }
        )  # fmt: skip
        usages += [
            {"lineage_seq": seq, "asset_pk": asset[2], "role": role, "created": created}
            for role, asset in (("i", source), ("o", target))
        ]
    _insert(conn, tables.lineage, lines)
    _insert(conn, tables.usage, usages)
    return seqs


def add_reader(conn: Connection, kind: str, name: str, seq: int, updated: datetime) -> None:
    """Say how far a reader of the log has come, and when it last moved."""
    row = {"kind": kind, "name": name, "seq": seq, "state": None, "updated": updated}
    conn.execute(insert(tables.consumer).values(row))


def count(conn: Connection, table: Any) -> int:
    """How many rows a table has."""
    return int(conn.execute(select(func.count()).select_from(table)).scalar_one())


def _refs(asset: tuple[str, str | None, int]) -> str:
    return json_text([{"id": asset[0], "type": TABLE, "namespace": asset[1]}])


def _numbers(conn: Connection, count: int) -> list[int]:
    last = conn.execute(select(tables.sequence.c.value).where(tables.sequence.c.name == LOG)).scalar()
    if last is None:
        conn.execute(insert(tables.sequence).values(name=LOG, value=count))
        last = 0
    else:
        conn.execute(update(tables.sequence).where(tables.sequence.c.name == LOG).values(value=last + count))
    return list(range(last + 1, last + count + 1))


def _insert(conn: Connection, table: Any, rows: list[dict[str, Any]]) -> None:
    for begin in range(0, len(rows), _ROWS):
        conn.execute(insert(table), rows[begin : begin + _ROWS])

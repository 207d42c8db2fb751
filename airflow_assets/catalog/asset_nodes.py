"""The assets of a graph as its nodes: how they are called, how fresh they are, whether they are locked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from airflow_assets.catalog.tables import asset, metadata_value
from airflow_assets.schemas.expectations import METADATA_KEY, Freshness
from airflow_assets.schemas.lineage import Node, NodeKind

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from sqlalchemy import Connection

_CHUNK = 1_000


def asset_nodes(conn: Connection, rows: Mapping[int, Any], now: datetime) -> dict[int, Node]:
    """Return the nodes by row number, in the order of the rows.

    :param rows: with ``id``, ``type``, ``namespace``, ``display_name``, ``updated`` and ``lock_until``.
    :param now: the database's clock; freshness and locks are those of this moment.
    """
    said = _said(conn, sorted(rows))
    return {
        pk: Node.trusted(
            uid=f"asset:{row.id}",
            kind=NodeKind.ASSET,
            id=row.id,
            type=row.type,
            namespace=row.namespace,
            display_name=row.display_name,
            freshness=Freshness.of(said.get(pk, {}), row.updated, now),
            locked=row.lock_until is not None and row.lock_until > now,
            dag_id=None,
            task_id=None,
        )
        for pk, row in rows.items()
    }


def _said(conn: Connection, pks: list[int]) -> dict[int, dict[str, Any]]:
    """The metadata of those assets that say when they are stale; most say nothing, and none is read."""
    found: dict[int, dict[str, Any]] = {}
    for start in range(0, len(pks), _CHUNK):
        rows = conn.execute(
            select(asset.c.pk, asset.c.metadata)
            .join(metadata_value, metadata_value.c.asset_pk == asset.c.pk)
            .where(metadata_value.c.field == METADATA_KEY, asset.c.pk.in_(pks[start : start + _CHUNK]))
        )
        found.update((row.pk, json.loads(row.metadata)) for row in rows)
    return found

"""What must hold in the tables after any writes, in any order, by anybody."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from airflow_assets.catalog import tables
from airflow_assets.catalog.values import equal, id_sort, value_columns
from airflow_assets.schemas.rules import identity

if TYPE_CHECKING:
    from sqlalchemy import Connection

_MEMBERS = {
    "id": "id",
    "type": "type",
    "namespace": "namespace",
    "displayName": "display_name",
    "description": "description",
    "uri": "uri",
    "group": "asset_group",
    "deleted": "deleted",
}


def check_tables(conn: Connection) -> None:
    """Fail with what is wrong."""
    assets = {row.pk: row for row in conn.execute(select(tables.asset))}
    _check_identities(conn, assets)
    _check_metadata(conn, assets)
    _check_log(conn, assets)
    _check_lineage(conn, assets)


def _check_identities(conn: Connection, assets: dict[int, Any]) -> None:
    keys = [bytes(row.asset_key) for row in assets.values()]
    for row in assets.values():
        assert bytes(row.asset_key) == identity(row.tenant, row.id)
        assert bytes(row.id_sort) == id_sort(row.id)
        assert row.created <= row.updated
    for row in conn.execute(select(tables.alias)):
        assert bytes(row.alias_key) == identity(row.tenant, row.id)
        assert row.asset_pk in assets
        keys.append(bytes(row.alias_key))
    assert len(set(keys)) == len(keys), "an id means two assets"


def _check_metadata(conn: Connection, assets: dict[int, Any]) -> None:
    wanted = {
        (pk, field): {"asset_pk": pk, "id_sort": id_sort(row.id), **value_columns(field, value)}
        for pk, row in assets.items()
        for field, value in json.loads(row.metadata).items()
    }
    found = {
        (row.asset_pk, row.field): dict(row._mapping) for row in conn.execute(select(tables.metadata_value))
    }
    assert found == wanted


def _check_log(conn: Connection, assets: dict[int, Any]) -> None:
    rows = conn.execute(select(tables.event).order_by(tables.event.c.seq)).all()
    lineage = conn.execute(select(tables.lineage.c.seq)).scalars().all()
    last = conn.execute(select(tables.sequence.c.value)).scalar() or 0
    assert sorted([*lineage, *(row.seq for row in rows)]) == list(range(1, last + 1)), "a number is missing"
    assert len({row.event_id for row in rows}) == len(rows)
    rebuilt: dict[int, dict[str, Any]] = {}
    for row in rows:
        asset = rebuilt.setdefault(row.asset_pk, {"deleted": False})
        diff = json.loads(row.diff)
        if row.kind == "CREATED":
            asset.clear()
            asset["deleted"] = False
        if row.kind == "USED":
            assert diff == {}
        for member, (old, new) in diff.items():
            assert equal(asset.get(member), old), (row.seq, member)
            asset[member] = new
        assert row.tenant == assets[row.asset_pk].tenant
        payload = json.loads(row.payload)
        assert (payload["id"], payload["type"]) == (asset["id"], asset["type"])
        assert payload["type"] == row.type
        assert payload["namespace"] == row.namespace == asset.get("namespace")
    for pk, row in assets.items():
        now = {name: getattr(row, column) for name, column in _MEMBERS.items()}
        now |= {f"metadata.{key}": value for key, value in json.loads(row.metadata).items()}
        history = {member: value for member, value in rebuilt[pk].items() if value is not None}
        present = {member: value for member, value in now.items() if value is not None}
        assert equal(history, {**present, "deleted": bool(row.deleted)}), (
            "the history does not lead to the asset"
        )


def _check_lineage(conn: Connection, assets: dict[int, Any]) -> None:
    lineage = {row.seq: row for row in conn.execute(select(tables.lineage))}
    used: set[tuple[int, str, str]] = set()
    for row in conn.execute(select(tables.usage)):
        assert row.asset_pk in assets
        used.add((row.lineage_seq, row.role, lineage[row.lineage_seq].state))
    for seq, row in lineage.items():
        assert not json.loads(row.inputs) or (seq, "i", row.state) in used
        if row.state == "success" and json.loads(row.outputs) and row.warnings == "[]":
            assert (seq, "o", row.state) in used
    tasks = {(row.dag_id, row.task_id) for row in lineage.values() if row.state == "success"}
    for row in conn.execute(select(tables.edge)):
        assert (row.dag_id, row.task_id) in tasks
        assert {row.source_pk, row.target_pk} - {0} <= set(assets)
        assert row.first_seen <= row.last_seen

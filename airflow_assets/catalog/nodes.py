"""Nodes of assets written in Python: what code declares, and what is known of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, func, select

from airflow_assets.catalog import tables
from airflow_assets.catalog.filters import seen_by_key
from airflow_assets.catalog.staleness import Knowledge, statuses
from airflow_assets.catalog.write_set import chunks, replace_rows
from airflow_assets.schemas.nodes import (
    AssetNode,
    Declared,
    NodeDeclaration,
    NodeDeclarations,
    NodePartition,
    NodePartitionQuery,
    NodePartitions,
    NodeQuery,
    Nodes,
    NodeStatuses,
)
from airflow_assets.schemas.rules import identity, json_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Connection

    from airflow_assets.schemas.actors import Caller


def declare(conn: Connection, caller: Caller, body: NodeDeclarations) -> Declared:
    """Store declarations that are new or have changed."""
    wanted = {identity(caller.tenant, item.name): item for item in body.items}
    texts = {key: json_text(_document(item)) for key, item in wanted.items()}
    stored: dict[bytes, str | None] = {}
    for keys in chunks(sorted(wanted)):
        stored.update((bytes(key), text) for key, text in conn.execute(_DECLARED, {"keys": keys}))
    rows = [
        {
            "node_key": key,
            "tenant": caller.tenant,
            "name": wanted[key].name,
            "inner_node": wanted[key].inner,
            "declared": texts[key],
        }
        for key in sorted(wanted)
        if stored.get(key) != texts[key]
    ]
    if rows:
        replace_rows(conn, tables.node, rows)
    return Declared(changed=len(rows))


def list_nodes(conn: Connection, caller: Caller, query: NodeQuery) -> Nodes:
    """Return the nodes that a query asks for, by name."""
    found = (_node(row) for row in _rows(conn, caller, query.names))
    wanted = [
        node
        for node in found
        if (query.tag is None or query.tag in node.tags)
        and (query.kind is None or query.kind in node.kinds)
        and (query.group is None or query.group == node.group)
    ]
    return Nodes(items=sorted(wanted, key=lambda node: node.name))


def node_statuses(conn: Connection, caller: Caller) -> NodeStatuses:
    """Return whether each declared node is up to date; see :mod:`airflow_assets.catalog.staleness`."""
    known = []
    for row in _rows(conn, caller, None):
        declared = json.loads(row.declared) if row.declared else {}
        known.append(
            Knowledge(
                row.name,
                tuple(declared.get("upstreams", ())),
                declared.get("code_version"),
                row.data_version,
                row.code_version,
                json.loads(row.input_versions) if row.input_versions else {},
            )
        )
    return NodeStatuses(items=statuses(known))


def node_partitions(conn: Connection, caller: Caller, query: NodePartitionQuery) -> NodePartitions:
    """Return what is known of a node's partitions, and how many are materialized."""
    partition = tables.node_partition.c
    key = identity(caller.tenant, query.node)
    of_node = (partition.node_key == key) & seen_by_key(partition.node_key, caller)
    there = of_node & partition.last_event.is_not(None)
    if query.count_only:
        count = conn.execute(select(func.count()).where(there)).scalar_one()
        return NodePartitions(items=[], materialized=count)
    rows = conn.execute(select(tables.node_partition).where(of_node))
    items = [
        NodePartition(
            partition_key=row.partition_key,
            materialized=row.last_event is not None,
            failed=row.failed,
            data_version=row.data_version,
            last_run_id=row.last_run_id,
        )
        for row in rows
    ]
    return NodePartitions(items=items, materialized=sum(item.materialized for item in items))


def _rows(conn: Connection, caller: Caller, names: Sequence[str] | None) -> Iterable[Any]:
    seen = seen_by_key(tables.node.c.node_key, caller)
    if names is None:
        return conn.execute(select(tables.node).where(tables.node.c.tenant == caller.tenant, seen))
    keys = sorted({identity(caller.tenant, name) for name in names})
    return [row for some in chunks(keys) for row in conn.execute(_NODES.where(seen), {"keys": some})]


def _document(item: NodeDeclaration) -> dict[str, Any]:
    """What a declaration says beyond its defaults."""
    said = item.model_dump(exclude={"name"})
    return {name: value for name, value in said.items() if value}


def _node(row: Any) -> AssetNode:
    declared = json.loads(row.declared) if row.declared else {}
    return AssetNode(
        name=row.name,
        tags=declared.get("tags", []),
        kinds=declared.get("kinds", []),
        group=declared.get("group"),
        code_version=declared.get("code_version"),
        pools=declared.get("pools", []),
        inner=bool(row.inner_node),
        last_event=bytes(row.last_event).hex() if row.last_event else None,
        last_run_id=row.last_run_id,
        last_time=row.last_time,
        data_version=row.data_version,
        materialized_code_version=row.code_version,
        input_versions=json.loads(row.input_versions) if row.input_versions else {},
    )


_OF_KEYS = tables.node.c.node_key.in_(bindparam("keys", expanding=True))
_NODES = select(tables.node).where(_OF_KEYS)
_DECLARED = select(tables.node.c.node_key, tables.node.c.declared).where(_OF_KEYS)

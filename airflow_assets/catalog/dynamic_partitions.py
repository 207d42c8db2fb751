"""Registered keys of dynamic partition definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import delete, select

from airflow_assets.catalog import tables
from airflow_assets.catalog.node_partitions import partition_hash
from airflow_assets.catalog.write_set import chunks, insert_rows
from airflow_assets.schemas.nodes import DynamicPartitions
from airflow_assets.schemas.rules import identity

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from airflow_assets.schemas.actors import Caller
    from airflow_assets.schemas.nodes import DynamicPartitionChange, DynamicPartitionQuery


def change(conn: Connection, caller: Caller, body: DynamicPartitionChange) -> DynamicPartitions:
    """Register keys and take others out; return what is registered then."""
    row = tables.dynamic_partition.c
    definition = identity(caller.tenant, body.name)
    for hashes in chunks([partition_hash(key) for key in body.remove]):
        gone = (row.definition_key == definition) & row.key_hash.in_(hashes)
        conn.execute(delete(tables.dynamic_partition).where(gone))
    known = set(_keys(conn, definition))
    new = [key for key in dict.fromkeys(body.add) if key not in known]
    if new:
        rows = [
            {"definition_key": definition, "key_hash": partition_hash(key), "partition_key": key}
            for key in new
        ]
        insert_rows(conn, tables.dynamic_partition, rows)
    return DynamicPartitions(name=body.name, keys=_keys(conn, definition))


def dynamic_partitions(conn: Connection, caller: Caller, query: DynamicPartitionQuery) -> DynamicPartitions:
    """Return the registered keys of a definition, in the order in which they came."""
    return DynamicPartitions(name=query.name, keys=_keys(conn, identity(caller.tenant, query.name)))


def _keys(conn: Connection, definition: bytes) -> list[str]:
    row = tables.dynamic_partition.c
    statement = select(row.partition_key).where(row.definition_key == definition).order_by(row.pk)
    return list(conn.execute(statement).scalars())

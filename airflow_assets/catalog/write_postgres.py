"""The usual transaction on PostgreSQL, written by one prepared statement.

A task run that writes assets which exist changes a handful of rows in seven tables. One statement each costs
a round trip and a plan each; one statement with data-modifying CTEs, planned once a connection, does the same
in a fraction of the time (docs/performance.md has the figures). Whatever is unusual (new assets, renames,
aliases, many rows) goes the general way of :mod:`~airflow_assets.catalog.write_set`, whose order this
statement keeps: the sequence row is updated only after the counts of the changed assets, metadata and edges
are known, and the rows of the log come from the number it returns.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from sqlalchemy.exc import DBAPIError

from airflow_assets.catalog.engine import NO_SEQUENCE
from airflow_assets.catalog.prepared import Prepared, prepares
from airflow_assets.catalog.values import id_sort, value_columns
from airflow_assets.schemas.base import iso
from airflow_assets.schemas.rules import json_text

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

    from airflow_assets.catalog.write_set import WriteSet

EDGE_REST = timedelta(hours=1)
"""How often at most ``edge.last_seen`` moves."""
_numbered: WeakSet[Engine] = WeakSet()
"""Engines whose database is known to have its sequence row."""
MOST_ROWS = 100
"""Beyond this many rows the general way is as good, and a JSONB document must stay below 256 MB."""


def fits(conn: Connection, rows: WriteSet) -> bool:
    """Tell whether :func:`write` can write these rows on this connection."""
    if not prepares(conn) or conn.engine not in _numbered:
        return False
    if not (rows.lineage or rows.events) or rows.aliases or rows.dropped_aliases:
        return False
    count = len(rows.assets) + len(rows.edges) + len(rows.events)
    count += sum(1 + len(line.inputs) + len(line.outputs) for line in rows.lineage)
    count += sum(len(touch.after.metadata) for touch in rows.assets.values())
    return count <= MOST_ROWS and all(
        touch.before is not None and touch.before.key == key for key, touch in rows.assets.items()
    )


def may_number(conn: Connection) -> None:
    """Note that this database has its sequence row, which :func:`write` counts on."""
    _numbered.add(conn.engine)


def write(conn: Connection, rows: WriteSet, *, last: bool) -> None:
    """Write all rows; with ``last``, as the transaction's last statement, which may carry the COMMIT."""
    values = json_text(_document(rows)), rows.now, rows.tenant, len(rows.lineage) + len(rows.events)
    try:
        if last:
            _WRITE.finish(conn, *values)
        else:
            _WRITE.rows(conn, *values)
    except DBAPIError as error:
        if getattr(error.orig, "pgcode", None) == NO_SEQUENCE:
            _numbered.discard(conn.engine)
        raise


def _document(rows: WriteSet) -> dict[str, Any]:
    lines = list(enumerate(rows.lineage, 1))
    events = enumerate(rows.events, len(lines) + 1)
    return {
        "assets": [_asset(rows, key) for key in sorted(rows.assets)],
        **_metadata(rows),
        "edges": [{**row, "edge_key": row["edge_key"].hex(), "one": 1} for row in rows.edge_rows()],
        "lineage": [_lineage(n, row.columns) for n, row in lines],
        "usages": [
            {"n": n, "asset_pk": pk, "role": role} for n, row in lines for role, pk in rows.usages(row)
        ],
        "events": [rows.event_columns(row) | {"n": n} for n, row in events],
    }


def _asset(rows: WriteSet, key: bytes) -> dict[str, Any]:
    state = rows.assets[key].after
    return {
        "one": 1,
        "pk": rows.pks[key],
        "namespace": state.namespace,
        "type": state.type,
        "display_name": state.display_name,
        "description": state.description,
        "metadata": json_text(state.metadata),
        "uri": state.uri,
        "asset_group": state.group,
        "created": iso(state.created),
        "updated": iso(state.updated),
        "deleted": state.deleted,
    }


def _metadata(rows: WriteSet) -> dict[str, Any]:
    gone, come = [], []
    for key in sorted(rows.assets):
        touch, pk = rows.assets[key], rows.pks[key]
        stale, fresh = touch.changed_metadata()
        gone += [{"one": 1, "pk": pk, "field": name} for name in stale]
        sort = id_sort(touch.after.id).hex() if fresh else ""
        for name in fresh:
            columns = value_columns(name, touch.after.metadata[name])
            rest = columns["value_rest"]
            in_hex = {
                "value_sort": columns["value_sort"].hex(),
                "value_hash": columns["value_hash"].hex(),
                "value_rest": rest.hex() if rest else None,
            }
            come.append({**columns, **in_hex, "pk": pk, "id_sort": sort})
    return {"gone": gone, "come": come}


def _lineage(n: int, columns: dict[str, Any]) -> dict[str, Any]:
    times = {name: iso(columns[name]) if columns[name] else None for name in ("start_date", "end_date")}
    return {**columns, **times, "record_key": columns["record_key"].hex(), "n": n}


# Without a sequence row the last line divides by zero, and nothing has happened.
# The planner expects 100 rows of jsonb_to_recordset and would read whole tables for them. "one = 1", which
# always holds, makes it expect one row, and go by the indexes.
_STATEMENT = """
WITH written AS (
    UPDATE airflow_assets_asset AS kept SET
        namespace = doc.namespace, type = doc.type, display_name = doc.display_name,
        description = doc.description, metadata = doc.metadata, uri = doc.uri, asset_group = doc.asset_group,
        created = doc.created, updated = doc.updated, deleted = doc.deleted
    FROM jsonb_to_recordset({document} -> 'assets') AS doc(
        one integer, pk bigint, namespace text, type text, display_name text, description text, metadata text,
        uri text, asset_group text, created timestamptz, updated timestamptz, deleted boolean)
    WHERE doc.one = 1 AND kept.pk = doc.pk RETURNING 1
), gone AS (
    DELETE FROM airflow_assets_metadata_value AS kept
    USING jsonb_to_recordset({document} -> 'gone') AS doc(one integer, pk bigint, field text)
    WHERE doc.one = 1 AND kept.asset_pk = doc.pk AND kept.field = doc.field RETURNING 1
), come AS (
    INSERT INTO airflow_assets_metadata_value AS kept
        (asset_pk, field, tag, value_sort, value_hash, value_rest, id_sort)
    SELECT pk, field, tag, decode(value_sort, 'hex'), decode(value_hash, 'hex'), decode(value_rest, 'hex'),
        decode(id_sort, 'hex')
    FROM jsonb_to_recordset({document} -> 'come') AS doc(
        pk bigint, field text, tag text, value_sort text, value_hash text, value_rest text, id_sort text)
    ON CONFLICT (asset_pk, field) DO UPDATE SET
        tag = excluded.tag, value_sort = excluded.value_sort, value_hash = excluded.value_hash,
        value_rest = excluded.value_rest
    RETURNING 1
), seen AS (
    INSERT INTO airflow_assets_edge AS kept
        (edge_key, source_pk, target_pk, dag_id, task_id, first_seen, last_seen)
    SELECT decode(edge_key, 'hex'), source_pk, target_pk, dag_id, task_id, {now}, {now}
    FROM jsonb_to_recordset({document} -> 'edges') AS doc(
        one integer, edge_key text, source_pk bigint, target_pk bigint, dag_id text,
        task_id text)
    WHERE doc.one = 1 AND NOT EXISTS (
        SELECT FROM airflow_assets_edge AS known WHERE known.edge_key = decode(doc.edge_key, 'hex')
        AND known.last_seen > {now} - interval '{rest}')
    ON CONFLICT (edge_key) DO UPDATE SET last_seen = excluded.last_seen RETURNING 1
), numbers AS (
    UPDATE airflow_assets_sequence SET value = value + {count}
    WHERE name = 'log' AND (SELECT count(*) FROM written) + (SELECT count(*) FROM gone)
        + (SELECT count(*) FROM come) + (SELECT count(*) FROM seen) >= 0
    RETURNING value - {count} AS base
), lineage AS (
    INSERT INTO airflow_assets_lineage
        (seq, record_key, bundle, tenant, dag_id, run_id, task_id, map_index, try_number, ti_id, state,
         inputs, outputs, warnings, error, start_date, end_date, created)
    SELECT base + n, decode(record_key, 'hex'), bundle, {tenant}, dag_id, run_id, task_id,
        map_index, try_number, ti_id, state, inputs, outputs, warnings, error, start_date, end_date, {now}
    FROM numbers, jsonb_to_recordset({document} -> 'lineage') AS doc(
        n bigint, record_key text, bundle smallint, dag_id text, run_id text, task_id text, map_index integer,
        try_number integer, ti_id text, state text, inputs text, outputs text, warnings text,
        error text, start_date timestamptz, end_date timestamptz)
), usages AS (
    INSERT INTO airflow_assets_usage (lineage_seq, asset_pk, role, created)
    SELECT base + n, asset_pk, role, {now}
    FROM numbers, jsonb_to_recordset({document} -> 'usages') AS doc(
        n bigint, asset_pk bigint, role text)
), events AS (
    INSERT INTO airflow_assets_event
        (seq, event_id, tenant, asset_pk, kind, created, namespace, type, payload, diff, source, depth,
         suppressed)
    SELECT base + n, event_id, {tenant}, asset_pk, kind, {now}, namespace, type, payload,
        diff, source, depth, suppressed
    FROM numbers, jsonb_to_recordset({document} -> 'events') AS doc(
        n bigint, event_id text, asset_pk bigint, kind text, namespace text, type text,
        payload text, diff text, source text, depth integer, suppressed text)
)
SELECT 1 / count(*) FROM numbers
"""

_WRITE = Prepared(
    "airflow_assets_write",
    _STATEMENT.replace("{rest}", f"{EDGE_REST.total_seconds():.0f} seconds"),
    {"document": "jsonb", "now": "timestamptz", "tenant": "text", "count": "bigint"},
)

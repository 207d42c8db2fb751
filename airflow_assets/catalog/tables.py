"""The tables, as SQLAlchemy Core. The migrations make exactly these (a test compares).

Rows refer to an asset by ``asset_pk``, a number that survives renames. Its public identity is ``asset_key``,
the SHA-256 of tenant and id (:func:`airflow_assets.schemas.rules.identity`). ``id_sort`` is the first 255
bytes of the id in UTF-8: byte order is code-point order on every database, and 255 bytes fit every index.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    SmallInteger,
    String,
    Table,
    false,
)

from airflow_assets.catalog.column_types import (
    BigId,
    LongBytes,
    LongText,
    UtcDateTime,
    bytes_of,
    exact_text,
)

PREFIX = "airflow_assets_"
VERSION_TABLE = "alembic_version_airflow_assets"
metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)
_OPTIONS: dict[str, Any] = {
    f"{dialect}_{option}": value
    for dialect in ("mysql", "mariadb")
    for option, value in (("charset", "utf8mb4"), ("collate", "utf8mb4_bin"), ("row_format", "DYNAMIC"))
}

asset = Table(
    PREFIX + "asset",
    metadata,
    Column("pk", BigId, primary_key=True, autoincrement=True),
    Column("tenant", exact_text(150), nullable=False),
    Column("asset_key", bytes_of(32), nullable=False, unique=True),
    Column("id", exact_text(1500), nullable=False),
    Column("id_sort", bytes_of(255), nullable=False),
    Column("namespace", exact_text(150)),
    Column("type", exact_text(250), nullable=False),
    Column("display_name", exact_text(1500)),
    Column("description", LongText),
    Column("metadata", LongText, nullable=False),
    Column("uri", exact_text(1500)),
    Column("asset_group", exact_text(1500)),
    Column("created", UtcDateTime, nullable=False),
    Column("updated", UtcDateTime, nullable=False),
    Column("deleted", Boolean(create_constraint=False), nullable=False),
    # When its lock runs out, null while it was released. Writers read it with the row that they lock anyway,
    # and only then the lease. In no index, so that locking stays a heap-only update on PostgreSQL.
    Column("lock_until", UtcDateTime),
    Index("ix_airflow_assets_asset_by_id", "tenant", "deleted", "id_sort", "pk"),
    Index("ix_airflow_assets_asset_by_updated", "tenant", "deleted", "updated", "pk"),
    Index("ix_airflow_assets_asset_by_created", "tenant", "deleted", "created", "pk"),
    Index("ix_airflow_assets_asset_by_type", "tenant", "deleted", "type", "id_sort", "pk"),
    Index("ix_airflow_assets_asset_by_namespace", "tenant", "deleted", "namespace", "id_sort", "pk"),
    # The log names assets by number: SQLite would give a purged asset's number to the next new one.
    sqlite_autoincrement=True,
    **_OPTIONS,
)

alias = Table(
    PREFIX + "alias",
    metadata,
    Column("alias_key", bytes_of(32), primary_key=True),
    Column("tenant", exact_text(150), nullable=False),
    Column("id", exact_text(1500), nullable=False),
    Column("asset_pk", BigInteger, ForeignKey(asset.c.pk, ondelete="CASCADE"), nullable=False, index=True),
    Column("created", UtcDateTime, nullable=False),
    **_OPTIONS,
)

metadata_value = Table(
    PREFIX + "metadata_value",
    metadata,
    Column("asset_pk", BigInteger, ForeignKey(asset.c.pk, ondelete="CASCADE"), primary_key=True),
    Column("field", exact_text(250), primary_key=True),
    Column("tag", String(1), nullable=False),
    Column("value_sort", bytes_of(255), nullable=False),
    Column("value_hash", bytes_of(16), nullable=False),
    Column("value_rest", LongBytes),
    Column("id_sort", bytes_of(255), nullable=False),
    Index("ix_airflow_assets_metadata_value_equal", "field", "value_hash", "id_sort", "asset_pk"),
    Index("ix_airflow_assets_metadata_value_range", "field", "tag", "value_sort", "asset_pk"),
    **_OPTIONS,
)
"""One row per top-level metadata key. ``tag``: n(ull) b(ool) d (number) s(tring) a(rray) o(bject).
``value_sort``: bytes whose order is the value's order (first 255); ``value_rest``: the whole bytes where they
are longer, else null; ``value_hash``: of tag and canonical value, so equality is exact."""

event = Table(
    PREFIX + "event",
    metadata,
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("event_id", String(36), nullable=False, unique=True),
    Column("tenant", exact_text(150), nullable=False),
    Column("asset_pk", BigInteger, nullable=False),
    Column("kind", String(20), nullable=False),
    Column("created", UtcDateTime, nullable=False),
    Column("namespace", exact_text(150)),
    Column("type", exact_text(250), nullable=False),
    Column("payload", LongText, nullable=False),
    Column("diff", LongText, nullable=False),
    Column("source", LongText, nullable=False),
    Column("depth", Integer, nullable=False),
    Column("suppressed", String(20)),
    Index("ix_airflow_assets_event_of_asset", "asset_pk", "seq"),
    Index("ix_airflow_assets_event_created", "created"),
    **_OPTIONS,
)
"""The event log, which is also the history: ``diff`` holds member -> [old, new]."""

lineage = Table(
    PREFIX + "lineage",
    metadata,
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("record_key", bytes_of(32), nullable=False),
    Column("bundle", SmallInteger, nullable=False),
    Column("tenant", exact_text(150), nullable=False),
    Column("dag_id", exact_text(250), nullable=False),
    Column("run_id", exact_text(250), nullable=False),
    Column("task_id", exact_text(250), nullable=False),
    Column("map_index", Integer, nullable=False),
    Column("try_number", Integer, nullable=False),
    Column("ti_id", String(36)),
    Column("state", String(20), nullable=False),
    Column("inputs", LongText, nullable=False),
    Column("outputs", LongText, nullable=False),
    Column("warnings", LongText, nullable=False),
    # Type and message of the exception that ended the try, JSON; null where there was none.
    Column("error", LongText),
    Column("start_date", UtcDateTime),
    Column("end_date", UtcDateTime),
    Column("created", UtcDateTime, nullable=False),
    Index("uq_airflow_assets_lineage_record", "record_key", "bundle", unique=True),
    Index("ix_airflow_assets_lineage_run", "dag_id", "run_id", "seq"),
    Index("ix_airflow_assets_lineage_created", "created"),
    **_OPTIONS,
)
"""One row per bundle of one try; ``record_key``, the SHA-256 of the try, lets a repeat find its record.
``bundle`` *n* becomes ``-1 - n`` in the shell of a purged row (:mod:`airflow_assets.catalog.purge_log`)."""

usage = Table(
    PREFIX + "usage",
    metadata,
    Column("lineage_seq", BigInteger, primary_key=True, autoincrement=False),
    Column("asset_pk", BigInteger, primary_key=True, autoincrement=False),
    Column("role", String(1), primary_key=True),
    Column("created", UtcDateTime, nullable=False),
    Index("ix_airflow_assets_usage_of_asset", "asset_pk", "lineage_seq"),
    Index("ix_airflow_assets_usage_created", "created"),
    **_OPTIONS,
)
"""``role``: i(nput) or o(utput)."""

edge = Table(
    PREFIX + "edge",
    metadata,
    Column("edge_key", bytes_of(16), primary_key=True),
    Column("source_pk", BigInteger, nullable=False),
    Column("target_pk", BigInteger, nullable=False),
    Column("dag_id", exact_text(250), nullable=False),
    Column("task_id", exact_text(250), nullable=False),
    Column("first_seen", UtcDateTime, nullable=False),
    Column("last_seen", UtcDateTime, nullable=False),
    # Found in a Dag, not in a record: a row of its own, since what is recorded stays when the Dag changes.
    Column("declared", Boolean(create_constraint=False), nullable=False, server_default=false()),
    # When the declaration was found to be gone; null while it is there, and for what was recorded.
    Column("ended", UtcDateTime),
    # With all that a search asks for: it reads the indexes alone.
    Index("ix_airflow_assets_edge_source", "source_pk", "target_pk", "ended"),
    Index("ix_airflow_assets_edge_target", "target_pk", "source_pk", "ended"),
    **_OPTIONS,
)
"""The distinct edges of the graph: asset -> asset of one bundle through one task. ``source_pk`` 0: the task
only writes the target; ``target_pk`` 0: the task only reads the source. ``last_seen`` moves at most once an
hour; of a declaration it never does. A declared ``task_id`` of no characters: the source starts the Dag."""

purged_asset = Table(
    PREFIX + "purged_asset",
    metadata,
    Column("asset_pk", BigInteger, primary_key=True, autoincrement=False),
    Column("tenant", exact_text(150), nullable=False),
    Column("asset_key", bytes_of(32), nullable=False, index=True),
    Column("id", exact_text(1500), nullable=False),
    Column("namespace", exact_text(150)),
    Column("uri", exact_text(1500)),
    Column("purged", UtcDateTime, nullable=False),
    **_OPTIONS,
)
"""What a purged asset was called, as long as the log still has something of it: its events and usages stay
readable by its id. One id may have been purged several times."""

sequence = Table(
    PREFIX + "sequence",
    metadata,
    Column("name", String(30), primary_key=True),
    Column("value", BigInteger, nullable=False),
    **_OPTIONS,
)
"""One row, ``log``: the last number given to an event or a lineage row; a transaction's last step."""

consumer = Table(
    PREFIX + "consumer",
    metadata,
    Column("kind", String(20), primary_key=True),
    Column("name", exact_text(250), primary_key=True),
    Column("seq", BigInteger, nullable=False),
    Column("state", LongText),
    Column("updated", UtcDateTime, nullable=False),
    **_OPTIONS,
)
"""How far a reader of the log has come: kind ``dag`` and the dag_id, kind ``follower``, or kind
``shipper`` and a hash (``bookmarks.py``). ``state`` is the
reader's own JSON."""

job = Table(
    PREFIX + "job",
    metadata,
    Column("name", String(50), primary_key=True),
    Column("owner", String(100), nullable=False),
    Column("expires", UtcDateTime, nullable=False),
    **_OPTIONS,
)
"""Who runs a background job, and until when; the database's clock decides."""

followed = Table(
    PREFIX + "followed",
    metadata,
    Column("airflow_event_id", BigInteger, primary_key=True, autoincrement=False),
    Column("created", UtcDateTime, nullable=False, index=True),
    **_OPTIONS,
)
"""Events of Airflow's own ``asset_event`` table that have been taken over, each once."""

lease = Table(
    PREFIX + "lease",
    metadata,
    Column("asset_key", bytes_of(32), primary_key=True),
    Column("tenant", exact_text(150), nullable=False),
    # The number of the last tenure. The row stays when the lock is free or the asset gone: numbers only grow.
    Column("fencing", BigInteger, nullable=False),
    # Whether there are rows in ``waiter``: a free lock is then not for everybody.
    Column("queued", Boolean(create_constraint=False), nullable=False),
    # Null while the lock is free; then so is everything below.
    Column("owner_key", bytes_of(32)),
    Column("owner_type", String(10)),
    Column("dag_id", exact_text(250)),
    Column("run_id", exact_text(250)),
    Column("task_id", exact_text(250)),
    Column("map_index", Integer),
    Column("try_number", Integer),
    Column("clear_number", Integer),
    Column("user_name", exact_text(1500)),
    Column("acquired", UtcDateTime),
    Column("locked_until", UtcDateTime),
    Column("ttl", BigInteger),  # microseconds
    Column("hold_after_run", Boolean(create_constraint=False)),
    **_OPTIONS,
)
"""Locks, by the identity of their asset. Without an index on times: there are as many rows as assets that
were ever locked, and every lock would have to keep it."""

waiter = Table(
    PREFIX + "waiter",
    metadata,
    Column("asset_key", bytes_of(32), primary_key=True),
    Column("wait_id", String(36), primary_key=True),
    Column("owner_key", bytes_of(32), nullable=False),
    Column("since", UtcDateTime, nullable=False),
    Column("seen", UtcDateTime, nullable=False),
    Index("ix_airflow_assets_waiter_wait_id", "wait_id"),
    **_OPTIONS,
)
"""Who waits for a lock, first come, first served by (``since``, ``wait_id``), the same for all assets of one
wait; ``seen`` is when he last asked."""

forced_unlock = Table(
    PREFIX + "forced_unlock",
    metadata,
    Column("pk", BigId, primary_key=True, autoincrement=True),
    Column("tenant", exact_text(150), nullable=False),
    Column("asset_pk", BigInteger, nullable=False),
    Column("lease", LongText, nullable=False),
    Column("reason", LongText, nullable=False),
    Column("source", LongText, nullable=False),
    Column("created", UtcDateTime, nullable=False),
    Index("ix_airflow_assets_forced_unlock_of_asset", "asset_pk", "pk"),
    **_OPTIONS,
)
"""Locks that were taken by force: ``lease`` as it was (JSON), why, and by whom (JSON)."""

poll = Table(
    PREFIX + "poll",
    metadata,
    Column("poll_key", String(64), primary_key=True),
    Column("kind", String(20), nullable=False),
    Column("definition", LongText, nullable=False),
    Column("state", LongText),
    Column("number", BigInteger, nullable=False),
    Column("due", UtcDateTime, nullable=False),
    Column("checked", UtcDateTime, nullable=False, index=True),
    Column("fired", UtcDateTime),
    Column("last_firing", String(36)),
    Column("error", LongText),
    **_OPTIONS,
)
"""What a polled schedule remembers. ``state``: JSON of its edge memory. ``number``: of the next check, moved
by each report; ``last_firing``: what the report of the check before has caused. ``error``: of the last."""

firing = Table(
    PREFIX + "firing",
    metadata,
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("firing_id", String(36), nullable=False, unique=True),
    Column("tenant", exact_text(150), nullable=False),
    Column("kind", String(20), nullable=False),
    Column("poll_key", String(64), nullable=False),
    Column("created", UtcDateTime, nullable=False, index=True),
    Column("repeats", Boolean(create_constraint=False), nullable=False),
    Column("payload", LongText, nullable=False),
    **_OPTIONS,
)
"""The firings of polled schedules: entries of the log, numbered with its events."""

asset_run = Table(
    PREFIX + "asset_run",
    metadata,
    Column("run_key", bytes_of(32), primary_key=True),
    Column("tenant", exact_text(150), nullable=False),
    Column("run_id", exact_text(250), nullable=False),
    Column("status", String(20), nullable=False),
    Column("nodes", LongText, nullable=False),
    Column("action", exact_text(250)),
    Column("job_name", exact_text(250)),
    Column("partition_key", LongText),
    Column("tags", LongText, nullable=False),
    Column("priority", Integer, nullable=False),
    Column("launched_by", LongText, nullable=False),
    Column("config", LongText),
    Column("started", UtcDateTime, nullable=False),
    Column("ended", UtcDateTime),
    Column("completed", Integer, nullable=False),
    Column("total", Integer, nullable=False),
    Column("message", LongText),
    Column("cancel_requested", Boolean(create_constraint=False), nullable=False),
    Index("ix_airflow_assets_asset_run_started", "tenant", "started"),
    **_OPTIONS,
)
"""Runs of assets written in Python. ``run_key``: SHA-256 of tenant and ``run_id``. Documents are JSON."""

step_event = Table(
    PREFIX + "step_event",
    metadata,
    # Only orders: a number that another transaction was given may become visible later.
    Column("pk", BigId, primary_key=True, autoincrement=True),
    Column("event_key", bytes_of(16), nullable=False, unique=True),
    Column("run_key", bytes_of(32), nullable=False),
    Column("run_id", exact_text(250), nullable=False),
    Column("node_key", bytes_of(32), nullable=False),
    Column("node", exact_text(1500), nullable=False),
    Column("step", exact_text(1500), nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("event_type", String(20), nullable=False),
    Column("partition_key", LongText),
    Column("created", UtcDateTime, nullable=False),
    # What only some events have: metadata, versions, tags; JSON, null where there is nothing.
    Column("details", LongText),
    Index("ix_airflow_assets_step_event_of_run", "run_key", "pk"),
    Index("ix_airflow_assets_step_event_of_node", "node_key", "event_type", "pk"),
    **_OPTIONS,
)
"""What steps said. ``event_key``: hash of run, step, attempt, map index and ordinal, so that a repeat is
known; in hex it is the event's public id."""

node = Table(
    PREFIX + "node",
    metadata,
    Column("node_key", bytes_of(32), primary_key=True),
    Column("tenant", exact_text(150), nullable=False, index=True),
    Column("name", exact_text(1500), nullable=False),
    # What code declares, JSON; null for a node that only was recorded.
    Column("declared", LongText),
    Column("inner_node", Boolean(create_constraint=False), nullable=False),
    # The last materialization, observation or whole deletion; after a deletion nothing else is set.
    Column("last_event", bytes_of(16)),
    Column("last_run_id", exact_text(250)),
    Column("last_time", UtcDateTime),
    Column("data_version", LongText),
    Column("code_version", LongText),
    Column("input_versions", LongText),
    **_OPTIONS,
)
"""Assets written in Python and the tasks inside graph assets, by the identity that their name has as an
asset's id. ``code_version`` and ``input_versions`` are those of the last materialization."""

node_partition = Table(
    PREFIX + "node_partition",
    metadata,
    Column("node_key", bytes_of(32), primary_key=True),
    Column("partition_hash", bytes_of(16), primary_key=True),
    Column("partition_key", LongText, nullable=False),
    # The last materialization, null where there was none or it was deleted.
    Column("last_event", bytes_of(16)),
    Column("last_run_id", exact_text(250)),
    Column("data_version", LongText),
    Column("failed", Boolean(create_constraint=False), nullable=False),
    **_OPTIONS,
)
"""Partitions that were materialized or have failed since. ``partition_key``: JSON of one single key."""

dynamic_partition = Table(
    PREFIX + "dynamic_partition",
    metadata,
    Column("pk", BigId, primary_key=True, autoincrement=True),
    Column("definition_key", bytes_of(32), nullable=False),
    Column("key_hash", bytes_of(16), nullable=False),
    Column("partition_key", LongText, nullable=False),
    Index("uq_airflow_assets_dynamic_partition_key", "definition_key", "key_hash", unique=True),
    **_OPTIONS,
)
"""Registered keys of dynamic definitions, by the SHA-256 of tenant and the definition's name."""

asset_backfill = Table(
    PREFIX + "asset_backfill",
    metadata,
    Column("backfill_key", bytes_of(32), primary_key=True),
    Column("tenant", exact_text(150), nullable=False),
    Column("backfill_id", exact_text(250), nullable=False),
    Column("status", String(50), nullable=False),
    Column("definition", LongText, nullable=False),
    Column("keys", LongText, nullable=False),
    Column("run_ids", LongText, nullable=False),
    Column("created", UtcDateTime, nullable=False),
    Column("cancel_requested", Boolean(create_constraint=False), nullable=False),
    Index("ix_airflow_assets_asset_backfill_created", "tenant", "created"),
    **_OPTIONS,
)
"""Backfills, as their coordinators save them: ``keys`` has the status by partition."""

slot_pool = Table(
    PREFIX + "slot_pool",
    metadata,
    Column("pool_key", bytes_of(32), primary_key=True),
    Column("tenant", exact_text(150), nullable=False, index=True),
    Column("name", exact_text(1500), nullable=False),
    Column("slot_limit", Integer, nullable=False),
    Column("lease_seconds", Integer, nullable=False),
    # P(ool with a limit), F(ree pool: nobody set one), N(ode: the lock of an asset).
    Column("kind", String(1), nullable=False),
    **_OPTIONS,
)
"""What steps claim; the row is locked while its claims are counted. ``slot_limit`` -1: as many as wanted."""

slot_claim = Table(
    PREFIX + "slot_claim",
    metadata,
    Column("pool_key", bytes_of(32), primary_key=True),
    Column("holder_key", bytes_of(32), primary_key=True),
    Column("run_key", bytes_of(32), nullable=False),
    Column("run_id", exact_text(250), nullable=False),
    Column("step", exact_text(1500), nullable=False),
    Column("slots", Integer, nullable=False),
    Column("exclusive", Boolean(create_constraint=False), nullable=False),
    # Of a node's lock: JSON of canonical keys, null for all of it.
    Column("partitions", LongText),
    Column("claimed", UtcDateTime, nullable=False),
    Column("expires", UtcDateTime, nullable=False),
    Index("ix_airflow_assets_slot_claim_of_run", "run_key"),
    **_OPTIONS,
)
"""What steps hold; a row that has run out counts for nothing, and goes with the next claim of its pool."""

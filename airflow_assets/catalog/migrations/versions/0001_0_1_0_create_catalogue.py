"""Create the catalogue (0.1.0).

Written out, not taken from the models: this revision must make the same tables when the models have moved on.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import context, op

from airflow_assets.catalog.column_types import (
    BigId,
    LongBytes,
    LongText,
    UtcDateTime,
    bytes_of,
    exact_text,
)

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_P = "airflow_assets_"
_OPTIONS: dict[str, Any] = {
    f"{dialect}_{option}": value
    for dialect in ("mysql", "mariadb")
    for option, value in (("charset", "utf8mb4"), ("collate", "utf8mb4_bin"), ("row_format", "DYNAMIC"))
}

_OF_TABLE: dict[str, dict[str, Any]] = {"asset": {"sqlite_autoincrement": True}}


def upgrade() -> None:
    present = set() if context.is_offline_mode() else set(sa.inspect(op.get_bind()).get_table_names())
    for name, columns in _tables().items():
        if _P + name in present:
            continue
        op.create_table(_P + name, *columns, **_OPTIONS, **_OF_TABLE.get(name, {}))
        for index, fields, unique in _INDEXES.get(name, ()):
            op.create_index(index, _P + name, fields, unique=unique)


def downgrade() -> None:
    for name in reversed(_tables()):
        op.drop_table(_P + name)


def _asset_pk(**options: Any) -> sa.Column[Any]:
    return sa.Column(
        "asset_pk",
        sa.BigInteger,
        sa.ForeignKey(f"{_P}asset.pk", ondelete="CASCADE"),
        nullable=False,
        **options,
    )


def _tables() -> dict[str, list[Any]]:
    return {
        **_asset_tables(),
        **_log_tables(),
        **_work_tables(),
        **_lock_tables(),
        **_poll_tables(),
        **_authoring_tables(),
    }


def _asset_tables() -> dict[str, list[Any]]:
    return {
        "asset": [
            sa.Column("pk", BigId, primary_key=True, autoincrement=True),
            sa.Column("tenant", exact_text(150), nullable=False),
            sa.Column("asset_key", bytes_of(32), nullable=False, unique=True),
            sa.Column("id", exact_text(1500), nullable=False),
            sa.Column("id_sort", bytes_of(255), nullable=False),
            sa.Column("namespace", exact_text(150)),
            sa.Column("type", exact_text(250), nullable=False),
            sa.Column("display_name", exact_text(1500)),
            sa.Column("description", LongText),
            sa.Column("metadata", LongText, nullable=False),
            sa.Column("uri", exact_text(1500)),
            sa.Column("asset_group", exact_text(1500)),
            sa.Column("created", UtcDateTime, nullable=False),
            sa.Column("updated", UtcDateTime, nullable=False),
            sa.Column("deleted", sa.Boolean(create_constraint=False), nullable=False),
            sa.Column("lock_until", UtcDateTime),
        ],
        "alias": [
            sa.Column("alias_key", bytes_of(32), primary_key=True),
            sa.Column("tenant", exact_text(150), nullable=False),
            sa.Column("id", exact_text(1500), nullable=False),
            _asset_pk(),
            sa.Column("created", UtcDateTime, nullable=False),
        ],
        "purged_asset": [
            sa.Column("asset_pk", sa.BigInteger, primary_key=True, autoincrement=False),
            sa.Column("tenant", exact_text(150), nullable=False),
            sa.Column("asset_key", bytes_of(32), nullable=False),
            sa.Column("id", exact_text(1500), nullable=False),
            sa.Column("namespace", exact_text(150)),
            sa.Column("uri", exact_text(1500)),
            sa.Column("purged", UtcDateTime, nullable=False),
        ],
        "metadata_value": [
            _asset_pk(primary_key=True),
            sa.Column("field", exact_text(250), primary_key=True),
            sa.Column("tag", sa.String(1), nullable=False),
            sa.Column("value_sort", bytes_of(255), nullable=False),
            sa.Column("value_hash", bytes_of(16), nullable=False),
            sa.Column("value_rest", LongBytes),
            sa.Column("id_sort", bytes_of(255), nullable=False),
        ],
    }


def _log_tables() -> dict[str, list[Any]]:
    return {
        "event": [
            sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
            sa.Column("event_id", sa.String(36), nullable=False, unique=True),
            sa.Column("tenant", exact_text(150), nullable=False),
            sa.Column("asset_pk", sa.BigInteger, nullable=False),
            sa.Column("kind", sa.String(20), nullable=False),
            sa.Column("created", UtcDateTime, nullable=False),
            sa.Column("namespace", exact_text(150)),
            sa.Column("type", exact_text(250), nullable=False),
            sa.Column("payload", LongText, nullable=False),
            sa.Column("diff", LongText, nullable=False),
            sa.Column("source", LongText, nullable=False),
            sa.Column("depth", sa.Integer, nullable=False),
            sa.Column("suppressed", sa.String(20)),
        ],
        "lineage": [
            sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
            sa.Column("record_key", bytes_of(32), nullable=False),
            sa.Column("bundle", sa.SmallInteger, nullable=False),
            sa.Column("tenant", exact_text(150), nullable=False),
            sa.Column("dag_id", exact_text(250), nullable=False),
            sa.Column("run_id", exact_text(250), nullable=False),
            sa.Column("task_id", exact_text(250), nullable=False),
            sa.Column("map_index", sa.Integer, nullable=False),
            sa.Column("try_number", sa.Integer, nullable=False),
            sa.Column("ti_id", sa.String(36)),
            sa.Column("state", sa.String(20), nullable=False),
            sa.Column("inputs", LongText, nullable=False),
            sa.Column("outputs", LongText, nullable=False),
            sa.Column("warnings", LongText, nullable=False),
            sa.Column("error", LongText),
            sa.Column("start_date", UtcDateTime),
            sa.Column("end_date", UtcDateTime),
            sa.Column("created", UtcDateTime, nullable=False),
        ],
        "usage": [
            sa.Column("lineage_seq", sa.BigInteger, primary_key=True, autoincrement=False),
            sa.Column("asset_pk", sa.BigInteger, primary_key=True, autoincrement=False),
            sa.Column("role", sa.String(1), primary_key=True),
            sa.Column("created", UtcDateTime, nullable=False),
        ],
        "edge": [
            sa.Column("edge_key", bytes_of(16), primary_key=True),
            sa.Column("source_pk", sa.BigInteger, nullable=False),
            sa.Column("target_pk", sa.BigInteger, nullable=False),
            sa.Column("dag_id", exact_text(250), nullable=False),
            sa.Column("task_id", exact_text(250), nullable=False),
            sa.Column("first_seen", UtcDateTime, nullable=False),
            sa.Column("last_seen", UtcDateTime, nullable=False),
            sa.Column(
                "declared", sa.Boolean(create_constraint=False), nullable=False, server_default=sa.false()
            ),
            sa.Column("ended", UtcDateTime),
        ],
    }


def _work_tables() -> dict[str, list[Any]]:
    return {
        "sequence": [
            sa.Column("name", sa.String(30), primary_key=True),
            sa.Column("value", sa.BigInteger, nullable=False),
        ],
        "consumer": [
            sa.Column("kind", sa.String(20), primary_key=True),
            sa.Column("name", exact_text(250), primary_key=True),
            sa.Column("seq", sa.BigInteger, nullable=False),
            sa.Column("state", LongText),
            sa.Column("updated", UtcDateTime, nullable=False),
        ],
        "job": [
            sa.Column("name", sa.String(50), primary_key=True),
            sa.Column("owner", sa.String(100), nullable=False),
            sa.Column("expires", UtcDateTime, nullable=False),
        ],
        "followed": [
            sa.Column("airflow_event_id", sa.BigInteger, primary_key=True, autoincrement=False),
            sa.Column("created", UtcDateTime, nullable=False),
        ],
    }


def _poll_tables() -> dict[str, list[Any]]:
    return {
        "poll": [
            sa.Column("poll_key", sa.String(64), primary_key=True),
            sa.Column("kind", sa.String(20), nullable=False),
            sa.Column("definition", LongText, nullable=False),
            sa.Column("state", LongText),
            sa.Column("number", sa.BigInteger, nullable=False),
            sa.Column("due", UtcDateTime, nullable=False),
            sa.Column("checked", UtcDateTime, nullable=False),
            sa.Column("fired", UtcDateTime),
            sa.Column("last_firing", sa.String(36)),
            sa.Column("error", LongText),
        ],
        "firing": [
            sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
            sa.Column("firing_id", sa.String(36), nullable=False, unique=True),
            sa.Column("tenant", exact_text(150), nullable=False),
            sa.Column("kind", sa.String(20), nullable=False),
            sa.Column("poll_key", sa.String(64), nullable=False),
            sa.Column("created", UtcDateTime, nullable=False),
            sa.Column("repeats", sa.Boolean(create_constraint=False), nullable=False),
            sa.Column("payload", LongText, nullable=False),
        ],
    }


def _lock_tables() -> dict[str, list[Any]]:
    return {
        "lease": [
            sa.Column("asset_key", bytes_of(32), primary_key=True),
            sa.Column("tenant", exact_text(150), nullable=False),
            sa.Column("fencing", sa.BigInteger, nullable=False),
            sa.Column("queued", sa.Boolean(create_constraint=False), nullable=False),
            sa.Column("owner_key", bytes_of(32)),
            sa.Column("owner_type", sa.String(10)),
            sa.Column("dag_id", exact_text(250)),
            sa.Column("run_id", exact_text(250)),
            sa.Column("task_id", exact_text(250)),
            sa.Column("map_index", sa.Integer),
            sa.Column("try_number", sa.Integer),
            sa.Column("clear_number", sa.Integer),
            sa.Column("user_name", exact_text(1500)),
            sa.Column("acquired", UtcDateTime),
            sa.Column("locked_until", UtcDateTime),
            sa.Column("ttl", sa.BigInteger),
            sa.Column("hold_after_run", sa.Boolean(create_constraint=False)),
        ],
        "waiter": [
            sa.Column("asset_key", bytes_of(32), primary_key=True),
            sa.Column("wait_id", sa.String(36), primary_key=True),
            sa.Column("owner_key", bytes_of(32), nullable=False),
            sa.Column("since", UtcDateTime, nullable=False),
            sa.Column("seen", UtcDateTime, nullable=False),
        ],
        "forced_unlock": [
            sa.Column("pk", BigId, primary_key=True, autoincrement=True),
            sa.Column("tenant", exact_text(150), nullable=False),
            sa.Column("asset_pk", sa.BigInteger, nullable=False),
            sa.Column("lease", LongText, nullable=False),
            sa.Column("reason", LongText, nullable=False),
            sa.Column("source", LongText, nullable=False),
            sa.Column("created", UtcDateTime, nullable=False),
        ],
    }


def _authoring_tables() -> dict[str, list[Any]]:
    return {
        "asset_run": [
            sa.Column("run_key", bytes_of(32), primary_key=True),
            sa.Column("tenant", exact_text(150), nullable=False),
            sa.Column("run_id", exact_text(250), nullable=False),
            sa.Column("status", sa.String(20), nullable=False),
            sa.Column("nodes", LongText, nullable=False),
            sa.Column("action", exact_text(250)),
            sa.Column("job_name", exact_text(250)),
            sa.Column("partition_key", LongText),
            sa.Column("tags", LongText, nullable=False),
            sa.Column("priority", sa.Integer, nullable=False),
            sa.Column("launched_by", LongText, nullable=False),
            sa.Column("config", LongText),
            sa.Column("started", UtcDateTime, nullable=False),
            sa.Column("ended", UtcDateTime),
            sa.Column("completed", sa.Integer, nullable=False),
            sa.Column("total", sa.Integer, nullable=False),
            sa.Column("message", LongText),
            sa.Column("cancel_requested", sa.Boolean(create_constraint=False), nullable=False),
        ],
        "step_event": [
            sa.Column("pk", BigId, primary_key=True, autoincrement=True),
            sa.Column("event_key", bytes_of(16), nullable=False, unique=True),
            sa.Column("run_key", bytes_of(32), nullable=False),
            sa.Column("run_id", exact_text(250), nullable=False),
            sa.Column("node_key", bytes_of(32), nullable=False),
            sa.Column("node", exact_text(1500), nullable=False),
            sa.Column("step", exact_text(1500), nullable=False),
            sa.Column("attempt", sa.Integer, nullable=False),
            sa.Column("event_type", sa.String(20), nullable=False),
            sa.Column("partition_key", LongText),
            sa.Column("created", UtcDateTime, nullable=False),
            sa.Column("details", LongText),
        ],
        "node": [
            sa.Column("node_key", bytes_of(32), primary_key=True),
            sa.Column("tenant", exact_text(150), nullable=False),
            sa.Column("name", exact_text(1500), nullable=False),
            sa.Column("declared", LongText),
            sa.Column("inner_node", sa.Boolean(create_constraint=False), nullable=False),
            sa.Column("last_event", bytes_of(16)),
            sa.Column("last_run_id", exact_text(250)),
            sa.Column("last_time", UtcDateTime),
            sa.Column("data_version", LongText),
            sa.Column("code_version", LongText),
            sa.Column("input_versions", LongText),
        ],
        "node_partition": [
            sa.Column("node_key", bytes_of(32), primary_key=True),
            sa.Column("partition_hash", bytes_of(16), primary_key=True),
            sa.Column("partition_key", LongText, nullable=False),
            sa.Column("last_event", bytes_of(16)),
            sa.Column("last_run_id", exact_text(250)),
            sa.Column("data_version", LongText),
            sa.Column("failed", sa.Boolean(create_constraint=False), nullable=False),
        ],
        "dynamic_partition": [
            sa.Column("pk", BigId, primary_key=True, autoincrement=True),
            sa.Column("definition_key", bytes_of(32), nullable=False),
            sa.Column("key_hash", bytes_of(16), nullable=False),
            sa.Column("partition_key", LongText, nullable=False),
        ],
        "asset_backfill": [
            sa.Column("backfill_key", bytes_of(32), primary_key=True),
            sa.Column("tenant", exact_text(150), nullable=False),
            sa.Column("backfill_id", exact_text(250), nullable=False),
            sa.Column("status", sa.String(50), nullable=False),
            sa.Column("definition", LongText, nullable=False),
            sa.Column("keys", LongText, nullable=False),
            sa.Column("run_ids", LongText, nullable=False),
            sa.Column("created", UtcDateTime, nullable=False),
            sa.Column("cancel_requested", sa.Boolean(create_constraint=False), nullable=False),
        ],
        "slot_pool": [
            sa.Column("pool_key", bytes_of(32), primary_key=True),
            sa.Column("tenant", exact_text(150), nullable=False),
            sa.Column("name", exact_text(1500), nullable=False),
            sa.Column("slot_limit", sa.Integer, nullable=False),
            sa.Column("lease_seconds", sa.Integer, nullable=False),
            sa.Column("kind", sa.String(1), nullable=False),
        ],
        "slot_claim": [
            sa.Column("pool_key", bytes_of(32), primary_key=True),
            sa.Column("holder_key", bytes_of(32), primary_key=True),
            sa.Column("run_key", bytes_of(32), nullable=False),
            sa.Column("run_id", exact_text(250), nullable=False),
            sa.Column("step", exact_text(1500), nullable=False),
            sa.Column("slots", sa.Integer, nullable=False),
            sa.Column("exclusive", sa.Boolean(create_constraint=False), nullable=False),
            sa.Column("partitions", LongText),
            sa.Column("claimed", UtcDateTime, nullable=False),
            sa.Column("expires", UtcDateTime, nullable=False),
        ],
    }


_INDEXES: dict[str, tuple[tuple[str, list[str], bool], ...]] = {
    "asset": (
        (f"ix_{_P}asset_by_id", ["tenant", "deleted", "id_sort", "pk"], False),
        (f"ix_{_P}asset_by_updated", ["tenant", "deleted", "updated", "pk"], False),
        (f"ix_{_P}asset_by_created", ["tenant", "deleted", "created", "pk"], False),
        (f"ix_{_P}asset_by_type", ["tenant", "deleted", "type", "id_sort", "pk"], False),
        (f"ix_{_P}asset_by_namespace", ["tenant", "deleted", "namespace", "id_sort", "pk"], False),
    ),
    "alias": ((f"ix_{_P}alias_asset_pk", ["asset_pk"], False),),
    "purged_asset": ((f"ix_{_P}purged_asset_asset_key", ["asset_key"], False),),
    "metadata_value": (
        (f"ix_{_P}metadata_value_equal", ["field", "value_hash", "id_sort", "asset_pk"], False),
        (f"ix_{_P}metadata_value_range", ["field", "tag", "value_sort", "asset_pk"], False),
    ),
    "event": (
        (f"ix_{_P}event_of_asset", ["asset_pk", "seq"], False),
        (f"ix_{_P}event_created", ["created"], False),
    ),
    "lineage": (
        (f"uq_{_P}lineage_record", ["record_key", "bundle"], True),
        (f"ix_{_P}lineage_run", ["dag_id", "run_id", "seq"], False),
        (f"ix_{_P}lineage_created", ["created"], False),
    ),
    "usage": (
        (f"ix_{_P}usage_of_asset", ["asset_pk", "lineage_seq"], False),
        (f"ix_{_P}usage_created", ["created"], False),
    ),
    "edge": (
        (f"ix_{_P}edge_source", ["source_pk", "target_pk", "ended"], False),
        (f"ix_{_P}edge_target", ["target_pk", "source_pk", "ended"], False),
    ),
    "poll": ((f"ix_{_P}poll_checked", ["checked"], False),),
    "firing": ((f"ix_{_P}firing_created", ["created"], False),),
    "followed": ((f"ix_{_P}followed_created", ["created"], False),),
    "waiter": ((f"ix_{_P}waiter_wait_id", ["wait_id"], False),),
    "forced_unlock": ((f"ix_{_P}forced_unlock_of_asset", ["asset_pk", "pk"], False),),
    "asset_run": ((f"ix_{_P}asset_run_started", ["tenant", "started"], False),),
    "step_event": (
        (f"ix_{_P}step_event_of_run", ["run_key", "pk"], False),
        (f"ix_{_P}step_event_of_node", ["node_key", "event_type", "pk"], False),
    ),
    "node": ((f"ix_{_P}node_tenant", ["tenant"], False),),
    "dynamic_partition": ((f"uq_{_P}dynamic_partition_key", ["definition_key", "key_hash"], True),),
    "asset_backfill": ((f"ix_{_P}asset_backfill_created", ["tenant", "created"], False),),
    "slot_pool": ((f"ix_{_P}slot_pool_tenant", ["tenant"], False),),
    "slot_claim": ((f"ix_{_P}slot_claim_of_run", ["run_key"], False),),
}

"""Rows for tests of the reading half of the catalogue, written straight into the tables: any time, any state."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine, insert, select
from sqlalchemy import event as sa_event

from airflow_assets.catalog import tables, values
from airflow_assets.catalog.engine import make_engine
from airflow_assets.schemas.actors import Caller, Source, SourceKind
from airflow_assets.schemas.rules import DEFAULT_TENANT, identity, json_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

NOON = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
CALLER = Caller(source=Source(kind=SourceKind.API, user="tester"))
TABLE = "airflow_assets.types.Table"


def engine_with_tables(url: str) -> Engine:
    """An engine of the catalogue on an empty database, with its tables made."""
    engine = make_engine(url)
    tables.metadata.create_all(engine)
    return engine


def caller(*hidden: str, tenant: str = DEFAULT_TENANT) -> Caller:
    """Somebody to whom these namespaces are closed."""
    return Caller(source=CALLER.source, tenant=tenant, hidden_namespaces=hidden)


def add_assets(conn: Connection, assets: Iterable[dict[str, Any]]) -> dict[str, int]:
    """Insert assets (``id`` and any other column; ``metadata`` as a dict); returns id -> pk."""
    rows = [_asset_row(at, given) for at, given in enumerate(assets)]
    if not rows:
        return {}
    conn.execute(insert(tables.asset), [{k: v for k, v in row.items() if k != "values"} for row in rows])
    keys = [row["asset_key"] for row in rows]
    pks: dict[bytes, int] = {}
    for start in range(0, len(keys), 5_000):
        some = select(tables.asset.c.asset_key, tables.asset.c.pk)
        for found in conn.execute(some.where(tables.asset.c.asset_key.in_(keys[start : start + 5_000]))):
            pks[bytes(found.asset_key)] = found.pk
    members = [
        {"asset_pk": pks[row["asset_key"]], "id_sort": row["id_sort"], **values.value_columns(field, value)}
        for row in rows
        for field, value in row["values"].items()
    ]
    if members:
        conn.execute(insert(tables.metadata_value), members)
    return {row["id"]: pks[row["asset_key"]] for row in rows}


def _asset_row(at: int, given: dict[str, Any]) -> dict[str, Any]:
    metadata = given.get("metadata", {})
    tenant = given.get("tenant", DEFAULT_TENANT)
    created = given.get("created", NOON + timedelta(seconds=at))
    return {
        "tenant": tenant,
        "asset_key": identity(tenant, given["id"]),
        "id": given["id"],
        "id_sort": values.id_sort(given["id"]),
        "namespace": given.get("namespace"),
        "type": given.get("type", TABLE),
        "display_name": given.get("display_name"),
        "description": given.get("description"),
        "metadata": json_text(metadata),
        "uri": given.get("uri"),
        "asset_group": given.get("asset_group"),
        "created": created,
        "updated": given.get("updated", created),
        "deleted": given.get("deleted", False),
        "values": metadata,
    }


def add_alias(conn: Connection, former: str, pk: int, tenant: str = DEFAULT_TENANT) -> None:
    """Let a former id lead to an asset."""
    row = {"alias_key": identity(tenant, former), "tenant": tenant, "id": former, "asset_pk": pk}
    conn.execute(insert(tables.alias).values(created=NOON, **row))


@contextmanager
def counted_statements(engine: Engine) -> Iterator[list[str]]:
    """Collect the statements that run inside, but for the begin of transactions."""
    seen: list[str] = []

    def note(conn: Any, cursor: Any, statement: str, *_: Any) -> None:
        if not statement.startswith("BEGIN"):
            seen.append(statement)

    sa_event.listen(engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        sa_event.remove(engine, "before_cursor_execute", note)


def ids(items: Sequence[Any]) -> list[str]:
    """The ids of a page."""
    return [item.id for item in items]

"""Runs the migrations: on ``config.attributes["connection"]``, or on the URL of the configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from alembic import context

from airflow_assets.catalog.engine import make_engine
from airflow_assets.catalog.tables import VERSION_TABLE, metadata

if TYPE_CHECKING:
    from sqlalchemy import Connection


def _is_ours(_object: Any, name: str | None, kind: str, *_: Any) -> bool:
    return kind != "table" or name in metadata.tables


def _url() -> str:
    url = context.config.get_main_option("sqlalchemy.url") or context.get_x_argument(as_dictionary=True).get(
        "url"
    )
    if not url:
        raise SystemExit("Give the database: alembic -c ... -x url=postgresql+psycopg2://...")
    return url


def _run(**target: Any) -> None:
    context.configure(
        target_metadata=metadata,
        version_table=VERSION_TABLE,
        include_object=_is_ours,
        compare_type=True,
        # SQLite changes a table only by copying it.
        render_as_batch=True,
        transaction_per_migration=True,
        **target,
    )
    with context.begin_transaction():
        context.run_migrations()


def _online(connection: Connection | None) -> None:
    if connection is not None:
        _run(connection=connection)
        return
    engine = make_engine(_url(), pool_size=1)
    try:
        with engine.connect() as own:
            _run(connection=own)
    finally:
        engine.dispose()


if context.is_offline_mode():
    _run(url=_url(), literal_binds=True)
else:
    _online(context.config.attributes.get("connection"))
